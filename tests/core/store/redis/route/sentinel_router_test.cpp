#include "store/redis/route/sentinel_router.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "core/store/redis/by_hand.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/route/make_router.hpp"
#include "store/remote/common/traffic.hpp"

namespace limitree::redis {
namespace {

using Names = std::vector<std::string>;

const std::string kPrimary = "*3\r\n" + bulk("master") + ":1\r\n*0\r\n";
const std::string kReplica = "*5\r\n" + bulk("slave") + bulk("h") + ":1\r\n" +
                             bulk("connected") + ":2\r\n";
const std::string kUnknown = "*-1\r\n";

std::string names(const std::string& host, const std::string& port) {
  return "*2\r\n" + bulk(host) + bulk(port);
}

// The reply to SENTINEL SENTINELS, with s<number>:26379 for each number.
std::string others(const std::vector<int>& numbers) {
  std::string resp = "*" + std::to_string(numbers.size()) + "\r\n";
  for (const int number : numbers) {
    resp += "*4\r\n" + bulk("ip") + bulk("s" + std::to_string(number)) +
            bulk("port") + bulk("26379");
  }
  return resp;
}

class SentinelRouterTest : public testing::Test {
 protected:
  void make(std::string_view url) {
    settings_ = settings_of(url);
    router_ = make_router(settings_, &traffic_);
  }

  void make_and_find(std::string_view url, const Answers& answers) {
    make(url);
    discover(router_.get(), answers);
    ASSERT_EQ(place(router_.get()), "a:6379");
  }

  // Advances the clock by the time between two checks, and returns the check
  // that is due then, if any.
  Router::Check next_check() {
    now_ += SentinelRouter::kBetweenChecks;
    return router_->check_due(router_->route(Target{}), now_);
  }

  // Answers checks until `sentinel` has been asked for the primary and has
  // answered `answer`.  The other sentinels repeat their last answer.
  void hear(const std::string& sentinel, const std::string& answer) {
    for (int i = 0; i < 100; ++i) {
      const Router::Check check = next_check();
      if (check.node == nullptr) continue;
      const std::string who = check.node->endpoint().text();
      const bool sought =
          who == sentinel &&
          check.bytes.find("get-master-addr-by-name") != check.bytes.npos;
      if (sought) said_[who] = answer;
      const auto said = said_.find(who);
      if (said != said_.end()) {
        router_->checked(check.node, outcome_of(said->second));
      }
      if (sought) return;
    }
    FAIL() << sentinel << " was never asked";
  }

  Router& router() { return *router_; }

  Settings settings_;
  Traffic traffic_;
  std::unique_ptr<Router> router_;
  Answers said_;
  Monotonic now_ = std::chrono::steady_clock::now();
};

TEST_F(SentinelRouterTest, FindsThePrimary) {
  make("redis+sentinel://s1/mymaster");
  EXPECT_EQ(place(&router()), "none");
  EXPECT_EQ(discover(&router(), {{"s1:26379", names("10.0.0.1", "6380")},
                                 {"10.0.0.1:6380", kPrimary}}),
            (Names{"s1:26379", "10.0.0.1:6380"}));
  EXPECT_EQ(place(&router()), "10.0.0.1:6380");
  EXPECT_EQ(router().slot_of("a"), 0);
}

TEST_F(SentinelRouterTest, AsksInResp) {
  make("redis+sentinel://s1/mymaster");
  const std::unique_ptr<Task> task = router().discovery();
  ASSERT_EQ(task->start().kind, Task::Step::Kind::kSend);
  EXPECT_TRUE(task->target().sentinel);
  EXPECT_EQ(task->bytes(), "*3\r\n" + bulk("SENTINEL") +
                               bulk("get-master-addr-by-name") +
                               bulk("mymaster"));
  ASSERT_EQ(task->answered(outcome_of(names("a", "6379"))).kind,
            Task::Step::Kind::kSend);
  EXPECT_FALSE(task->target().sentinel);
  EXPECT_EQ(task->bytes(), "*1\r\n" + bulk("ROLE"));
}

// A server and a sentinel are two nodes even if they have the same address.
TEST_F(SentinelRouterTest, KeepsSentinelsApart) {
  make("redis+sentinel://u:p@s1:7000/mymaster");
  const Endpoint endpoint{.host = "s1", .port = 7000, .socket = ""};
  Node* const server = router().route(Target{.endpoint = endpoint});
  Node* const sentinel =
      router().route(Target{.endpoint = endpoint, .sentinel = true});
  EXPECT_NE(server, sentinel);
  EXPECT_EQ(router().route(Target{.endpoint = endpoint}), server);
}

TEST_F(SentinelRouterTest, AsksOneSentinelAfterTheOther) {
  make("redis+sentinel://s1,s2,s3/mymaster");
  const Names asked =
      discover(&router(), {{"s1:26379", "refused"},
                           {"s2:26379", "-NOAUTH Authentication required.\r\n"},
                           {"s3:26379", names("a", "6379")},
                           {"a:6379", kPrimary}});
  EXPECT_EQ(place(&router()), "a:6379");
  EXPECT_EQ(Names(asked.end() - 2, asked.end()), (Names{"s3:26379", "a:6379"}));

  // From then on, the sentinel that answered is asked first.
  router().learn(router().route(Target{}), Target{}, outcome_of("lost"));
  EXPECT_EQ(place(&router()), "none");
  EXPECT_EQ(
      discover(&router(), {{"s3:26379", names("b", "1")}, {"b:1", kPrimary}}),
      (Names{"s3:26379", "b:1"}));
}

// Not that of an outage long ago.
TEST_F(SentinelRouterTest, ADiscoveryThatIsLeftTellsItsOwnFailure) {
  make("redis+sentinel://s1,s2/mymaster");
  discover(&router(), {{"s1:26379", "refused"}, {"s2:26379", "refused"}});
  EXPECT_NE(failure(&router()).find("refused"), std::string::npos);
  wait_for_hold_off(&router());
  const std::unique_ptr<Task> task = router().discovery();
  task->start();
  task->answered(outcome_of("timeout"));
  EXPECT_NE(failure(&router()).find("no answer in time"), std::string::npos)
      << failure(&router());
}

TEST_F(SentinelRouterTest, ShufflesTheSentinels) {
  std::set<std::string> first;
  for (int i = 0; i < 200 && first.size() < 3; ++i) {
    make("redis+sentinel://s1,s2,s3/mymaster");
    const std::unique_ptr<Task> task = router().discovery();
    task->start();
    first.insert(task->target().endpoint->text());
  }
  EXPECT_EQ(first.size(), 3U);
}

TEST_F(SentinelRouterTest, BelievesNoReplica) {
  make("redis+sentinel://s1,s2/mymaster");
  const Names asked = discover(&router(), {{"s1:26379", names("a", "1")},
                                           {"s2:26379", names("b", "2")},
                                           {"a:1", kReplica},
                                           {"b:2", kPrimary}});
  EXPECT_EQ(place(&router()), "b:2");

  make("redis+sentinel://s1,s2/mymaster");
  // Both sentinels name a:1, but it is asked for its role only once.
  EXPECT_EQ(discover(&router(), {{"s1:26379", names("a", "1")},
                                 {"s2:26379", names("a", "1")},
                                 {"a:1", kReplica}})
                .size(),
            3U);
  EXPECT_EQ(place(&router()), "none");
  EXPECT_EQ(failure(&router()),
            "a:1: a sentinel takes it for the primary, but it is a replica");
  EXPECT_STREQ(router().discovery_failure().error().reason, "readonly");
}

TEST_F(SentinelRouterTest, SaysWhyNobodyKnows) {
  const std::vector<std::pair<Answers, std::string>> cases = {
      {{{"s1:26379", "refused"}},
       "s1:26379: connection refused (none of 1 sentinel answers)"},
      {{{"s1:26379", kUnknown}},
       "s1:26379: this sentinel knows no service \"mymaster\""},
      {{{"s1:26379", "+OK\r\n"}},
       "s1:26379: this is not an answer of a sentinel"},
      {{{"s1:26379", "-NOAUTH Authentication required.\r\n"}},
       "s1:26379: NOAUTH Authentication required."},
      {{{"s1:26379", names("a", "1")}, {"a:1", "refused"}},
       "a:1: connection refused"},
      {{{"s1:26379", names("a", "1")}, {"a:1", "backoff"}}, "a:1: not tried"},
      {{{"s1:26379", names("a", "1")},
        {"a:1", "-NOPERM this user has no permissions\r\n"}},
       "a:1: NOPERM this user has no permissions"},
      {{{"s1:26379", names("a", "1")}, {"a:1", "+OK\r\n"}},
       "a:1: this is not an answer to ROLE"},
  };
  for (const auto& [answers, message] : cases) {
    make("redis+sentinel://s1/mymaster");
    discover(&router(), answers);
    EXPECT_EQ(place(&router()), "none");
    EXPECT_EQ(failure(&router()), message);
  }
  make("redis+sentinel://s1,s2/mymaster");
  discover(&router(), {{"s1:26379", "refused"}, {"s2:26379", "refused"}});
  EXPECT_NE(failure(&router()).find("none of 2 sentinels answers"),
            std::string::npos);
  // The most informative failure is reported, whatever order they came in.
  make("redis+sentinel://s1,s2/mymaster");
  discover(&router(), {{"s1:26379", "refused"}, {"s2:26379", kUnknown}});
  EXPECT_EQ(failure(&router()),
            "s2:26379: this sentinel knows no service \"mymaster\"");
}

TEST_F(SentinelRouterTest, HoldsOffWhenNobodyKnows) {
  make("redis+sentinel://s1/mymaster");
  discover(&router(), {{"s1:26379", "refused"}});
  EXPECT_EQ(router().discovery(), nullptr);
  wait_for_hold_off(&router());
  discover(&router(), {{"s1:26379", names("a", "1")}, {"a:1", kPrimary}});
  EXPECT_EQ(place(&router()), "a:1");
  router().learn(router().route(Target{}), Target{}, outcome_of("lost"));
  EXPECT_NE(router().discovery(), nullptr);
}

// A timeout says nothing about the next caller, which may have more time and
// begins with another sentinel.
TEST_F(SentinelRouterTest, AsksTheNextWhenOneHangs) {
  make("redis+sentinel://s1,s2/mymaster");
  const Answers hung = {{"s1:26379", "timeout"}, {"s2:26379", "timeout"}};
  EXPECT_EQ(discover(&router(), hung).size(), 2U);
  EXPECT_NE(router().discovery(), nullptr);
  EXPECT_EQ(router().discovery_failure().code(), Code::kStoreTimeout);

  const Answers answers = {{"s1:26379", "timeout"},
                           {"s2:26379", names("a", "6379")},
                           {"a:6379", kPrimary}};
  discover(&router(), answers);
  EXPECT_EQ(place(&router()), "a:6379");
  router().learn(router().route(Target{}), Target{}, outcome_of("lost"));
  EXPECT_EQ(discover(&router(), answers).front(), "s2:26379");

  make("redis+sentinel://s1,s2/mymaster");
  EXPECT_EQ(discover(&router(), {{"s1:26379", names("a", "1")},
                                 {"s2:26379", names("a", "1")},
                                 {"a:1", "timeout"}})
                .size(),
            3U);
  EXPECT_EQ(failure(&router()), "a:1: no answer in time");
  EXPECT_NE(router().discovery(), nullptr);
}

TEST_F(SentinelRouterTest, EndsWhenCancelled) {
  make("redis+sentinel://s1,s2/mymaster");
  const Answers answers = {{"s1:26379", "cancelled"},
                           {"s2:26379", "cancelled"}};
  EXPECT_EQ(discover(&router(), answers).size(), 1U);
  EXPECT_NE(router().discovery(), nullptr);
}

TEST_F(SentinelRouterTest, ForgetsAPrimaryThatFails) {
  const Answers answers = {{"s1:26379", names("a", "6379")},
                           {"a:6379", kPrimary}};
  // Each failure, and whether the command may be sent to another server.
  const std::vector<std::pair<std::string, bool>> cases = {
      {"-READONLY You can't write against a read only replica.\r\n", true},
      {"-MASTERDOWN Link with MASTER is down\r\n", true},
      {"-NOREPLICAS Not enough good replicas to write.\r\n", true},
      {"refused", true},
      {"backoff", true},
      {"lost", false},
      {"timeout", false},
  };
  for (const auto& [text, again] : cases) {
    make_and_find("redis+sentinel://s1/mymaster", answers);
    Node* const node = router().route(Target{});
    EXPECT_EQ(router().learn(node, Target{}, outcome_of(text)), again) << text;
    EXPECT_EQ(place(&router()), "none") << text;
  }
  make_and_find("redis+sentinel://s1/mymaster", answers);
  Node* const node = router().route(Target{});
  for (const char* text :
       {"+OK\r\n", "-LOADING x\r\n", "-OOM x\r\n", "-BUSY x\r\n",
        "-NOSCRIPT x\r\n", "-NOPERM x\r\n", "-WRONGTYPE x\r\n", "cancelled"}) {
    EXPECT_FALSE(router().learn(node, Target{}, outcome_of(text))) << text;
    EXPECT_EQ(place(&router()), "a:6379") << text;
  }
  // A late failure of a server that was replaced changes nothing.
  router().learn(node, Target{}, outcome_of("lost"));
  discover(&router(), {{"s1:26379", names("b", "1")}, {"b:1", kPrimary}});
  router().learn(node, Target{}, outcome_of("timeout"));
  EXPECT_EQ(place(&router()), "b:1");
}

TEST_F(SentinelRouterTest, ChecksTheRoleOfThePrimary) {
  make_and_find("redis+sentinel://s1/mymaster",
                {{"s1:26379", names("a", "6379")}, {"a:6379", kPrimary}});
  Node* const primary = router().route(Target{});
  int roles = 0;
  for (int i = 0; i < 4; ++i) {
    const Router::Check check = next_check();
    ASSERT_NE(check.node, nullptr);
    EXPECT_EQ(router().check_due(primary, now_).node, nullptr) << "due twice";
    if (check.bytes == "*1\r\n" + bulk("ROLE")) {
      EXPECT_EQ(check.node, primary);
      ++roles;
      for (const std::string& fine :
           {kPrimary, std::string("lost"), std::string("-LOADING x\r\n")}) {
        router().checked(primary, outcome_of(fine));
        EXPECT_EQ(place(&router()), "a:6379");
      }
    } else {
      EXPECT_EQ(check.node->endpoint().text(), "s1:26379");
    }
  }
  EXPECT_EQ(roles, 2);
  router().checked(primary, outcome_of(kReplica));
  EXPECT_EQ(place(&router()), "none");
  // No check is due at a server that is no longer the primary.
  EXPECT_EQ(router().check_due(primary, now_ + std::chrono::hours(1)).node,
            nullptr);
}

TEST_F(SentinelRouterTest, LooksForTheAnswerOfASentinel) {
  make_and_find("redis+sentinel://s1,s2/mymaster",
                {{"s1:26379", names("a", "6379")},
                 {"s2:26379", names("a", "6379")},
                 {"a:6379", kPrimary}});
  Node* const primary = router().route(Target{});
  const Router::Check asked = next_check();
  const auto look = [&] {
    now_ += SentinelRouter::kBetweenLooks;
    return router().check_due(primary, now_);
  };
  for (int i = 0; i < 3; ++i) {
    const Router::Check again = look();
    EXPECT_EQ(again.node, asked.node);
    EXPECT_EQ(again.bytes, asked.bytes);
  }
  router().checked(asked.node, outcome_of(others({})));
  EXPECT_EQ(look().node, nullptr) << "the sentinel has answered";

  // After a while the router gives up on a sentinel that does not answer.
  Router::Check check = next_check();
  while (check.node == nullptr || check.node == primary) check = next_check();
  EXPECT_NE(check.node, asked.node);
  int looks = 0;
  while (look().node != primary) ++looks;
  EXPECT_EQ(looks,
            SentinelRouter::kBetweenChecks / SentinelRouter::kBetweenLooks - 1);
}

TEST_F(SentinelRouterTest, FollowsWhatMostSentinelsSay) {
  const Answers found = {{"s1:26379", names("a", "6379")},
                         {"s2:26379", names("a", "6379")},
                         {"s3:26379", names("a", "6379")},
                         {"a:6379", kPrimary}};
  make_and_find("redis+sentinel://s1,s2,s3/mymaster", found);
  for (const char* sentinel : {"s1:26379", "s2:26379", "s3:26379"}) {
    hear(sentinel, names("a", "6379"));
  }
  hear("s1:26379", names("b", "1"));
  EXPECT_EQ(place(&router()), "a:6379") << "one of three disagrees";
  hear("s2:26379", names("b", "1"));
  EXPECT_EQ(place(&router()), "none") << "two of three disagree";
  // One of these two is asked first, because the third one would lead back to
  // the old primary.
  const Names asked = discover(&router(), {{"s1:26379", names("b", "1")},
                                           {"s2:26379", names("b", "1")},
                                           {"s3:26379", names("a", "6379")},
                                           {"b:1", kPrimary}});
  EXPECT_EQ(asked, (Names{"s2:26379", "b:1"}));
  hear("s3:26379", names("a", "6379"));
  hear("s1:26379", names("b", "1"));
  hear("s2:26379", names("b", "1"));
  hear("s3:26379", names("a", "6379"));
  EXPECT_EQ(place(&router()), "b:1");
}

// The last answer of a sentinel counts until that sentinel can no longer be
// asked.
TEST_F(SentinelRouterTest, CountsWhoCanBeHeard) {
  make_and_find("redis+sentinel://s1,s2/mymaster",
                {{"s1:26379", names("a", "6379")},
                 {"s2:26379", names("a", "6379")},
                 {"a:6379", kPrimary}});
  hear("s1:26379", names("a", "6379"));
  hear("s2:26379", kUnknown);
  hear("s2:26379", names("b", "1"));
  EXPECT_EQ(place(&router()), "a:6379");
  hear("s1:26379", "lost");
  hear("s2:26379", names("b", "1"));
  EXPECT_EQ(place(&router()), "none");
}

// When a sentinel disagrees, the router asks the others at once.
TEST_F(SentinelRouterTest, HearsTheOthersAtOnce) {
  make_and_find("redis+sentinel://s1,s2/mymaster",
                {{"s1:26379", names("a", "6379")},
                 {"s2:26379", names("a", "6379")},
                 {"a:6379", kPrimary}});
  hear("s1:26379", names("a", "6379"));
  hear("s2:26379", names("b", "1"));
  const Router::Check check =
      router().check_due(router().route(Target{}), now_);
  ASSERT_NE(check.node, nullptr);
  EXPECT_EQ(check.node->endpoint().text(), "s1:26379");
}

TEST_F(SentinelRouterTest, LearnsOfOtherSentinels) {
  make_and_find("redis+sentinel://s1/mymaster",
                {{"s1:26379", names("a", "6379")}, {"a:6379", kPrimary}});
  const Router::Check check = next_check();
  EXPECT_EQ(check.bytes,
            "*3\r\n" + bulk("SENTINEL") + bulk("SENTINELS") + bulk("mymaster"));
  router().checked(check.node, outcome_of(others({2, 3})));
  router().learn(router().route(Target{}), Target{}, outcome_of("lost"));
  Names asked = discover(&router(), {{"s1:26379", "refused"},
                                     {"s2:26379", "refused"},
                                     {"s3:26379", "refused"},
                                     {"a:6379", "refused"}});
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (Names{"a:6379", "s1:26379", "s2:26379", "s3:26379"}));

  // Sentinels that are no longer named are not asked; those of the URL always
  // are.
  router().checked(router().route(Target{.endpoint = Endpoint{"s2", 26379, ""},
                                         .sentinel = true}),
                   outcome_of(others({4})));
  wait_for_hold_off(&router());
  asked = discover(&router(), {{"s1:26379", "refused"},
                               {"s2:26379", "refused"},
                               {"s4:26379", "refused"},
                               {"a:6379", "refused"}});
  std::sort(asked.begin(), asked.end());
  EXPECT_EQ(asked, (Names{"a:6379", "s1:26379", "s2:26379", "s4:26379"}));
}

TEST_F(SentinelRouterTest, GoesOnWithTheLastPrimaryWhileNoSentinelAnswers) {
  make_and_find("redis+sentinel://s1,s2/mymaster",
                {{"s1:26379", names("a", "6379")},
                 {"s2:26379", names("a", "6379")},
                 {"a:6379", kPrimary}});
  const auto lose = [&] {
    router().learn(router().route(Target{}), Target{}, outcome_of("lost"));
    ASSERT_EQ(place(&router()), "none");
  };
  Answers answers = {{"s1:26379", "refused"}, {"s2:26379", "refused"}};
  lose();
  answers["a:6379"] = kPrimary;
  EXPECT_EQ(discover(&router(), answers).back(), "a:6379");
  EXPECT_EQ(place(&router()), "a:6379");

  lose();
  for (const std::string& role : {kReplica, std::string("refused")}) {
    answers["a:6379"] = role;
    wait_for_hold_off(&router());
    EXPECT_EQ(discover(&router(), answers).size(), 3U);
    EXPECT_EQ(place(&router()), "none");
    EXPECT_NE(failure(&router()).find("none of 2 sentinels answers"),
              std::string::npos);
  }

  // One that answers knows better.
  answers["s2:26379"] = "*-1\r\n";
  wait_for_hold_off(&router());
  EXPECT_EQ(discover(&router(), answers).size(), 2U);
  EXPECT_EQ(place(&router()), "none");
}

TEST_F(SentinelRouterTest, BoundsTheNumberOfSentinels) {
  make_and_find("redis+sentinel://s1/mymaster",
                {{"s1:26379", names("a", "6379")}, {"a:6379", kPrimary}});
  std::vector<int> numbers;
  Answers answers = {{"s1:26379", "refused"}, {"a:6379", "refused"}};
  for (int i = 2; i < 1000; ++i) {
    numbers.push_back(i);
    answers["s" + std::to_string(i) + ":26379"] = "refused";
  }
  router().checked(next_check().node, outcome_of(others(numbers)));
  router().learn(router().route(Target{}), Target{}, outcome_of("lost"));
  EXPECT_EQ(discover(&router(), answers).size(),
            SentinelRouter::kMaxSentinels + 1);  // the last primary, too
}

TEST_F(SentinelRouterTest, BoundsTheNumberOfServers) {
  make("redis+sentinel://s1/mymaster");
  for (int i = 1; i <= NodeSet::kMaxNodes; ++i) {
    const std::string port = std::to_string(i);
    discover(&router(),
             {{"s1:26379", names("a", port)}, {"a:" + port, kPrimary}});
    ASSERT_EQ(place(&router()), "a:" + port);
    router().learn(router().route(Target{}), Target{}, outcome_of("lost"));
  }
  EXPECT_EQ(router().route(Target{.endpoint = Endpoint{"a", 2000, ""}}),
            nullptr);
  discover(&router(), {{"s1:26379", names("a", "7")}, {"a:7", kPrimary}});
  EXPECT_EQ(place(&router()), "a:7") << "a known server is found again";
}

TEST_F(SentinelRouterTest, VisitsServersAndSentinelsAroundAFork) {
  make_and_find("redis+sentinel://s1/mymaster",
                {{"s1:26379", names("a", "6379")}, {"a:6379", kPrimary}});
  std::set<std::string> visited;
  router().before_fork();
  router().for_each(
      [&](Node* node) { visited.insert(node->endpoint().text()); });
  router().after_fork();
  EXPECT_EQ(visited, (std::set<std::string>{"a:6379", "s1:26379"}));
}

}  // namespace
}  // namespace limitree::redis
