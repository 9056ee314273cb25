// The vectors of envoy.json as requests of /json, in memory and in Redis.

#include "web/rate_limit_page.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/store/redis/redis_server.hpp"
#include "limitree.hpp"

namespace limitree::server {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;

// Keeps the answer.
class TestExchange final : public Exchange {
 public:
  explicit TestExchange(std::string body) {
    mutable_request()->body = std::move(body);
  }
  ~TestExchange() override { clear(); }

  std::optional<HttpAnswer> given;

 private:
  void send(const HttpAnswer& answer) override { given = answer; }
};

const json& envoy_vectors() {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/envoy.json");
    if (!in) throw std::runtime_error("envoy.json is missing");
    return json::parse(in);
  }();
  return file.at("vectors");
}

struct Case {
  const json* test;
  bool in_redis;

  friend void PrintTo(const Case& one, std::ostream* out) {
    *out << one.test->at("name");
  }
};

std::vector<Case> all() {
  std::vector<Case> all;
  for (const json& test : envoy_vectors()) {
    for (const bool in_redis : {false, true}) all.push_back({&test, in_redis});
  }
  return all;
}

struct CaseName {
  std::string operator()(const testing::TestParamInfo<Case>& info) const {
    return info.param.test->at("name").get<std::string>() +
           (info.param.in_redis ? "_Redis" : "_Memory");
  }
};

// The request as a client writes it.
std::string body_of(const json& request) {
  json body = {{"domain", request.at("domain")},
               {"hitsAddend", request.value("hits_addend", 0)},
               {"descriptors", json::array()}};
  for (const json& from : request.at("descriptors")) {
    json descriptor = {{"entries", json::array()}};
    for (const json& entry : from.at("entries")) {
      descriptor["entries"].push_back(
          {{"key", entry.at(0)}, {"value", entry.at(1)}});
    }
    if (from.contains("hits_addend")) {
      descriptor["hits_addend"] =
          std::to_string(from.at("hits_addend").get<std::uint64_t>());
    }
    if (from.contains("limit")) descriptor["limit"] = from.at("limit");
    body["descriptors"].push_back(descriptor);
  }
  return body.dump();
}

// A status of the answer in the form of the file.
json status_of(const json& from) {
  json status = {{"code", from.at("code")}};
  if (from.contains("currentLimit")) {
    const json& limit = from.at("currentLimit");
    status["current_limit"] = {limit.value("requestsPerUnit", 0),
                               limit.at("unit")};
    if (limit.contains("name")) {
      status["current_limit"].push_back(limit.at("name"));
    }
    const std::string reset = from.at("durationUntilReset");
    EXPECT_EQ(reset.back(), 's');
    status["reset"] = std::stoll(reset);
    status["remaining"] = from.value("limitRemaining", 0U);
  } else if (from.contains("limitRemaining")) {
    status["remaining"] = from.at("limitRemaining");
  }
  return status;
}

std::int64_t read_clock(void* now) { return *static_cast<std::int64_t*>(now); }

class PageRunner {
 public:
  explicit PageRunner(const Case& one) {
    const json& options = one.test->at("options");
    Config config;
    add_files(one.test->at("config"), &config);
    if (options.contains("stop")) config.set("stop_increment", "on");
    if (options.contains("local")) config.set("over_cache_size", "1000");
    if (options.contains("gquota")) config.set("quota_mode", "on");
    if (options.contains("gshadow")) config.set("shadow_mode", "on");
    if (one.in_redis) {
      config.set("store",
                 "redis://127.0.0.1:" + std::to_string(server().port()));
      config.set("timeout", "10s");
      server().cli({"FLUSHALL"});
    }
    check([&](limitree_error** error) {
      return limitree_config_set_clock(config.get(), read_clock, &now_ns_,
                                       error);
    });
    check([&](limitree_error** error) {
      return limitree_config_set_completion(config.get(), complete_requests,
                                            nullptr, nullptr, error);
    });
    limiter_.emplace(config);
    store_loop_.emplace(&loop_, limiter_->get());
    settings_.headers = options.contains("hdr");
    page_.emplace(limiter_->get(), &*store_loop_, &settings_, &descriptors_);
  }

  HttpAnswer ask(const std::string& body) {
    TestExchange exchange(body);
    page_->on_request(&exchange);
    while (!exchange.given) {
      // A turn that ends when the store has something to say.
      Timer patience(&loop_, [this] { loop_.stop(); });
      patience.set(after(steady_now(), kMillisecond));
      loop_.run();
    }
    return *exchange.given;
  }

  // Asks, and goes away.
  void drop(const std::string& body) {
    TestExchange exchange(body);
    page_->on_request(&exchange);
    EXPECT_FALSE(exchange.given);
  }

  void run(const json& step) {
    now_ns_ = step.at("request").at("now").get<std::int64_t>() * kSecond;
    const HttpAnswer answer = ask(body_of(step.at("request")));
    const json& expected = step.at("expect");
    if (expected.contains("error")) {
      EXPECT_EQ(answer.status, 400);
      EXPECT_EQ(
          answer.body,
          "Bad Request: " + expected.at("error").get<std::string>() + '\n');
      return;
    }
    EXPECT_EQ(answer.content_type, "application/json");
    const json given = json::parse(answer.body);
    EXPECT_EQ(given.at("overallCode"), expected.at("overall"));
    EXPECT_EQ(answer.status, expected.at("overall") == "OK" ? 200 : 429);
    json statuses = json::array();
    for (const json& status : given.at("statuses")) {
      statuses.push_back(status_of(status));
    }
    EXPECT_EQ(statuses, expected.at("statuses"));
    if (expected.contains("headers")) expect_headers(given, expected);
  }

 private:
  static const redis::RedisServer& server() {
    static const redis::RedisServer server;
    return server;
  }

  static void add_files(const json& from, Config* config) {
    const auto yamls = from.is_string() ? std::vector<std::string>{from}
                                        : from.get<std::vector<std::string>>();
    std::vector<limitree_file> files;
    for (const std::string& yaml : yamls) {
      files.push_back({{yaml.data(), yaml.size()}, {"c", 1}});
    }
    check([&](limitree_error** error) {
      return limitree_config_add_descriptors(config->get(), files.data(),
                                             files.size(),
                                             files.size() > 1 ? 1 : 0, error);
    });
  }

  static void expect_headers(const json& given, const json& expected) {
    const char* const names[] = {"RateLimit-Limit", "RateLimit-Remaining",
                                 "RateLimit-Reset"};
    const json& headers = given.at("responseHeadersToAdd");
    ASSERT_EQ(headers.size(), 3u);
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(headers[i].at("key"), names[i]);
      EXPECT_EQ(headers[i].at("value"), expected.at("headers").at(i));
    }
  }

  std::int64_t now_ns_ = 0;
  Loop loop_;
  AnswerSettings settings_;
  DescriptorsState descriptors_;
  std::optional<Limiter> limiter_;
  std::optional<StoreLoop> store_loop_;
  std::optional<RateLimitPage> page_;
};

class RateLimitPageVectors : public testing::TestWithParam<Case> {};

TEST_P(RateLimitPageVectors, Case) {
  PageRunner runner(GetParam());
  for (const json& step : GetParam().test->at("steps")) {
    SCOPED_TRACE(step.dump());
    runner.run(step);
  }
}

INSTANTIATE_TEST_SUITE_P(All, RateLimitPageVectors, testing::ValuesIn(all()),
                         CaseName());

const json& first_vector() { return envoy_vectors().at(0); }

TEST(RateLimitPage, RefusesWhatIsNotValid) {
  PageRunner runner({&first_vector(), false});
  const auto answer = [&](const std::string& body) {
    const HttpAnswer given = runner.ask(body);
    return std::to_string(given.status) + ' ' + given.body;
  };
  EXPECT_EQ(answer(""), "400 Bad Request: no valid JSON at byte 1\n");
  EXPECT_EQ(answer(R"({"x": 1})"),
            "400 Bad Request: x: there is no such field\n");
  EXPECT_EQ(answer("{}"),
            "400 Bad Request: rate limit domain must not be empty\n");
  // The process of the original ends here.
  EXPECT_TRUE(answer(R"({"domain": "d", "descriptors": [
                         {"entries": [{"key": "a", "value": "b"}],
                          "limit": {"requestsPerUnit": 1, "unit": 0}}]})")
                  .starts_with("400 Bad Request: "));
}

TEST(RateLimitPage, ARequestMayEndBeforeTheStoreAnswers) {
  PageRunner runner({&first_vector(), true});
  const std::string body =
      body_of(first_vector().at("steps").at(0).at("request"));
  // Nothing waits for the answer to this one.
  runner.drop(body);
  EXPECT_EQ(runner.ask(body).status, 200);
}

}  // namespace
}  // namespace limitree::server
