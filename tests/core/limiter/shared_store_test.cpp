// A limiter on shm://: its options, and what it does when the file fails.

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>

#include "core/sanitizers.hpp"
#include "core/store/temporary_folder.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "limiter/options.hpp"
#include "store/store.hpp"

namespace limitree {
namespace {

Options options_for(const std::string& url) {
  Options options;
  const Status status = set_option("store", url, &options);
  EXPECT_TRUE(status.ok());
  return options;
}

std::string error_of(const Options& options) {
  Result<std::unique_ptr<Store>> store = make_store(options);
  return store.ok() ? "" : store.status().error().messages[0];
}

TEST(SharedLimiter, SizesComeFromTheUrlThenFromTheOptions) {
  const TemporaryFolder folder("shm");
  const std::string url = "shm://" + folder.path() + "/limits";
  Options options = options_for(url);
  options.max_buckets = 3000;
  {
    Result<std::unique_ptr<Store>> store = make_store(options);
    ASSERT_TRUE(store.ok());
    EXPECT_EQ(store.value()->stats().max_buckets, 3000);
  }
  // The option is for making a file; the one that is there stays as it is.
  options.max_buckets = 4000;
  EXPECT_EQ(make_store(options).value()->stats().max_buckets, 3000);
  EXPECT_NE(error_of(options_for(url + "?max_buckets=4000")), "");
  std::filesystem::remove(folder.path() + "/limits");
  EXPECT_EQ(make_store(options_for(url + "?max_buckets=5000"))
                .value()
                ->stats()
                .max_buckets,
            5000);
}

TEST(SharedLimiter, RefusesSizesThatDoNotGoTogether) {
  Options options = options_for("shm://unused?max_buckets=1000000");
  options.max_buckets = 1;
  options.max_bytes = 64;
  EXPECT_EQ(error_of(options),
            "max_bytes: needs 64 for each of max_buckets, 64000000");
  options.max_bytes = 0;
  options.max_buckets = shared::SharedUrl::kMaxBuckets + 1;
  EXPECT_EQ(error_of(options),
            "store: needs max_buckets of at most 1073741824");
}

// The file is cut off: the process goes on by itself.
TEST(SharedLimiter, DecidesLocallyWhenTheFileFails) {
  if (kThreadSanitized) {
    GTEST_SKIP() << "the sanitizer holds locks of its own in SIGBUS";
  }
  const TemporaryFolder folder("shm");
  const std::string path = folder.path() + "/limits";
  Options options = options_for("shm://" + path);
  options.on_store_error = OnStoreError::kLocal;
  const std::unique_ptr<Store> store = std::move(make_store(options).value());
  Limit limit;
  limit.rate = make_rate(1, std::chrono::hours(1), 2).value();
  const auto path_cost = [&](Plan* plan) {
    plan->segments.emplace_back("a", Segment::Kind::kCaller);
    plan->add_level(&limit, 0u, 1u, 2);
    EXPECT_TRUE(store->decide(plan).ok());
    return !plan->levels[0].verdict.limited;
  };
  Plan shared(Operation::kAuthorize);
  EXPECT_TRUE(path_cost(&shared));
  EXPECT_EQ(shared.source, Source::kStore);
  ASSERT_EQ(truncate(path.c_str(), 0), 0);
  Plan local(Operation::kAuthorize);
  EXPECT_TRUE(path_cost(&local));
  EXPECT_EQ(local.source, Source::kLocal);
  Plan again(Operation::kAuthorize);
  EXPECT_FALSE(path_cost(&again));
  const StoreStats stats = store->stats();
  ASSERT_EQ(stats.errors.size(), 1u);
  EXPECT_STREQ(stats.errors[0].reason, "shm_lost");
  EXPECT_EQ(stats.errors[0].count, 2);
}

}  // namespace
}  // namespace limitree
