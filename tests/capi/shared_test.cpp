// shm:// as a C program sees it.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <thread>

#include "core/sanitizers.hpp"
#include "core/store/temporary_folder.hpp"
#include "limitree.hpp"

namespace shared_test {
namespace {

namespace fs = std::filesystem;

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

struct Shared : testing::Test {
  std::string path() const { return folder_.path() + "/limits"; }

  limitree_status make(limitree_limiter** limiter, limitree_error** error) {
    limitree_config* config = limitree_config_new();
    if (log != nullptr) {
      EXPECT_EQ(
          limitree_config_set_log(
              config, log, this,
              [](void* self) { ++static_cast<Shared*>(self)->freed; }, nullptr),
          LIMITREE_OK);
    }
    const std::string url = "shm://" + path() + "?max_buckets=5000";
    EXPECT_EQ(limitree_config_set(config, "store", str(url), nullptr),
              LIMITREE_OK);
    EXPECT_EQ(
        limitree_config_set_limits(config, str("schema: {a: {limits: 3/h}}"),
                                   str("test"), nullptr),
        LIMITREE_OK);
    const limitree_status status = limitree_limiter_new(config, limiter, error);
    limitree_config_free(config);
    return status;
  }

  limitree_log_fn log = nullptr;
  int freed = 0;
  limitree_limiter* logging = nullptr;
  std::string line;
  const limitree::TemporaryFolder folder_{"capi"};
};

bool allowed(limitree_limiter* limiter) {
  const limitree_str path = str("a");
  limitree_decision decision;
  EXPECT_EQ(limitree_authorize(limiter, &path, 1, 1, &decision, nullptr),
            LIMITREE_OK);
  return decision.limited == 0;
}

TEST_F(Shared, LimitersOnOneFileShareTheirBuckets) {
  limitree_limiter* one = nullptr;
  limitree_limiter* other = nullptr;
  ASSERT_EQ(make(&one, nullptr), LIMITREE_OK);
  ASSERT_EQ(make(&other, nullptr), LIMITREE_OK);
  EXPECT_EQ(limitree_limiter_is_remote(one), 0);
  EXPECT_EQ(limitree_limiter_is_shared(one), 1);
  EXPECT_TRUE(allowed(one));
  EXPECT_TRUE(allowed(other));
  EXPECT_TRUE(allowed(one));
  EXPECT_FALSE(allowed(other));
  EXPECT_EQ(limitree_limiter_is_remote(one), 0);

  const limitree::Counters stats =
      limitree::totals(other, LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE);
  EXPECT_EQ(stats["buckets"], 1);
  EXPECT_EQ(stats["max_buckets"], 5000);
  EXPECT_GT(stats["store_bytes"], 0);
  EXPECT_EQ(stats["allowed"], 1) << "of this limiter";
  EXPECT_EQ(stats["limited"], 1);

  limitree_store_file file;
  ASSERT_EQ(limitree_limiter_store_file(one, &file, nullptr), LIMITREE_OK);
  EXPECT_EQ(std::string_view(file.path.data, file.path.size), path());
  EXPECT_EQ(file.version, 2);
  EXPECT_EQ(file.bytes, static_cast<int64_t>(fs::file_size(path())));
  EXPECT_EQ(file.processes, 2);
  limitree_limiter_free(other);
  ASSERT_EQ(limitree_limiter_store_file(one, &file, nullptr), LIMITREE_OK);
  EXPECT_EQ(file.processes, 1);
  limitree_limiter_free(one);
}

TEST_F(Shared, ChecksOptionsWithoutMakingTheFile) {
  limitree_config* config = limitree_config_new();
  EXPECT_EQ(
      limitree_config_set(config, "store", str("shm://" + path()), nullptr),
      LIMITREE_OK);
  EXPECT_EQ(limitree_config_check(config, nullptr), LIMITREE_OK);
  EXPECT_FALSE(fs::exists(path()));
  limitree_config_free(config);
}

TEST_F(Shared, SaysWhyAFileCannotBeOpened) {
  fs::create_directory(path());
  limitree_limiter* limiter = nullptr;
  limitree_error* error = nullptr;
  EXPECT_EQ(make(&limiter, &error), LIMITREE_STORE_UNAVAILABLE);
  EXPECT_EQ(limiter, nullptr);
  EXPECT_EQ(limitree_error_message(error),
            path() + ": cannot be opened: Is a directory");
  EXPECT_STREQ(limitree_error_reason(error), "shm_open");
  limitree_error_free(error);
}

// Other threads may do anything meanwhile, also fork().
TEST_F(Shared, NoLockIsHeldWhileAMessageIsWritten) {
  if (limitree::kThreadSanitized) {
    GTEST_SKIP() << "the sanitizer holds locks of its own in SIGBUS";
  }
  log = [](int32_t event, limitree_str text, void* user_data) {
    auto* const self = static_cast<Shared*>(user_data);
    EXPECT_EQ(event, LIMITREE_STORE_AWAY);
    self->line.assign(text.data, text.size);
    std::thread([self] {
      EXPECT_EQ(limitree_limiter_reload(self->logging,
                                        str("schema: {a: {limits: 4/h}}"),
                                        str("test"), nullptr),
                LIMITREE_OK);
      EXPECT_EQ(
          limitree::totals(self->logging, LIMITREE_SCOPE_REQUESTS)["reloads"],
          1);
      const pid_t child = fork();
      if (child == 0) {
        limitree_limiter_free(self->logging);
        _exit(0);
      }
      int status = 1;
      EXPECT_EQ(waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0);
    }).join();
  };
  ASSERT_EQ(make(&logging, nullptr), LIMITREE_OK);
  fs::resize_file(path(), 0);
  const limitree_str caller = str("a");
  limitree_decision decision;
  EXPECT_EQ(limitree_authorize(logging, &caller, 1, 1, &decision, nullptr),
            LIMITREE_STORE_UNAVAILABLE);
  EXPECT_EQ(line, "the store shm://" + path() + "?max_buckets=5000 fails in " +
                      "process " + std::to_string(getpid()) +
                      " (shm_lost), on_store_error=raise: requests fail until "
                      "it is back");
  EXPECT_EQ(freed, 0);
  limitree_limiter_free(logging);
  EXPECT_EQ(freed, 1);
}

}  // namespace
}  // namespace shared_test
