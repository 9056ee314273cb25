#include <gtest/gtest.h>

#include "limitree.hpp"
#include "web/answers.hpp"

namespace limitree::server {
namespace {

TEST(DecisionJson, HasTheNumbersOfTheDecision) {
  limitree_decision decision{};
  decision.limited = 1;
  decision.limit = 3;
  decision.retry_after_ns = LIMITREE_NEVER;
  decision.reset_after_ns = 20;
  decision.level = 1;
  decision.level_count = 2;
  decision.source = LIMITREE_SOURCE_DENY_CACHE;
  std::string out;
  append_decision(decision, {}, false, &out);
  EXPECT_EQ(out,
            "{\"limited\":true,\"limit\":3,\"remaining\":0,"
            "\"retry_after_ns\":9223372036854775807,\"reset_after_ns\":20,"
            "\"next_after_ns\":0,\"binding_reset_after_ns\":0,\"level\":1,"
            "\"level_count\":2,\"source\":\"deny_cache\"}");
}

TEST(DecisionJson, LeavesOutWhatIsNotKnown) {
  limitree_decision decision{};
  decision.limit = decision.remaining = decision.retry_after_ns = -1;
  decision.level = -1;
  decision.flags = LIMITREE_UNLIMITED | LIMITREE_SHADOWED | LIMITREE_SOFT |
                   LIMITREE_DEGRADED;
  decision.source = LIMITREE_SOURCE_ALLOW;
  std::string out;
  append_decision(decision, {}, true, &out);
  EXPECT_EQ(out,
            "{\"limited\":false,\"reset_after_ns\":0,\"next_after_ns\":0,"
            "\"binding_reset_after_ns\":0,\"level_count\":0,"
            "\"source\":\"allow\",\"unlimited\":true,\"shadowed\":true,"
            "\"soft\":true,\"degraded\":true,\"levels\":[]}");
}

TEST(DecisionJson, HasTheLevels) {
  limitree_level level{};
  level.policy = {"user:\"*", 7};
  level.limited = level.soft = 1;
  level.limit = 5;
  level.retry_after_ns = 7;
  level.cost = 6;
  level.unit = {"tokens", 6};
  level.mode = LIMITREE_SHADOW;
  limitree_decision decision{};
  decision.source = LIMITREE_SOURCE_LOCAL;
  std::string out;
  append_decision(decision, {&level, 1}, true, &out);
  EXPECT_NE(
      out.find("\"levels\":[{\"policy\":\"user:\\\"*\",\"limited\":true,"
               "\"limit\":5,\"remaining\":0,\"retry_after_ns\":7,"
               "\"reset_after_ns\":0,\"next_after_ns\":0,"
               "\"grows_after_ns\":0,\"window_ns\":0,\"cost\":6,"
               "\"unit\":\"tokens\",\"path\":0,\"charged\":false,\"soft\":true,"
               "\"mode\":\"shadow\"}]}"),
      out.npos)
      << out;
}

TEST(DecisionJson, NamesModesAndSources) {
  const auto text_of = [](std::int32_t mode, std::int32_t source) {
    limitree_level level{};
    level.mode = mode;
    limitree_decision decision{};
    decision.source = source;
    std::string out;
    append_decision(decision, {&level, 1}, true, &out);
    const std::size_t from = out.find("source\":\"") + 9;
    const std::size_t at = out.find("mode\":\"") + 7;
    return out.substr(from, out.find('"', from) - from) + ' ' +
           out.substr(at, out.find('"', at) - at);
  };
  EXPECT_EQ(text_of(LIMITREE_ENFORCE, LIMITREE_SOURCE_STORE), "store enforce");
  EXPECT_EQ(text_of(LIMITREE_CHECK, LIMITREE_SOURCE_DENY), "deny check");
  EXPECT_EQ(text_of(99, 99), "unknown unknown");
}

TEST(DecisionJson, ErrorsHaveStatuses) {
  EXPECT_EQ(http_status_of(LIMITREE_INVALID_ARGUMENT), 400);
  EXPECT_EQ(http_status_of(LIMITREE_UNKNOWN_ROOT), 404);
  EXPECT_EQ(http_status_of(LIMITREE_STORE_UNAVAILABLE), 503);
  EXPECT_EQ(http_status_of(LIMITREE_CANCELLED), 503);
  EXPECT_EQ(http_status_of(LIMITREE_OUT_OF_MEMORY), 503);
  EXPECT_EQ(http_status_of(LIMITREE_STORE_TIMEOUT), 504);
  EXPECT_EQ(http_status_of(LIMITREE_STORE_PROTOCOL), 500);
  EXPECT_EQ(http_status_of(LIMITREE_INTERNAL), 500);
  std::string out;
  append_problem(404, "no \"x\"", &out);
  EXPECT_EQ(out,
            "{\"title\":\"Not Found\",\"status\":404,"
            "\"detail\":\"no \\\"x\\\"\"}");
}

}  // namespace
}  // namespace limitree::server
