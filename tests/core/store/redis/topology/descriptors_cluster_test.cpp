// Requests of Envoy on a cluster: descriptors of one request are in different
// slots, and each is decided and charged by itself.

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/store/redis/topology/cluster_fixture.hpp"
#include "descriptors/load.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"

namespace limitree::redis {
namespace {

// Asks about {"a": value} for each value; of `back`, gives the hits back.
std::vector<LimitCode> ask(Limiter* limiter,
                           const std::vector<std::string>& values,
                           bool back = false) {
  std::vector<Entry> entries;
  for (const std::string& value : values) entries.push_back({"a", value});
  std::vector<AskedDescriptor> asked;
  for (const Entry& entry : entries) asked.push_back({{&entry, 1}});
  for (AskedDescriptor& one : asked) one.is_negative_hits = back;
  RateLimitAnswer answer;
  const Status status = limiter->should_rate_limit({"d", asked, 1}, &answer);
  std::vector<LimitCode> codes;
  EXPECT_TRUE(status.ok()) << status.error().messages.front();
  if (!status.ok()) return codes;
  for (const DescriptorStatus& one : answer.statuses) codes.push_back(one.code);
  return codes;
}

TEST(DescriptorsInCluster, AreChargedEachByItself) {
  ClusterFixture cluster;
  Options options;
  ASSERT_TRUE(set_option("store", cluster.url(), &options).ok());
  ASSERT_TRUE(set_option("timeout", "10s", &options).ok());
  const DescriptorFile file{
      "domain: d\n"
      "descriptors:\n"
      "- {key: a, rate_limit: {unit: year, requests_per_unit: 2}}\n",
      "d.yaml"};
  Result<Descriptors> descriptors = load_descriptors({&file, 1});
  ASSERT_TRUE(descriptors.ok());
  Result<std::unique_ptr<Store>> store = make_store(options);
  ASSERT_TRUE(store.ok());
  Limiter limiter(
      std::make_shared<const Tree>(), options, std::move(store.value()),
      std::make_shared<const Descriptors>(std::move(descriptors.value())));

  std::vector<std::string> values;
  for (int i = 0; i < 20; ++i) values.push_back("v" + std::to_string(i));
  const auto ok = LimitCode::kOk;
  const auto over = LimitCode::kOverLimit;
  const std::vector<LimitCode> all(values.size(), ok);
  EXPECT_EQ(ask(&limiter, {"v7"}), std::vector{ok});
  EXPECT_EQ(ask(&limiter, values), all);
  // One of them denies; the others are charged all the same.
  std::vector<LimitCode> but_one = all;
  but_one[7] = over;
  EXPECT_EQ(ask(&limiter, values), but_one);
  EXPECT_EQ(ask(&limiter, values), std::vector(values.size(), over));
  // 4 hits are given back to v7, of which it had 4; others had 3.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask(&limiter, values, true), all);
  EXPECT_EQ(ask(&limiter, {"v7"}), std::vector{over});
  EXPECT_EQ(ask(&limiter, {"v7", "v8", "v9"}), (std::vector{over, ok, ok}));
}

}  // namespace
}  // namespace limitree::redis
