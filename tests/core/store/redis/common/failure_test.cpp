#include "store/remote/common/failure.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "store/redis/common/error_reply.hpp"

namespace limitree::redis {
namespace {

struct Case {
  const char* reply;
  Failure failure;
};

// Error replies as servers send them: Redis 7.0, unless another version is
// noted.
constexpr Case kCases[] = {
    {"NOSCRIPT No matching script. Please use EVAL.", Failure::kNoScript},
    {"READONLY You can't write against a read only replica.",
     Failure::kReadOnly},
    {"READONLY You can't write against a read only replica. script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Failure::kReadOnly},
    {"LOADING Redis is loading the dataset in memory", Failure::kLoading},
    {"OOM command not allowed when used memory > 'maxmemory'.", Failure::kOom},
    {"OOM command not allowed when used memory > 'maxmemory'. script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Failure::kOom},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or "
     "SHUTDOWN NOSAVE.",
     Failure::kBusy},
    {"NOREPLICAS Not enough good replicas to write.", Failure::kNoReplicas},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set "
     "to 'no'.",
     Failure::kMasterDown},
    {"NOAUTH Authentication required.", Failure::kNoAuth},
    {"DENIED Redis is running in protected mode because protected mode is "
     "enabled and no password is set for the default user.",
     Failure::kNoAuth},
    {"WRONGPASS invalid username-password pair or user is disabled.",
     Failure::kWrongPass},
    {"ERR AUTH <password> called without any password configured for the "
     "default user. Are you sure your configuration is correct?",
     Failure::kWrongPass},
    {"ERR invalid password", Failure::kWrongPass},                          // 5
    {"ERR Client sent AUTH, but no password is set", Failure::kWrongPass},  // 5
    {"NOPERM this user has no permissions to run the 'evalsha' command",
     Failure::kNoPerm},
    {"NOPERM this user has no permissions to access one of the keys used as "
     "arguments",
     Failure::kNoPerm},
    {"ERR The user executing the script can't run this command or subcommand "
     "script: 6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Failure::kNoPerm},
    {"ERR The user executing the script can't access at least one of the keys "
     "mentioned in the command arguments script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Failure::kNoPerm},
    {"WRONGTYPE Operation against a key holding the wrong kind of value "
     "script: 6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Failure::kWrongType},
    {"MOVED 3999 127.0.0.1:6381", Failure::kMoved},
    {"ASK 3999 127.0.0.1:6381", Failure::kAsk},
    {"TRYAGAIN Multiple keys request during rehashing of slot",
     Failure::kTryAgain},
    {"CROSSSLOT Keys in request don't hash to the same slot",
     Failure::kCrossSlot},
    {"CLUSTERDOWN The cluster is down", Failure::kClusterDown},
    {"CLUSTERDOWN Hash slot not served", Failure::kClusterDown},
    {"ERR max number of clients reached", Failure::kMaxClients},
    {"ERR max number of clients + cluster connections reached",
     Failure::kMaxClients},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently "
     "unable to persist to disk.",
     Failure::kMisconf},
    {"ERR Error compiling script (new function): user_script:1: '=' expected "
     "near 'is'",
     Failure::kScript},
    {"ERR user_script:1: Script attempted to access nonexistent global "
     "variable 'x' script: 6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on "
     "@user_script:1.",
     Failure::kScript},
    {"ERR Script attempted to access a non local key in a cluster node script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Failure::kScript},
    {"ERR Unknown Redis command called from script script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Failure::kScript},
    {"ERR value is not an integer or out of range", Failure::kOther},
    {"ERR", Failure::kOther},
    {"ERR ", Failure::kOther},
    {"", Failure::kOther},
    {"NOSCRIPTS", Failure::kOther},
    {"ASKING", Failure::kOther},
    {" LOADING", Failure::kOther},
    // Redis 6 wraps errors that are raised in a script.
    {"ERR Error running script (call to f_6b1b): @user_script:1: -READONLY You "
     "can't write against a read only replica. ",
     Failure::kReadOnly},
    {"ERR Error running script (call to f_6b1b): @user_script: 1: "
     "@user_script: 1: -OOM command not allowed when used memory > "
     "'maxmemory'. ",
     Failure::kOom},
    {"ERR Error running script (call to f_6b1b): @user_script:1: WRONGTYPE "
     "Operation against a key holding the wrong kind of value ",
     Failure::kWrongType},
    {"ERR Error running script (call to f_6b1b): @user_script:1: "
     "user_script:1: attempt to index a nil value",
     Failure::kScript},
    {"ERR Error running script (call to f_6b1b): @user_script:1",
     Failure::kScript},
    {"ERR Error running script", Failure::kScript},
};

TEST(Failure, IsReadFromAnErrorReply) {
  for (const Case& c : kCases) {
    EXPECT_EQ(failure_name(failure_of(c.reply)), failure_name(c.failure))
        << c.reply;
  }
}

Failure nth(std::size_t i) { return static_cast<Failure>(i); }

TEST(Failure, HasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kFailureCount; ++i) {
    const std::string name = failure_name(nth(i));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"),
              std::string::npos)
        << name;
    EXPECT_FALSE(name.empty());
    names.insert(name);
  }
  EXPECT_EQ(names.size(), kFailureCount);
}

TEST(Failure, NamesStandBesideTheirFailures) {
  EXPECT_STREQ(failure_name(Failure::kNone), "none");
  EXPECT_STREQ(failure_name(Failure::kCancelled), "cancelled");
  EXPECT_STREQ(failure_name(Failure::kNoScript), "noscript");
  EXPECT_STREQ(failure_name(Failure::kNoPerm), "noperm");
  EXPECT_STREQ(failure_name(Failure::kMoved), "moved");
  EXPECT_STREQ(failure_name(Failure::kMaxClients), "maxclients");
  EXPECT_STREQ(failure_name(Failure::kMisconf), "misconf");
  EXPECT_STREQ(failure_name(Failure::kOther), "other");
}

TEST(Failure, AnOutageIsTheServersNotTheRequests) {
  const std::set<Failure> outages = {
      Failure::kResolve,    Failure::kRefused,    Failure::kTls,
      Failure::kLost,       Failure::kTimeout,    Failure::kProtocol,
      Failure::kLoading,    Failure::kBusy,       Failure::kNoAuth,
      Failure::kWrongPass,  Failure::kMasterDown, Failure::kClusterDown,
      Failure::kMaxClients, Failure::kNoDecision};
  for (std::size_t i = 0; i < kFailureCount; ++i) {
    EXPECT_EQ(is_outage(nth(i)), outages.contains(nth(i)))
        << failure_name(nth(i));
  }
}

TEST(Failure, TellsWhatMayBeTriedAgainSoon) {
  // What keeps a caller waiting is not, nor what a server has work with.
  for (const Failure one :
       {Failure::kTimeout, Failure::kTls, Failure::kWrongPass, Failure::kNoAuth,
        Failure::kMaxClients, Failure::kProtocol}) {
    EXPECT_FALSE(is_cheap(one)) << failure_name(one);
  }
  for (const Failure one :
       {Failure::kRefused, Failure::kLost, Failure::kLoading}) {
    EXPECT_TRUE(is_cheap(one)) << failure_name(one);
  }
  for (std::size_t i = 0; i < kFailureCount; ++i) {
    EXPECT_TRUE(is_outage(nth(i)) || !is_cheap(nth(i))) << failure_name(nth(i));
  }
}

// A server's words may end up in a log, and a terminal may show that log.
TEST(Failure, IsToldInPrintableWordsThatEnd) {
  const Status odd =
      to_status(Failure::kOther, "a\x1b]:1", "ERR \x1b[2J\r\n\x7f \xc2\x9b");
  EXPECT_EQ(odd.error().messages[0],
            "a\\x1b]:1: ERR \\x1b[2J\\x0d\\x0a\\x7f \\xc2\\x9b");
  const Status cut = to_status(Failure::kOther, "a:1", std::string(5000, 'x'));
  EXPECT_EQ(cut.error().messages[0], "a:1: " + std::string(4096, 'x') + "...");
}

TEST(Failure, BecomesAStatusThatSaysWhereAndWhy) {
  for (std::size_t i = 0; i < kFailureCount; ++i) {
    const Failure failure = nth(i);
    const Status status = to_status(failure, "db:6379", "it broke");
    const Code code =
        failure == Failure::kTimeout || failure == Failure::kLate
            ? Code::kStoreTimeout
        : failure == Failure::kProtocol || failure == Failure::kNoDecision
            ? Code::kStoreProtocol
        : failure == Failure::kCancelled ? Code::kCancelled
                                         : Code::kStoreUnavailable;
    EXPECT_EQ(status.code(), code) << failure_name(failure);
    ASSERT_EQ(status.error().messages.size(), 1U);
    EXPECT_EQ(status.error().messages[0], "db:6379: it broke");
    EXPECT_STREQ(status.error().reason, failure_name(failure));
  }
}

}  // namespace
}  // namespace limitree::redis
