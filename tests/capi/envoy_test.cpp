// Requests of Envoy through the C interface, beside the vectors of envoy.json.

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.hpp"

namespace envoy_test {
namespace {

using limitree::Config;
using limitree::Error;
using limitree::Limiter;

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

constexpr limitree_str kNull = {nullptr, 1};

// Returns the message of an error, and frees the error.
std::string take(limitree_error* error) {
  const std::string message =
      error == nullptr ? "" : limitree_error_message(error);
  limitree_error_free(error);
  return message;
}

Config config_of(std::string_view yaml) {
  const std::vector<limitree_file> files = {{str(yaml), str("d.yaml")}};
  Config config;
  config.add_descriptors(files);
  return config;
}

constexpr std::string_view kDomain =
    "domain: d\n"
    "descriptors:\n"
    "- {key: a, rate_limit: {unit: day, requests_per_unit: 3, name: three},\n"
    "   metadata: {a: {x: 1}, list: [1, two, null, true]}}\n"
    "- {key: b, rate_limit: {period: 90s, requests_per_unit: 3},\n"
    "   metadata: {a: {x: 2, y: \"\\\"\"}, b: 1.5}}\n";

// A request of one descriptor, or of several with the same entry.
struct Request {
  explicit Request(std::string_view key, std::size_t count = 1)
      : entry{str(key), str("1")} {
    limitree_descriptor one{};
    one.entries = &entry;
    one.entry_count = 1;
    descriptors.assign(count, one);
    request.domain = str("d");
    request.descriptors = descriptors.data();
    request.descriptor_count = count;
  }

  limitree_entry entry;
  std::vector<limitree_descriptor> descriptors;
  limitree_envoy_request request{};
};

TEST(RateLimit, FillsStatuses) {
  const Limiter limiter(config_of(kDomain));
  Request a("a");
  std::array<limitree_descriptor_status, 1> status;
  limitree_envoy_response response =
      limiter.should_rate_limit(a.request, status);
  EXPECT_EQ(response.overall_code, LIMITREE_CODE_OK);
  EXPECT_EQ(response.header_status, 0);
  EXPECT_EQ(response.status_count, 1U);
  EXPECT_EQ(response.source, LIMITREE_SOURCE_STORE);
  EXPECT_EQ(response.flags, 0U);
  EXPECT_EQ(response.metadata, nullptr);
  EXPECT_EQ(status[0].code, LIMITREE_CODE_OK);
  EXPECT_EQ(status[0].match, LIMITREE_MATCH_LIMIT);
  EXPECT_EQ(limitree::to_view(status[0].name), "three");
  EXPECT_EQ(status[0].requests_per_unit, 3U);
  EXPECT_EQ(status[0].unit, LIMITREE_UNIT_DAY);
  EXPECT_EQ(status[0].period_ns, 86'400'000'000'000);
  EXPECT_EQ(status[0].limit_remaining, 2);
  EXPECT_EQ(status[0].duration_until_reset_ns % 1'000'000'000, 0);
  EXPECT_GE(status[0].duration_until_reset_ns, status[0].reset_after_ns);
  EXPECT_EQ(status[0].retry_after_ns, -1);

  Request b("b");
  limiter.should_rate_limit(b.request, status);
  EXPECT_EQ(status[0].unit, LIMITREE_UNIT_UNKNOWN);
  EXPECT_EQ(status[0].period_ns, 90'000'000'000);

  Request none("none");
  response = limiter.should_rate_limit(none.request, status);
  EXPECT_EQ(response.header_status, -1);
  EXPECT_EQ(response.flags, LIMITREE_UNLIMITED);
  EXPECT_EQ(status[0].match, LIMITREE_MATCH_NONE);
}

// Statuses beyond the caller's room are left out.
TEST(RateLimit, FillsAsManyAsThereIsRoomFor) {
  const Limiter limiter(config_of(kDomain));
  Request request("a", 5);
  std::array<limitree_descriptor_status, 2> statuses;
  EXPECT_EQ(limiter.should_rate_limit(request.request, statuses).status_count,
            5U);
  EXPECT_EQ(statuses[1].limit_remaining, 1);
  EXPECT_EQ(limiter.should_rate_limit(request.request, {}).overall_code,
            LIMITREE_CODE_OVER_LIMIT);
}

TEST(RateLimit, GivesMetadata) {
  const Limiter limiter(config_of(kDomain));
  Request request("a", 2);
  const limitree_entry other = {str("b"), str("\xff")};
  request.descriptors[1].entries = &other;
  request.request.flags = LIMITREE_WANTS_METADATA;
  const limitree::Text text(
      limiter.should_rate_limit(request.request, {}).metadata);
  EXPECT_EQ(text.view(),
            "{\"domain\":\"d\",\"descriptors\":[{\"entries\":[\"a=1\"]},"
            "{\"entries\":[\"b=\\ufffd\"]}],\"metadata\":{\"a\":{\"x\":1,"
            "\"y\":\"\\\"\"},\"list\":[1,\"two\",null,true],\"b\":1.5}}");
}

TEST(RateLimit, RefusesWhatBreaksARule) {
  const Limiter limiter(config_of(kDomain));
  limitree_envoy_response response;
  limitree_descriptor_status status;
  limitree_error* error = nullptr;
  const auto refused = [&](const limitree_envoy_request* request) {
    EXPECT_EQ(limitree_should_rate_limit(limiter.get(), request, &status, 1,
                                         &response, &error),
              LIMITREE_INVALID_ARGUMENT);
    return take(error);
  };
  EXPECT_EQ(refused(nullptr), "request must not be null");
  Request request("a");
  EXPECT_EQ(limitree_should_rate_limit(nullptr, &request.request, nullptr, 0,
                                       &response, &error),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "limiter must not be null");
  EXPECT_EQ(limitree_should_rate_limit(limiter.get(), &request.request, nullptr,
                                       1, &response, &error),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "statuses must not be null");
  EXPECT_EQ(
      limitree_should_rate_limit_async(limiter.get(), &request.request, nullptr,
                                       &status, 1, nullptr, &error),
      LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "response must not be null");

  request.request.flags = 14;
  EXPECT_EQ(refused(&request.request), "unknown flags of a request: 14");
  request.request.flags = 0;
  request.descriptors[0].flags = 9;
  EXPECT_EQ(refused(&request.request), "unknown flags of a descriptor: 9");
  request.descriptors[0].flags = LIMITREE_HAS_LIMIT;
  EXPECT_EQ(refused(&request.request),
            "descriptor 0 states a limit with the unknown unit 0");
  request.descriptors[0].flags = 0;
  request.entry.value = kNull;
  EXPECT_EQ(refused(&request.request), "value.data must not be null");
  request.entry.key = kNull;
  EXPECT_EQ(refused(&request.request), "key.data must not be null");
  request.descriptors[0].entries = nullptr;
  EXPECT_EQ(refused(&request.request), "entries must not be null");
  request.request.descriptors = nullptr;
  EXPECT_EQ(refused(&request.request), "descriptors must not be null");
  request.request.domain = kNull;
  EXPECT_EQ(refused(&request.request), "domain.data must not be null");
  const limitree_envoy_request empty{};
  EXPECT_EQ(refused(&empty), "rate limit domain must not be empty");
  EXPECT_EQ(
      limitree::totals(limiter.get(), LIMITREE_SCOPE_ENVOY)["service_errors"],
      2);
}

TEST(RateLimit, RefusesTooManyDescriptors) {
  const Limiter limiter(config_of(kDomain));
  Request request("a", 4097);
  try {
    limiter.should_rate_limit(request.request, {});
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "there are 4097 descriptors, the most is 4096");
  }
}

TEST(RateLimit, DescriptorsAreReplaced) {
  const Limiter limiter(config_of(kDomain));
  Request request("a");
  std::array<limitree_descriptor_status, 1> status;
  limiter.should_rate_limit(request.request, status);
  const limitree_str name = status[0].name;
  limiter.reload_descriptors(config_of("domain: d"));
  limiter.should_rate_limit(request.request, status);
  EXPECT_EQ(status[0].match, LIMITREE_MATCH_NONE);
  EXPECT_EQ(limitree::to_view(name), "three");
  limitree_error* error = nullptr;
  EXPECT_EQ(limitree_limiter_reload_descriptors(nullptr, nullptr, &error),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "limiter must not be null");
  EXPECT_EQ(limitree_limiter_reload_descriptors(limiter.get(), nullptr, &error),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "config must not be null");
}

TEST(RateLimit, Statistics) {
  const Limiter limiter(config_of(kDomain));
  Request request("a", 5);
  limiter.should_rate_limit(request.request, {});
  Request unknown("a");
  unknown.request.domain = str("x");
  limiter.should_rate_limit(unknown.request, {});
  const auto stats = limitree::counters(limiter.get(), LIMITREE_SCOPE_RULES);
  ASSERT_EQ(stats.size(), 3U);
  EXPECT_EQ(stats[0].label, "d.a");
  EXPECT_EQ(stats[0]["total_hits"], 5);
  EXPECT_EQ(stats[0]["over_limit"], 2);
  EXPECT_EQ(stats[1].label, "d.b");
  EXPECT_EQ(stats[2].label, "x");
  EXPECT_EQ(stats[2]["domain_not_found"], 1);
  const limitree::Counters all =
      limitree::totals(limiter.get(), LIMITREE_SCOPE_ENVOY);
  EXPECT_EQ(all["ok"], 1);
  EXPECT_EQ(all["over_limit"], 1);
  EXPECT_EQ(all["metric_keys"], 3);

  limitree_error* error = nullptr;
  const auto ignore = [](const limitree_counter*, limitree_str, std::int64_t,
                         void*) {};
  EXPECT_EQ(limitree_limiter_each_counter(nullptr, LIMITREE_SCOPE_RULES, ignore,
                                          nullptr, &error),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "limiter must not be null");
  EXPECT_EQ(limitree_limiter_each_counter(limiter.get(), LIMITREE_SCOPE_RULES,
                                          nullptr, nullptr, &error),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(take(error), "fn must not be null");
}

TEST(RateLimit, NamesOfUnits) {
  EXPECT_STREQ(limitree_unit_name(LIMITREE_UNIT_WEEK), "WEEK");
  EXPECT_STREQ(limitree_unit_name(LIMITREE_UNIT_UNKNOWN), "UNKNOWN");
  EXPECT_STREQ(limitree_unit_name(99), "UNKNOWN");
}

}  // namespace
}  // namespace envoy_test
