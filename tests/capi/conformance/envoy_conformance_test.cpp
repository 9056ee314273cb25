// The vectors of envoy.json through limitree.h alone: what a request of Envoy
// is answered, and what statistics then say.  Over each store, and with both
// ways to wait.  A request that only looks gets the same answer, and after the
// buckets of all requests are reset, all of them get their answers again.

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/store/redis/redis_server.hpp"
#include "core/store/temporary_folder.hpp"
#include "limitree.hpp"

namespace limitree::conformance::envoy_conformance_test {
namespace {

using nlohmann::json;

constexpr std::int64_t kSecond = 1'000'000'000;

const json& envoy_vectors() {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/envoy.json");
    if (!in) throw std::runtime_error("envoy.json is missing");
    return json::parse(in);
  }();
  return file.at("vectors");
}

enum class Way { kMemory, kShared, kRedis, kRedisAsync };

struct Case {
  const json* test;
  Way way;

  friend void PrintTo(const Case& one, std::ostream* out) {
    *out << one.test->at("name");
  }
};

std::vector<Case> all() {
  std::vector<Case> all;
  for (const json& test : envoy_vectors()) {
    for (const Way way :
         {Way::kMemory, Way::kShared, Way::kRedis, Way::kRedisAsync}) {
      all.push_back({&test, way});
    }
  }
  return all;
}

struct CaseName {
  std::string operator()(const testing::TestParamInfo<Case>& info) const {
    constexpr const char* kWays[] = {"Memory", "Shared", "Redis", "RedisAsync"};
    return info.param.test->at("name").get<std::string>() + "_" +
           kWays[static_cast<int>(info.param.way)];
  }
};

limitree_str str(const std::string& text) { return {text.data(), text.size()}; }

std::int64_t read_clock(void* now) { return *static_cast<std::int64_t*>(now); }

std::int32_t unit_number(const std::string& name) {
  for (std::int32_t unit = 1; unit <= LIMITREE_UNIT_WEEK; ++unit) {
    if (name == limitree_unit_name(unit)) return unit;
  }
  throw std::runtime_error("unknown unit " + name);
}

// A request of the file in the form of limitree.h.
class Request {
 public:
  explicit Request(const json& from) : domain_(from.at("domain")) {
    const json& descriptors = from.at("descriptors");
    for (const json& descriptor : descriptors) {
      auto& texts = texts_.emplace_back();
      for (const json& entry : descriptor.at("entries")) {
        texts.push_back({entry.at(0), entry.at(1)});
      }
    }
    for (std::size_t i = 0; i < texts_.size(); ++i) {
      auto& entries = entries_.emplace_back();
      for (const auto& [key, value] : texts_[i]) {
        entries.push_back({str(key), str(value)});
      }
      limitree_descriptor& out = out_.emplace_back();
      out.entries = entries.data();
      out.entry_count = entries.size();
      if (descriptors[i].contains("hits_addend")) {
        out.flags |= LIMITREE_HAS_HITS_ADDEND;
        out.hits_addend = descriptors[i].at("hits_addend");
      }
      if (descriptors[i].contains("limit")) {
        const json& limit = descriptors[i].at("limit");
        out.flags |= LIMITREE_HAS_LIMIT;
        out.requests_per_unit = limit.at("requests_per_unit");
        out.unit = unit_number(limit.at("unit"));
      }
    }
    request_.domain = str(domain_);
    request_.descriptors = out_.data();
    request_.descriptor_count = out_.size();
    request_.hits_addend = from.value("hits_addend", 0U);
  }

  const limitree_envoy_request* get() const { return &request_; }
  void only_look(bool look) { request_.flags = look ? LIMITREE_ONLY_PEEKS : 0; }

 private:
  std::string domain_;
  std::vector<std::vector<std::pair<std::string, std::string>>> texts_;
  std::vector<std::vector<limitree_entry>> entries_;
  std::vector<limitree_descriptor> out_;
  limitree_envoy_request request_{};
};

const char* code_name(std::int32_t code) {
  return code == LIMITREE_CODE_OVER_LIMIT ? "OVER_LIMIT"
         : code == LIMITREE_CODE_OK       ? "OK"
                                          : "neither";
}

// A status in the form of the file.
json to_json(const limitree_descriptor_status& status) {
  json out = {{"code", code_name(status.code)}};
  if (status.match == LIMITREE_MATCH_UNLIMITED) {
    out["remaining"] = status.limit_remaining;
  }
  if (status.match != LIMITREE_MATCH_LIMIT) return out;
  out["current_limit"] = {status.requests_per_unit,
                          limitree_unit_name(status.unit)};
  if (status.name.size > 0) {
    out["current_limit"].push_back(
        std::string(status.name.data, status.name.size));
  }
  out["remaining"] = status.limit_remaining;
  out["reset"] = status.duration_until_reset_ns / kSecond;
  return out;
}

// What a call gave.
struct Given {
  limitree_status status = LIMITREE_OK;
  std::string error;
  limitree_envoy_response response{};
  std::vector<limitree_descriptor_status> statuses;
};

void put(const limitree_completion* completions, std::size_t count,
         void* user_data) {
  for (std::size_t i = 0; i < count; ++i) {
    auto* const given = static_cast<Given*>(completions[i].request);
    given->status = completions[i].status;
    if (completions[i].error != nullptr) {
      given->error = limitree_error_message(completions[i].error);
    }
    ++*static_cast<int*>(user_data);
  }
}

class EnvoyRunner {
 public:
  explicit EnvoyRunner(const Case& one) : way_(one.way) {
    config_ = limitree_config_new();
    add_files(one.test->at("config"));
    const json& options = one.test->at("options");
    if (options.contains("stop")) set("stop_increment", "on");
    if (options.contains("local")) set("over_cache_size", "1000");
    if (options.contains("gquota")) set("quota_mode", "on");
    if (options.contains("gshadow")) set("shadow_mode", "on");
    if (way_ == Way::kShared) set("store", "shm://" + folder_.path() + "/made");
    if (way_ >= Way::kRedis) {
      set("store", "redis://127.0.0.1:" + std::to_string(server().port()));
      set("timeout", "10s");
      server().cli({"FLUSHALL"});
    }
    EXPECT_EQ(limitree_config_set_clock(config_, read_clock, &now_ns_, nullptr),
              LIMITREE_OK);
    EXPECT_EQ(limitree_config_set_completion(config_, put, &completed_, nullptr,
                                             nullptr),
              LIMITREE_OK);
    EXPECT_EQ(limitree_limiter_new(config_, &limiter_, nullptr), LIMITREE_OK);
  }
  ~EnvoyRunner() {
    limitree_limiter_free(limiter_);
    limitree_config_free(config_);
  }

  void run(const json& step) {
    Request request(step.at("request"));
    now_ns_ = step.at("request").at("now").get<std::int64_t>() * kSecond;
    for (const bool look : {true, false}) {
      request.only_look(look);
      ask(request, step.at("expect"));
    }
  }

  // Forgets what the request of that step has counted.
  void reset(const json& step) {
    const Request request(step.at("request"));
    Given given;
    finish(&given, [&](limitree_error** error) {
      return way_ == Way::kRedisAsync
                 ? limitree_reset_descriptors_async(limiter_, request.get(),
                                                    &given, error)
                 : limitree_reset_descriptors(limiter_, request.get(), error);
    });
    const bool good = !step.at("expect").contains("error");
    EXPECT_EQ(given.status, good ? LIMITREE_OK : LIMITREE_INVALID_ARGUMENT)
        << given.error;
  }

  // The statistics, without those that are 0.
  json stats() {
    json stats = json::object();
    for (const limitree::Counters& one :
         limitree::counters(limiter_, LIMITREE_SCOPE_RULES)) {
      for (const auto& [counter, value] : one.values) {
        if (value == 0) continue;
        stats[std::string(one.label) + "." + counter->name] = value;
      }
    }
    const std::int64_t shadowed =
        limitree::totals(limiter_, LIMITREE_SCOPE_ENVOY)["global_shadow_mode"];
    if (shadowed != 0) stats[".global_shadow_mode"] = shadowed;
    return stats;
  }

 private:
  void ask(const Request& request, const json& expected) {
    Given given;
    given.statuses.resize(request.get()->descriptor_count);
    path_cost(request, &given);
    if (expected.contains("error")) {
      EXPECT_EQ(given.status, LIMITREE_INVALID_ARGUMENT);
      EXPECT_EQ(json(given.error), expected.at("error"));
      return;
    }
    ASSERT_EQ(given.status, LIMITREE_OK) << given.error;
    EXPECT_EQ(json(code_name(given.response.overall_code)),
              expected.at("overall"));
    EXPECT_EQ(given.response.status_count, given.statuses.size());
    json statuses = json::array();
    for (const auto& status : given.statuses) {
      statuses.push_back(to_json(status));
    }
    EXPECT_EQ(statuses, expected.at("statuses"));
    if (expected.contains("headers")) expect_headers(given, expected);
  }

  static const redis::RedisServer& server() {
    static const redis::RedisServer server;
    return server;
  }

  void add_files(const json& config) {
    const std::vector<std::string> yamls =
        config.is_string() ? std::vector<std::string>{config}
                           : config.get<std::vector<std::string>>();
    std::vector<limitree_file> files;
    const std::string name = "config.yaml";
    for (const std::string& yaml : yamls)
      files.push_back({str(yaml), str(name)});
    EXPECT_EQ(
        limitree_config_add_descriptors(config_, files.data(), files.size(),
                                        files.size() > 1 ? 1 : 0, nullptr),
        LIMITREE_OK);
  }

  void set(const std::string& name, const std::string& value) {
    EXPECT_EQ(limitree_config_set(config_, name.c_str(), str(value), nullptr),
              LIMITREE_OK)
        << name;
  }

  void path_cost(const Request& request, Given* given) {
    finish(given, [&](limitree_error** error) {
      return way_ == Way::kRedisAsync
                 ? limitree_should_rate_limit_async(
                       limiter_, request.get(), given, given->statuses.data(),
                       given->statuses.size(), &given->response, error)
                 : limitree_should_rate_limit(
                       limiter_, request.get(), given->statuses.data(),
                       given->statuses.size(), &given->response, error);
    });
  }

  // Makes a call, and waits for its answer.
  template <typename Call>
  void finish(Given* given, const Call& call) {
    limitree_error* error = nullptr;
    given->status = call(&error);
    if (error != nullptr) given->error = limitree_error_message(error);
    limitree_error_free(error);
    if (given->status == LIMITREE_PENDING) wait();
  }

  // Runs the loop until the call is complete.
  void wait() {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::seconds(20);
    const int before = completed_;
    while (completed_ == before && std::chrono::steady_clock::now() < end) {
      pollfd watched = {limitree_loop_fd(limiter_), POLLIN, 0};
      poll(&watched, 1, 1000);
      limitree_loop_run(limiter_);
    }
    ASSERT_EQ(completed_, before + 1);
  }

  static void expect_headers(const Given& given, const json& expected) {
    ASSERT_GE(given.response.header_status, 0);
    const limitree_descriptor_status& status =
        given.statuses[static_cast<std::size_t>(given.response.header_status)];
    const json headers = {
        std::to_string(status.requests_per_unit),
        std::to_string(status.limit_remaining),
        std::to_string(status.duration_until_reset_ns / kSecond)};
    EXPECT_EQ(headers, expected.at("headers"));
  }

  const Way way_;
  const TemporaryFolder folder_{"envoy"};
  std::int64_t now_ns_ = 0;
  int completed_ = 0;
  limitree_config* config_ = nullptr;
  limitree_limiter* limiter_ = nullptr;
};

class EnvoyConformance : public testing::TestWithParam<Case> {};

TEST_P(EnvoyConformance, Case) {
  const json& test = *GetParam().test;
  EnvoyRunner runner(GetParam());
  for (const json& step : test.at("steps")) {
    SCOPED_TRACE(step.dump());
    runner.run(step);
  }
  EXPECT_EQ(runner.stats(), test.at("stats"));
  for (const json& step : test.at("steps")) runner.reset(step);
  for (const json& step : test.at("steps")) {
    SCOPED_TRACE("again: " + step.dump());
    runner.run(step);
  }
}

INSTANTIATE_TEST_SUITE_P(Vectors, EnvoyConformance, testing::ValuesIn(all()),
                         CaseName());

}  // namespace
}  // namespace limitree::conformance::envoy_conformance_test
