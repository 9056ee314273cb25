#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "limitree.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {
namespace {

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

constexpr std::string_view kFile = R"(
domain: web
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 10}
  - key: path
    descriptors:
      - key: ip
        value_to_metric: true
        shadow_mode: true
        rate_limit: {unit: day, requests_per_unit: 1}
)";

Limiter make_limiter(std::string_view file = kFile) {
  Config config;
  const std::vector<limitree_file> files = {{str(file), str("web.yaml")}};
  config.add_descriptors(files);
  return Limiter(config);
}

using Entries = std::vector<limitree_entry>;

void ask(const Limiter& limiter, std::string_view domain,
         const Entries& entries, std::uint64_t hits) {
  limitree_descriptor descriptor{};
  descriptor.entries = entries.data();
  descriptor.entry_count = entries.size();
  descriptor.flags = LIMITREE_HAS_HITS_ADDEND;
  descriptor.hits_addend = hits;
  limitree_envoy_request request{};
  request.domain = str(domain);
  request.descriptors = &descriptor;
  request.descriptor_count = 1;
  limitree_descriptor_status status;
  limitree_envoy_response response;
  limitree_error* error = nullptr;
  limitree_should_rate_limit(limiter.get(), &request, &status, 1, &response,
                             &error);
  limitree_error_free(error);
}

TEST(LimiterSnapshot, HaveTheNamesOfRules) {
  const Limiter limiter = make_limiter();
  ask(limiter, "web", {{str("user"), str("x")}}, 9);
  ask(limiter, "web", {{str("user"), str("x")}}, 3);
  ask(limiter, "web", {{str("path"), str("/")}, {str("ip"), str("10.0.0.1")}},
      5);
  ask(limiter, "nowhere", {{str("user"), str("x")}}, 1);
  ask(limiter, "", {{str("user"), str("x")}}, 1);
  const Snapshot snapshot = snapshot_of(limiter.get());
  EXPECT_EQ(snapshot.at(ServiceCounter::kServiceError), 1u);
  EXPECT_EQ(snapshot.at(ServiceCounter::kRedisError), 0u);
  EXPECT_EQ(snapshot.at(ServiceCounter::kGlobalShadowMode), 0u);
  ASSERT_EQ(snapshot.limits.size(), 3u);
  // 9 of 10, then 12: above are 2, and near, from 8 on, are 1 and 1.
  EXPECT_EQ(snapshot.limits.at("web.user"),
            (LimitValues{12, 2, 2, 0, 9, 0, 0, 0}));
  EXPECT_EQ(snapshot.limits.at("web.path.ip_10_0_0_1")[0], 5u);
  EXPECT_EQ(snapshot.limits.at("web.path.ip_10_0_0_1")[5], 4u);
  EXPECT_EQ(snapshot.limits.at("nowhere"),
            (LimitValues{0, 0, 0, 0, 0, 0, 0, 1}));
  EXPECT_NE(prometheus_text(snapshot).find(
                "ratelimit_service_rate_limit_shadow_mode{domain=\"web\","
                "key1=\"path\",key2=\"ip_10_0_0_1\"} 4\n"),
            std::string::npos);
}

TEST(LimiterSnapshot, OfManyLimitsAreThoseInUse) {
  std::string file = "domain: web\ndescriptors:\n";
  const auto add_limits = [&](int from, int to) {
    for (int i = from; i < to; ++i) {
      file += "  - {key: user, value: u" + std::to_string(i) +
              ", rate_limit: {unit: day, requests_per_unit: 1}}\n";
    }
  };
  add_limits(0, 10'000);
  EXPECT_EQ(snapshot_of(make_limiter(file).get()).limits.size(), 10'000u);
  add_limits(10'000, 10'001);
  const Limiter limiter = make_limiter(file);
  EXPECT_TRUE(snapshot_of(limiter.get()).limits.empty());
  ask(limiter, "web", {{str("user"), str("u7")}}, 2);
  const Snapshot snapshot = snapshot_of(limiter.get());
  ASSERT_EQ(snapshot.limits.size(), 1u);
  EXPECT_EQ(snapshot.limits.begin()->first, "web.user_u7");
}

TEST(LimiterSnapshot, AreEmptyWithoutDescriptors) {
  Config config;
  config.set_limits("schema: {a: {limits: 1/s}}", "a.yaml");
  const Limiter limiter(config);
  const Snapshot snapshot = snapshot_of(limiter.get());
  EXPECT_TRUE(snapshot.limits.empty());
  EXPECT_TRUE(snapshot.gauges.empty());
}

}  // namespace
}  // namespace limitree::server
