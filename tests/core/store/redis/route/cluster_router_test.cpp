#include "store/redis/route/cluster_router.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>

#include "core/store/redis/by_hand.hpp"
#include "store/redis/common/remote.hpp"
#include "store/redis/route/make_router.hpp"
#include "store/remote/common/traffic.hpp"

namespace limitree::redis {
namespace {

using Names = std::vector<std::string>;

struct Range {
  int first;
  int last;
  std::vector<std::string> nodes;  // "a:1", the primary first
};

// The reply to CLUSTER SLOTS.
std::string map_of(const std::vector<Range>& ranges) {
  std::string resp = "*" + std::to_string(ranges.size()) + "\r\n";
  for (const Range& range : ranges) {
    resp += "*" + std::to_string(2 + range.nodes.size()) +
            "\r\n:" + std::to_string(range.first) +
            "\r\n:" + std::to_string(range.last) + "\r\n";
    for (const std::string& node : range.nodes) {
      const std::size_t colon = node.rfind(':');
      resp += "*3\r\n" + bulk(node.substr(0, colon)) + node.substr(colon) +
              "\r\n" + bulk("id");
    }
  }
  return resp;
}

const std::string kMap = map_of({{0, 5460, {"a:1", "x:1"}},
                                 {5461, 10922, {"b:2", "y:2"}},
                                 {10923, 16383, {"c:3", "z:3"}}});

class ClusterRouterTest : public testing::Test {
 protected:
  void make(std::string_view url) {
    settings_ = settings_of(url);
    router_ = make_router(settings_, &traffic_);
  }

  void make_and_find(const std::string& map = kMap) {
    make("redis+cluster://seed:9");
    ASSERT_EQ(discover(router_.get(), {{"seed:9", map}}), Names{"seed:9"});
    now_ = std::chrono::steady_clock::now();
  }

  std::string owner(std::int32_t slot) {
    Node* const node = router_->route(Target{.slot = slot});
    return node == nullptr ? "none" : node->endpoint().text();
  }

  bool learn(std::int32_t slot, const std::string& text) {
    const Target target{.slot = slot};
    return router_->learn(router_->route(target), target, outcome_of(text));
  }

  // Advances the clock, and returns the check that is due after a decision in
  // slot 0, if any.
  Router::Check check_after(Duration time) {
    now_ += time;
    return router_->check_due(router_->route(Target{.slot = 0}), now_);
  }

  Router& router() { return *router_; }

  Settings settings_;
  Traffic traffic_;
  std::unique_ptr<Router> router_;
  Monotonic now_;
};

TEST_F(ClusterRouterTest, FindsTheOwnerOfEachSlot) {
  make("redis+cluster://seed:9");
  EXPECT_EQ(owner(0), "none");
  EXPECT_EQ(place(&router()), "none");
  const std::unique_ptr<Task> task = router().discovery();
  ASSERT_EQ(task->start().kind, Task::Step::Kind::kSend);
  EXPECT_EQ(task->bytes(), "*2\r\n" + bulk("CLUSTER") + bulk("SLOTS"));
  EXPECT_EQ(task->target().endpoint->text(), "seed:9");
  EXPECT_FALSE(task->target().sentinel);
  EXPECT_EQ(task->answered(outcome_of(kMap)).kind, Task::Step::Kind::kDone);
  EXPECT_EQ(owner(0), "a:1");
  EXPECT_EQ(owner(5460), "a:1");
  EXPECT_EQ(owner(5461), "b:2");
  EXPECT_EQ(owner(10922), "b:2");
  EXPECT_EQ(owner(10923), "c:3");
  EXPECT_EQ(owner(16383), "c:3");
  EXPECT_NE(place(&router()), "none");
  EXPECT_EQ(router().slot_of("{user:alex}"), 8291);
}

TEST_F(ClusterRouterTest, AsksOneNodeAfterTheOther) {
  make("redis+cluster://s1:9,s2:9,s3:9");
  const Names asked = discover(
      &router(),
      {{"s1:9", "refused"}, {"s2:9", "-LOADING x\r\n"}, {"s3:9", kMap}});
  EXPECT_EQ(asked.back(), "s3:9");
  EXPECT_EQ(owner(0), "a:1");
}

// The nodes of the map are asked before those of the URL, which may be gone by
// now.
TEST_F(ClusterRouterTest, AsksKnownNodesFirst) {
  make_and_find();
  const Answers refused = {{"a:1", "refused"},   {"b:2", "refused"},
                           {"c:3", "refused"},   {"x:1", "refused"},
                           {"y:2", "refused"},   {"z:3", "refused"},
                           {"seed:9", "refused"}};
  Names asked = discover(&router(), refused);
  ASSERT_EQ(asked.size(), 7U);
  EXPECT_EQ(asked.back(), "seed:9");

  // From then on, the node that answered is asked first.
  make_and_find();
  Answers answers = refused;
  answers["y:2"] = kMap;
  asked = discover(&router(), answers);
  EXPECT_EQ(asked.back(), "y:2");
  EXPECT_EQ(discover(&router(), answers), Names{"y:2"});
}

TEST_F(ClusterRouterTest, SaysWhyNobodyKnows) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"refused", "seed:9: connection refused (none of 1 node answers)"},
      {"-ERR This instance has cluster support disabled\r\n",
       "seed:9: ERR This instance has cluster support disabled"},
      {"-NOAUTH Authentication required.\r\n",
       "seed:9: NOAUTH Authentication required."},
      {"+OK\r\n", "seed:9: this is not an answer to CLUSTER SLOTS"},
      {"*0\r\n", "seed:9: this node knows of no slot that is served"},
      {"timeout", "seed:9: no answer in time (none of 1 node answers)"},
  };
  for (const auto& [answer, message] : cases) {
    make("redis+cluster://seed:9");
    discover(&router(), {{"seed:9", answer}});
    EXPECT_EQ(owner(0), "none");
    EXPECT_EQ(failure(&router()), message);
    // A timeout means only that this caller ran out of time: the next caller
    // may ask at once.
    EXPECT_EQ(router().discovery() == nullptr, answer != "timeout");
  }
  make("redis+cluster://s1:9,s2:9");
  discover(&router(), {{"s1:9", "refused"}, {"s2:9", "refused"}});
  EXPECT_NE(failure(&router()).find("none of 2 nodes answers"),
            std::string::npos);
  wait_for_hold_off(&router());
  discover(&router(), {{"s1:9", kMap}, {"s2:9", kMap}});
  EXPECT_EQ(owner(0), "a:1");
}

// A timeout says nothing about the next caller, which may have more time and
// begins with another node.
TEST_F(ClusterRouterTest, AsksTheNextWhenOneHangs) {
  make("redis+cluster://s1:9,s2:9");
  const Answers hung = {{"s1:9", "timeout"}, {"s2:9", "timeout"}};
  EXPECT_EQ(discover(&router(), hung).size(), 2U);
  EXPECT_NE(router().discovery(), nullptr);
  EXPECT_EQ(router().discovery_failure().code(), Code::kStoreTimeout);

  make("redis+cluster://s1:9,s2:9");
  const Answers answers = {{"s1:9", "timeout"}, {"s2:9", kMap}};
  discover(&router(), answers);
  EXPECT_EQ(owner(0), "a:1");
}

TEST_F(ClusterRouterTest, EndsWhenCancelled) {
  make("redis+cluster://s1:9,s2:9");
  const Answers answers = {{"s1:9", "cancelled"}, {"s2:9", "cancelled"}};
  EXPECT_EQ(discover(&router(), answers).size(), 1U);
  EXPECT_NE(router().discovery(), nullptr);
}

TEST_F(ClusterRouterTest, KnowsSlotsWithoutANode) {
  make_and_find(map_of({{0, 99, {"a:1"}}, {101, 16383, {"b:2"}}}));
  EXPECT_EQ(owner(99), "a:1");
  EXPECT_EQ(owner(100), "none");
  EXPECT_EQ(owner(101), "b:2");
  EXPECT_EQ(failure(&router()), "seed:9: 1 slots have no node");
  EXPECT_STREQ(router().discovery_failure().error().reason, "clusterdown");
  EXPECT_EQ(router().discovery(), nullptr) << "discovery is on hold";
  wait_for_hold_off(&router());
}

TEST_F(ClusterRouterTest, PutsTheAskedHostWhereNoneIsTold) {
  make("redis+cluster://seed:9");
  discover(&router(), {{"seed:9",
                        "*1\r\n*3\r\n:0\r\n:16383\r\n*3\r\n$-1\r\n"
                        ":7001\r\n" +
                            bulk("id")}});
  EXPECT_EQ(owner(0), "seed:7001");
}

TEST_F(ClusterRouterTest, FollowsMoved) {
  make_and_find();
  EXPECT_TRUE(learn(7, "-MOVED 7 d:4\r\n"));
  EXPECT_EQ(owner(7), "d:4");
  EXPECT_EQ(owner(6), "a:1");
  EXPECT_EQ(owner(8), "a:1");
  // The slot in the reply counts, not the one that was asked for.  A reply
  // without a host means the host of the node that sent it.
  EXPECT_TRUE(learn(7, "-MOVED 9 :5\r\n"));
  EXPECT_EQ(owner(9), "d:5");
  EXPECT_FALSE(learn(7, "-MOVED 7 d:0\r\n"));
  EXPECT_FALSE(learn(7, "-MOVED\r\n"));
  EXPECT_EQ(owner(7), "d:4");
}

TEST_F(ClusterRouterTest, AsksForTheMapAfterMoved) {
  make_and_find();
  EXPECT_EQ(check_after(std::chrono::seconds(2)).node, nullptr);
  EXPECT_TRUE(learn(7, "-MOVED 7 d:4\r\n"));
  // The node that has just decided is asked: it is up, and connected.
  const Router::Check check = check_after(std::chrono::seconds(1));
  ASSERT_NE(check.node, nullptr);
  EXPECT_EQ(check.node->endpoint().text(), "a:1");
  EXPECT_EQ(check.bytes, "*2\r\n" + bulk("CLUSTER") + bulk("SLOTS"));
  EXPECT_EQ(check_after(std::chrono::milliseconds(500)).node, nullptr);
  router().checked(
      check.node,
      outcome_of(map_of({{0, 5460, {"d:4"}}, {5461, 16383, {"b:2"}}})));
  EXPECT_EQ(owner(0), "d:4");
  EXPECT_EQ(owner(16383), "b:2");
  EXPECT_EQ(check_after(std::chrono::seconds(2)).node, nullptr);
}

TEST_F(ClusterRouterTest, AsksAnotherNodeWhenOneHasNoMap) {
  make_and_find();
  EXPECT_TRUE(learn(7, "-MOVED 7 d:4\r\n"));
  const Router::Check check = check_after(std::chrono::seconds(1));
  ASSERT_NE(check.node, nullptr);
  router().checked(check.node, outcome_of("-LOADING x\r\n"));
  const Router::Check other = check_after(std::chrono::seconds(1));
  ASSERT_NE(other.node, nullptr);
  EXPECT_NE(other.node, check.node);
  EXPECT_EQ(owner(0), "a:1");
}

TEST_F(ClusterRouterTest, AsksAnotherNodeWhenOneIsCutOff) {
  for (const char* text : {"-CLUSTERDOWN The cluster is down\r\n",
                           "-LOADING x\r\n", "-NOREPLICAS x\r\n"}) {
    make_and_find();
    EXPECT_TRUE(learn(0, text)) << text;
    EXPECT_EQ(owner(0), "a:1") << "still the owner meanwhile";
    const Router::Check check = check_after(std::chrono::seconds(1));
    ASSERT_NE(check.node, nullptr);
    EXPECT_NE(check.node->endpoint().text(), "a:1");
  }
}

TEST_F(ClusterRouterTest, AsksForTheMapNowAndThen) {
  make_and_find();
  EXPECT_EQ(check_after(std::chrono::seconds(30)).node, nullptr);
  EXPECT_NE(check_after(std::chrono::seconds(31)).node, nullptr);
  EXPECT_EQ(check_after(std::chrono::seconds(30)).node, nullptr);
}

TEST_F(ClusterRouterTest, AsksAgainWhenANodeIsLost) {
  for (const char* text : {"refused", "lost", "timeout", "backoff",
                           "-READONLY x\r\n", "-MASTERDOWN x\r\n"}) {
    make_and_find();
    const bool unknown = outcome_of(text).fate == Outcome::Fate::kUnknown;
    EXPECT_EQ(learn(0, text), !unknown) << text;
    EXPECT_EQ(owner(0), "none") << text;
    EXPECT_EQ(owner(5460), "none") << text;
    EXPECT_EQ(owner(5461), "b:2") << text;
    const Names asked =
        discover(&router(),
                 {{"b:2", map_of({{0, 5460, {"x:1"}}, {5461, 16383, {"b:2"}}})},
                  {"a:1", "refused"},
                  {"c:3", "refused"},
                  {"x:1", "refused"},
                  {"y:2", "refused"},
                  {"z:3", "refused"},
                  {"seed:9", "refused"}});
    EXPECT_NE(asked.front(), "a:1") << "the lost node is asked last";
    EXPECT_EQ(owner(0), "x:1") << text;
  }
}

// While the replica of a lost node takes over, the router asks for the map a
// few times a second, not with every call.
TEST_F(ClusterRouterTest, AsksForLostNodesNowAndThen) {
  make_and_find();
  EXPECT_TRUE(learn(0, "refused"));
  discover(&router(), {{"b:2", kMap},
                       {"c:3", kMap},
                       {"x:1", kMap},
                       {"y:2", kMap},
                       {"z:3", kMap},
                       {"seed:9", kMap}});
  EXPECT_FALSE(learn(0, "refused"));
  EXPECT_EQ(owner(0), "a:1");
  const Monotonic deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!learn(0, "backoff")) {
    ASSERT_LT(std::chrono::steady_clock::now(), deadline);
  }
  EXPECT_EQ(owner(0), "none");
}

TEST_F(ClusterRouterTest, StaysWithANodeThatIsOnlySlow) {
  make_and_find();
  for (const char* text :
       {"+OK\r\n", "-OOM x\r\n", "-BUSY x\r\n", "-NOSCRIPT x\r\n",
        "-WRONGTYPE x\r\n", "cancelled"}) {
    EXPECT_FALSE(learn(0, text)) << text;
    EXPECT_EQ(owner(0), "a:1") << text;
  }
  EXPECT_TRUE(learn(0, "-TRYAGAIN x\r\n"));
  EXPECT_EQ(owner(0), "a:1");
}

TEST_F(ClusterRouterTest, RoutesToTheNodeThatAskNames) {
  make_and_find();
  EXPECT_TRUE(learn(0, "-ASK 0 d:4\r\n"));
  EXPECT_EQ(owner(0), "a:1");
  Target asking{.slot = 0, .endpoint = Endpoint{"d", 4, ""}, .asking = true};
  EXPECT_EQ(router().route(asking)->endpoint().text(), "d:4");
  asking.endpoint->host = "";  // stands for the owner's host
  EXPECT_EQ(router().route(asking)->endpoint().text(), "a:4");
  // The node that ASK named is lost, but the owner of the slot is not.
  EXPECT_FALSE(
      router().learn(router().route(asking), asking, outcome_of("refused")));
  EXPECT_EQ(owner(0), "a:1");
}

TEST_F(ClusterRouterTest, FindsNodesAgain) {
  make_and_find();
  Node* const node = router().route(Target{.slot = 0});
  const std::string other = map_of({{0, 16383, {"b:2"}}});
  discover(&router(), {{"a:1", "refused"},
                       {"b:2", other},
                       {"c:3", other},
                       {"x:1", other},
                       {"y:2", other},
                       {"z:3", other},
                       {"seed:9", other}});
  EXPECT_EQ(owner(0), "b:2");
  EXPECT_TRUE(learn(0, "-MOVED 0 a:1\r\n"));
  EXPECT_EQ(router().route(Target{.slot = 0}), node);
}

TEST_F(ClusterRouterTest, BoundsTheNumberOfNodes) {
  make("redis+cluster://seed:9");
  std::vector<Range> ranges;
  for (int i = 0; i < kSlots; ++i) {
    ranges.push_back({i, i, {"h:" + std::to_string(i + 1)}});
  }
  discover(&router(), {{"seed:9", map_of(ranges)}});
  EXPECT_EQ(owner(0), "h:1");
  EXPECT_EQ(owner(16383), "none");
  EXPECT_EQ(failure(&router()), "seed:9: too many nodes have been named");
  EXPECT_FALSE(learn(0, "-MOVED 0 other:1\r\n"));
  EXPECT_EQ(owner(0), "h:1");
  int nodes = 0;
  router().before_fork();
  router().for_each([&nodes](Node*) { ++nodes; });
  router().after_fork();
  EXPECT_EQ(nodes, NodeSet::kMaxNodes);
}

// For ThreadSanitizer: maps change while other threads look up slots.
TEST_F(ClusterRouterTest, MayBeUsedByManyThreads) {
  make_and_find();
  const std::string other =
      map_of({{0, 8191, {"c:3"}}, {8192, 16383, {"a:1"}}});
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 200; ++i) {
        const Target target{.slot = (t * 4000 + i) % kSlots};
        Node* const node = router().route(target);
        if (node == nullptr) {
          if (const std::unique_ptr<Task> task = router().discovery()) {
            task->start();
            task->answered(outcome_of(i % 2 == 0 ? kMap : other));
          }
          continue;
        }
        const std::string slot = std::to_string(target.slot);
        router().learn(
            node, target,
            outcome_of(i % 3 == 0 ? "refused" : "-MOVED " + slot + " d:4\r\n"));
        const Router::Check check = router().check_due(
            node, std::chrono::steady_clock::now() + std::chrono::seconds(i));
        if (check.node != nullptr) {
          router().checked(check.node, outcome_of(i % 2 == 0 ? kMap : other));
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  discover(&router(), {{"a:1", kMap},
                       {"b:2", kMap},
                       {"c:3", kMap},
                       {"d:4", kMap},
                       {"x:1", kMap},
                       {"y:2", kMap},
                       {"z:3", kMap},
                       {"seed:9", kMap}});
  EXPECT_EQ(owner(5461), "b:2");
}

}  // namespace
}  // namespace limitree::redis
