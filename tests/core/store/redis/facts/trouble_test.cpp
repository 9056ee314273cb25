#include "store/redis/facts/trouble.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace limitree::redis {
namespace {

struct Case {
  const char* reply;
  Trouble trouble;
};

// As servers say it: Redis 7.0 unless another one is named.
constexpr Case kCases[] = {
    {"NOSCRIPT No matching script. Please use EVAL.", Trouble::kNoScript},
    {"READONLY You can't write against a read only replica.",
     Trouble::kReadOnly},
    {"READONLY You can't write against a read only replica. script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Trouble::kReadOnly},
    {"LOADING Redis is loading the dataset in memory", Trouble::kLoading},
    {"OOM command not allowed when used memory > 'maxmemory'.", Trouble::kOom},
    {"OOM command not allowed when used memory > 'maxmemory'. script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Trouble::kOom},
    {"BUSY Redis is busy running a script. You can only call SCRIPT KILL or "
     "SHUTDOWN NOSAVE.",
     Trouble::kBusy},
    {"NOREPLICAS Not enough good replicas to write.", Trouble::kNoReplicas},
    {"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set "
     "to 'no'.",
     Trouble::kMasterDown},
    {"NOAUTH Authentication required.", Trouble::kNoAuth},
    {"DENIED Redis is running in protected mode because protected mode is "
     "enabled and no password is set for the default user.",
     Trouble::kNoAuth},
    {"WRONGPASS invalid username-password pair or user is disabled.",
     Trouble::kWrongPass},
    {"ERR AUTH <password> called without any password configured for the "
     "default user. Are you sure your configuration is correct?",
     Trouble::kWrongPass},
    {"ERR invalid password", Trouble::kWrongPass},                          // 5
    {"ERR Client sent AUTH, but no password is set", Trouble::kWrongPass},  // 5
    {"NOPERM this user has no permissions to run the 'evalsha' command",
     Trouble::kNoPerm},
    {"NOPERM this user has no permissions to access one of the keys used as "
     "arguments",
     Trouble::kNoPerm},
    {"ERR The user executing the script can't run this command or subcommand "
     "script: 6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Trouble::kNoPerm},
    {"ERR The user executing the script can't access at least one of the keys "
     "mentioned in the command arguments script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Trouble::kNoPerm},
    {"WRONGTYPE Operation against a key holding the wrong kind of value "
     "script: 6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Trouble::kWrongType},
    {"MOVED 3999 127.0.0.1:6381", Trouble::kMoved},
    {"ASK 3999 127.0.0.1:6381", Trouble::kAsk},
    {"TRYAGAIN Multiple keys request during rehashing of slot",
     Trouble::kTryAgain},
    {"CROSSSLOT Keys in request don't hash to the same slot",
     Trouble::kCrossSlot},
    {"CLUSTERDOWN The cluster is down", Trouble::kClusterDown},
    {"CLUSTERDOWN Hash slot not served", Trouble::kClusterDown},
    {"ERR max number of clients reached", Trouble::kMaxClients},
    {"ERR max number of clients + cluster connections reached",
     Trouble::kMaxClients},
    {"MISCONF Redis is configured to save RDB snapshots, but it's currently "
     "unable to persist to disk.",
     Trouble::kMisconf},
    {"ERR Error compiling script (new function): user_script:1: '=' expected "
     "near 'is'",
     Trouble::kScript},
    {"ERR user_script:1: Script attempted to access nonexistent global "
     "variable 'x' script: 6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on "
     "@user_script:1.",
     Trouble::kScript},
    {"ERR Script attempted to access a non local key in a cluster node script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Trouble::kScript},
    {"ERR Unknown Redis command called from script script: "
     "6b1bf486c81ceb7edf3c093f4c48582e38c0e791, on @user_script:1.",
     Trouble::kScript},
    {"ERR value is not an integer or out of range", Trouble::kOther},
    {"ERR", Trouble::kOther},
    {"ERR ", Trouble::kOther},
    {"", Trouble::kOther},
    {"NOSCRIPTS", Trouble::kOther},
    {"ASKING", Trouble::kOther},
    {" LOADING", Trouble::kOther},
    // Redis 6 wraps what is raised in a script.
    {"ERR Error running script (call to f_6b1b): @user_script:1: -READONLY You "
     "can't write against a read only replica. ",
     Trouble::kReadOnly},
    {"ERR Error running script (call to f_6b1b): @user_script: 1: "
     "@user_script: 1: -OOM command not allowed when used memory > "
     "'maxmemory'. ",
     Trouble::kOom},
    {"ERR Error running script (call to f_6b1b): @user_script:1: WRONGTYPE "
     "Operation against a key holding the wrong kind of value ",
     Trouble::kWrongType},
    {"ERR Error running script (call to f_6b1b): @user_script:1: "
     "user_script:1: attempt to index a nil value",
     Trouble::kScript},
    {"ERR Error running script (call to f_6b1b): @user_script:1",
     Trouble::kScript},
    {"ERR Error running script", Trouble::kScript},
};

TEST(Trouble, IsReadFromAnErrorReply) {
  for (const Case& c : kCases) {
    EXPECT_EQ(trouble_name(trouble_of(c.reply)), trouble_name(c.trouble))
        << c.reply;
  }
}

Trouble nth(std::size_t i) { return static_cast<Trouble>(i); }

TEST(Trouble, HasANameOfItsOwn) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    const std::string name = trouble_name(nth(i));
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz"),
              std::string::npos)
        << name;
    EXPECT_FALSE(name.empty());
    names.insert(name);
  }
  EXPECT_EQ(names.size(), kTroubleCount);
}

TEST(Trouble, NamesStandBesideTheirTroubles) {
  EXPECT_STREQ(trouble_name(Trouble::kNone), "none");
  EXPECT_STREQ(trouble_name(Trouble::kCancelled), "cancelled");
  EXPECT_STREQ(trouble_name(Trouble::kNoScript), "noscript");
  EXPECT_STREQ(trouble_name(Trouble::kNoPerm), "noperm");
  EXPECT_STREQ(trouble_name(Trouble::kMoved), "moved");
  EXPECT_STREQ(trouble_name(Trouble::kMaxClients), "maxclients");
  EXPECT_STREQ(trouble_name(Trouble::kMisconf), "misconf");
  EXPECT_STREQ(trouble_name(Trouble::kOther), "other");
}

// Sending again what may have been carried out would charge twice.
TEST(Trouble, OnlyWhatHadNoEffectIsHarmless) {
  const std::set<Trouble> harmful = {Trouble::kNone,      Trouble::kLost,
                                     Trouble::kTimeout,   Trouble::kProtocol,
                                     Trouble::kCancelled, Trouble::kNoPerm,
                                     Trouble::kWrongType, Trouble::kScript,
                                     Trouble::kOther,     Trouble::kNoDecision};
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    EXPECT_EQ(is_harmless(nth(i)), !harmful.contains(nth(i)))
        << trouble_name(nth(i));
  }
}

TEST(Trouble, AnOutageIsTheServersNotTheRequests) {
  const std::set<Trouble> outages = {
      Trouble::kResolve,    Trouble::kRefused,    Trouble::kTls,
      Trouble::kLost,       Trouble::kTimeout,    Trouble::kProtocol,
      Trouble::kLoading,    Trouble::kBusy,       Trouble::kNoAuth,
      Trouble::kWrongPass,  Trouble::kMasterDown, Trouble::kClusterDown,
      Trouble::kMaxClients, Trouble::kNoDecision};
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    EXPECT_EQ(is_outage(nth(i)), outages.contains(nth(i)))
        << trouble_name(nth(i));
  }
}

// A server's words may end in a log, and that in a terminal.
TEST(Trouble, IsToldInPrintableWordsThatEnd) {
  const Status odd =
      to_status(Trouble::kOther, "a\x1b]:1", "ERR \x1b[2J\r\n\x7f \xc2\x9b");
  EXPECT_EQ(odd.error().messages[0],
            "a\\x1b]:1: ERR \\x1b[2J\\x0d\\x0a\\x7f \\xc2\\x9b");
  const Status cut = to_status(Trouble::kOther, "a:1", std::string(5000, 'x'));
  EXPECT_EQ(cut.error().messages[0], "a:1: " + std::string(4096, 'x') + "...");
}

TEST(Trouble, BecomesAStatusThatSaysWhereAndWhy) {
  for (std::size_t i = 0; i < kTroubleCount; ++i) {
    const Trouble trouble = nth(i);
    const Status status = to_status(trouble, "db:6379", "it broke");
    const Code code =
        trouble == Trouble::kTimeout || trouble == Trouble::kLate
            ? Code::kStoreTimeout
        : trouble == Trouble::kProtocol || trouble == Trouble::kNoDecision
            ? Code::kStoreProtocol
        : trouble == Trouble::kCancelled ? Code::kCancelled
                                         : Code::kStoreUnavailable;
    EXPECT_EQ(status.code(), code) << trouble_name(trouble);
    ASSERT_EQ(status.error().messages.size(), 1U);
    EXPECT_EQ(status.error().messages[0], "db:6379: it broke");
    EXPECT_STREQ(status.error().reason, trouble_name(trouble));
  }
}

}  // namespace
}  // namespace limitree::redis
