// Limits in files: the meaning of `origin` for a C caller, and limits of
// Boulder.

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/store/temporary_folder.hpp"
#include "limitree.h"

namespace files_test {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kLimits =
    "schema: {user: {overrides: users.csv, children: {\"*\": {limits: 3/h}}}}";

limitree_str str(std::string_view text) { return {text.data(), text.size()}; }

// Returns the message of an error, and frees the error.
std::string take(limitree_error* error) {
  const std::string message =
      error == nullptr ? "" : limitree_error_message(error);
  limitree_error_free(error);
  return message;
}

class Files : public testing::Test {
 protected:
  void SetUp() override {
    origin_ = (folder_ / "limits.yaml").string();
    write("id,limits\nalex,5/h\n");
  }
  void TearDown() override { limitree_limiter_free(limiter_); }

  void write(std::string_view users) {
    std::ofstream(folder_ / "users.csv", std::ios::binary) << users;
  }

  int64_t limit_of(std::string_view user) {
    const limitree_str path[] = {str("user"), str(user)};
    limitree_decision decision;
    EXPECT_EQ(limitree_peek(limiter_, path, 2, 1, &decision, nullptr),
              LIMITREE_OK);
    return decision.limit;
  }

  const limitree::TemporaryFolder temporary_{"capi"};
  const fs::path folder_ = temporary_.path();
  std::string origin_;
  limitree_limiter* limiter_ = nullptr;
};

TEST_F(Files, OverridesLieBesideTheOrigin) {
  limitree_config* config = limitree_config_new();
  limitree_error* error = nullptr;
  EXPECT_EQ(
      limitree_config_set_limits(config, str(kLimits), str("limits"), &error),
      LIMITREE_INVALID_CONFIG);
  EXPECT_EQ(take(error), "limits:1:28: users.csv: no such file or directory");
  ASSERT_EQ(
      limitree_config_set_limits(config, str(kLimits), str(origin_), nullptr),
      LIMITREE_OK);
  ASSERT_EQ(limitree_limiter_new(config, &limiter_, nullptr), LIMITREE_OK);
  limitree_config_free(config);
  EXPECT_EQ(limit_of("alex"), 5);
  EXPECT_EQ(limit_of("bob"), 3);

  // A reload takes both files, or neither.
  write("id,limits\nalex,7/h\nbob,none\n");
  EXPECT_EQ(
      limitree_limiter_reload(limiter_, str(kLimits), str(origin_), &error),
      LIMITREE_INVALID_CONFIG);
  EXPECT_TRUE(take(error).starts_with((folder_ / "users.csv").string() +
                                      ":3:5: a limit is written as"));
  EXPECT_EQ(limit_of("alex"), 5);
  write("id,limits\nalex,7/h\n");
  EXPECT_EQ(
      limitree_limiter_reload(limiter_, str(kLimits), str(origin_), nullptr),
      LIMITREE_OK);
  EXPECT_EQ(limit_of("alex"), 7);

  // Putting one name reads the files that it refers to.
  write("id,limits\nalex,8/h\n");
  const char* const below =
      "{overrides: users.csv, children: {'*': {limits: 3/h}}}";
  EXPECT_EQ(limitree_limiter_put(limiter_, str("user"), str(below),
                                 str(origin_), LIMITREE_REPLACE_ANY, nullptr),
            LIMITREE_OK);
  EXPECT_EQ(limit_of("alex"), 8);
}

TEST(Boulder, ComesToALimitsYaml) {
  limitree_text* yaml = nullptr;
  limitree_error* error = nullptr;
  ASSERT_EQ(limitree_limits_from_boulder(
                str("NewOrdersPerAccount: {burst: 3, count: 3, period: 1h}"),
                str("d"),
                str("- NewOrdersPerAccount:\n    {burst: 5, count: 5, period: "
                    "1h, ids: [7]}"),
                str("o"), &yaml, &error),
            LIMITREE_OK);
  limitree_config* config = limitree_config_new();
  EXPECT_EQ(limitree_config_set_limits(config, limitree_text_str(yaml),
                                       str("limits"), nullptr),
            LIMITREE_OK);
  limitree_config_free(config);
  EXPECT_EQ(limitree_text_warning_count(yaml), 0u);
  EXPECT_EQ(limitree_text_warning_at(yaml, 0), nullptr);
  EXPECT_EQ(limitree_text_warning_count(nullptr), 0u);
  limitree_text_free(yaml);

  ASSERT_EQ(limitree_limits_from_boulder(
                str("NewOrdersPerAccount: {burst: 3, count: 3, period: 1h}"),
                str("d"),
                str("- NewOrdersPerAccount:\n    {burst: 3, count: 3, period: "
                    "60m, ids: [7, 8]}"),
                str("o"), &yaml, &error),
            LIMITREE_OK);
  ASSERT_EQ(limitree_text_warning_count(yaml), 2u);
  EXPECT_STREQ(limitree_text_warning_at(yaml, 1),
               "o:2:48: the override of NewOrdersPerAccount for \"8\" says "
               "what its default says");
  limitree_text_free(yaml);

  yaml = nullptr;
  EXPECT_EQ(limitree_limits_from_boulder(str("{}"), str("d"), str("- 5"),
                                         str("o"), &yaml, &error),
            LIMITREE_INVALID_CONFIG);
  EXPECT_EQ(take(error),
            "o:1:3: an override must be a mapping of a name, is \"5\"");
  EXPECT_EQ(yaml, nullptr);
}

TEST(Boulder, RefusesNull) {
  limitree_text* yaml = nullptr;
  const limitree_str null = {nullptr, 1};
  const limitree_str text = str("{}");
  const auto refused = [](limitree_str a, limitree_str b, limitree_str c,
                          limitree_str d, limitree_text** out) {
    limitree_error* error = nullptr;
    EXPECT_EQ(limitree_limits_from_boulder(a, b, c, d, out, &error),
              LIMITREE_INVALID_ARGUMENT);
    return take(error);
  };
  EXPECT_EQ(refused(text, text, text, text, nullptr), "yaml must not be null");
  EXPECT_EQ(refused(null, text, text, text, &yaml),
            "defaults.data must not be null");
  EXPECT_EQ(refused(text, null, text, text, &yaml),
            "defaults_origin.data must not be null");
  EXPECT_EQ(refused(text, text, null, text, &yaml),
            "overrides.data must not be null");
  EXPECT_EQ(refused(text, text, text, null, &yaml),
            "overrides_origin.data must not be null");
}

}  // namespace
}  // namespace files_test
