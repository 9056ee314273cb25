// Requests of /json that go wrong, or that nobody waits for.

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/store/redis/redis_server.hpp"
#include "limitree.hpp"
#include "web/decision_pages.hpp"

namespace limitree::server {
namespace {

constexpr std::string_view kDescriptors =
    "domain: d\n"
    "descriptors:\n"
    "- {key: a, rate_limit: {unit: year, requests_per_unit: 2}}\n";
constexpr std::string_view kEntry = R"({"entries": [{"key": "a"}]})";

// Keeps the answer.
class TestExchange final : public Exchange {
 public:
  explicit TestExchange(std::string body) {
    mutable_request()->body = std::move(body);
  }
  ~TestExchange() override { clear(); }

  const Access& access() const override { return access_; }

  std::optional<HttpAnswer> given;

 private:
  void send(const HttpAnswer& answer) override { given = answer; }

  Access access_;
};

// Only counts.
class IdleRequest final : public PendingRequest {
 public:
  explicit IdleRequest(StoreLoop* loop) : PendingRequest(loop, kNever) {}
  void complete(const limitree_completion& /*completion*/) override {}
  void fail() override {}
};

class RateLimitPageTest : public testing::Test {
 protected:
  // Decides in memory, unless there is a server.
  void make(const redis::RedisServer* server) {
    Config config;
    const limitree_file file{{kDescriptors.data(), kDescriptors.size()},
                             {"d.yaml", 6}};
    config.add_descriptors({&file, 1}, false);
    if (server != nullptr) {
      config.set("store",
                 "redis://127.0.0.1:" + std::to_string(server->port()));
      config.set("timeout", "10s");
    }
    check([&](limitree_error** error) {
      return limitree_config_set_completion(config.get(), complete_requests,
                                            nullptr, nullptr, error);
    });
    limiter.emplace(config);
    store_loop.emplace(&loop, limiter->get());
    decider.emplace(limiter->get(), &*store_loop, &settings, &descriptors);
    page.emplace(&*decider, &settings, &style);
  }

  // Status and body.
  std::string ask(const std::string& body) {
    TestExchange exchange(body);
    page->ask(&exchange);
    while (!exchange.given) {
      // A turn that ends when the store has something to say.
      Timer patience(&loop, [this] { loop.stop(); });
      patience.set(after(steady_now(), kMillisecond));
      loop.run();
    }
    return std::to_string(exchange.given->status) + ' ' + exchange.given->body;
  }

  static std::string body_of(std::string_view descriptors) {
    return R"({"domain": "d", "descriptors": [)" + std::string(descriptors) +
           "]}";
  }

  Loop loop;
  AnswerSettings settings;
  std::string style;
  DescriptorsState descriptors;
  std::optional<Limiter> limiter;
  std::optional<StoreLoop> store_loop;
  std::optional<Decider> decider;
  std::optional<DecisionPages> page;
};

TEST_F(RateLimitPageTest, RefusesWhatIsNotValid) {
  make(nullptr);
  EXPECT_EQ(ask(""), "400 Bad Request: no valid JSON at byte 1\n");
  EXPECT_EQ(ask(R"({"x": 1})"), "400 Bad Request: x: there is no such field\n");
  EXPECT_EQ(ask("{}"),
            "400 Bad Request: rate limit domain must not be empty\n");
  EXPECT_EQ(ask(R"({"domain": "d"})"),
            "400 Bad Request: rate limit descriptor list must not be empty\n");
  // The process of the original ends here.
  EXPECT_EQ(
      ask(body_of(R"({"entries": [{"key": "a"}],
                            "limit": {"requestsPerUnit": 1, "unit": 0}})")),
      "400 Bad Request: descriptor 0 states a limit with the unknown unit "
      "0\n");
  std::string many(kEntry);
  for (int i = 0; i < 4096; ++i) many.append(",").append(kEntry);
  EXPECT_EQ(ask(body_of(many)),
            "400 Bad Request: there are 4097 descriptors, the most is 4096\n");
}

TEST_F(RateLimitPageTest, RefusesAllWhileThereAreNoDescriptors) {
  make(nullptr);
  descriptors.miss();
  EXPECT_EQ(ask(body_of(kEntry)),
            "503 Service Unavailable: no rate limit configuration loaded\n");
  EXPECT_EQ(descriptors.refusals(), 1U);
  descriptors.loaded();
  EXPECT_TRUE(ask(body_of(kEntry)).starts_with("200 "));
  EXPECT_EQ(descriptors.refusals(), 1U);
}

TEST_F(RateLimitPageTest, AsksTheStoreForSoManyAtOnce) {
  const redis::RedisServer server;
  make(&server);
  std::vector<std::unique_ptr<IdleRequest>> waiting;
  while (!store_loop->is_full()) {
    waiting.push_back(std::make_unique<IdleRequest>(&*store_loop));
  }
  EXPECT_EQ(waiting.size(), 50'000U);
  EXPECT_EQ(ask(body_of(kEntry)),
            "503 Service Unavailable: too many calls wait\n");
  waiting.pop_back();
  EXPECT_TRUE(ask(body_of(kEntry)).starts_with("200 "));
}

TEST_F(RateLimitPageTest, ALargeRequestWaitsAsSeveral) {
  const redis::RedisServer server;
  make(&server);
  std::string many(kEntry);
  for (int i = 1; i < 100; ++i) many.append(",").append(kEntry);
  TestExchange large(body_of(many));
  std::vector<std::unique_ptr<IdleRequest>> waiting;
  while (waiting.size() < 49'990) {
    waiting.push_back(std::make_unique<IdleRequest>(&*store_loop));
  }
  page->ask(&large);
  EXPECT_FALSE(large.given);
  EXPECT_EQ(ask(body_of(kEntry)),
            "503 Service Unavailable: too many calls wait\n");
  waiting.clear();
  EXPECT_TRUE(ask(body_of(kEntry)).starts_with("429 "));
  EXPECT_TRUE(large.given);
}

TEST_F(RateLimitPageTest, ARequestMayEndBeforeTheStoreAnswers) {
  const redis::RedisServer server;
  make(&server);
  {
    TestExchange exchange(body_of(kEntry));
    page->ask(&exchange);
    EXPECT_FALSE(exchange.given);
  }
  const std::string answer = ask(body_of(kEntry));
  EXPECT_TRUE(answer.starts_with("200 "));
  // The first one was counted.
  EXPECT_EQ(answer.find("limitRemaining"), answer.npos) << answer;
}

}  // namespace
}  // namespace limitree::server
