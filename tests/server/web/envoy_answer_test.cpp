#include <gtest/gtest.h>

#include <vector>

#include "web/answers.hpp"

namespace limitree::server {
namespace {

constexpr std::int64_t kOneSecond = 1'000'000'000;

limitree_descriptor_status denied() {
  limitree_descriptor_status status{};
  status.code = LIMITREE_CODE_OVER_LIMIT;
  status.match = LIMITREE_MATCH_LIMIT;
  status.requests_per_unit = 1;
  status.unit = LIMITREE_UNIT_MINUTE;
  status.duration_until_reset_ns = 34 * kOneSecond;
  return status;
}

limitree_descriptor_status unlimited() {
  limitree_descriptor_status status{};
  status.code = LIMITREE_CODE_OK;
  status.match = LIMITREE_MATCH_UNLIMITED;
  status.limit_remaining = 4294967295;
  return status;
}

std::string text_of(const limitree_envoy_response& response,
                    const std::vector<limitree_descriptor_status>& statuses,
                    const AnswerSettings& settings = {}) {
  std::string out;
  append_envoy_answer(response, statuses, settings, &out);
  return out;
}

TEST(EnvoyAnswer, LeavesOutWhatIsZero) {
  limitree_envoy_response response{};
  response.overall_code = LIMITREE_CODE_OVER_LIMIT;
  EXPECT_EQ(
      text_of(response, {denied(), unlimited()}),
      "{\"overallCode\":\"OVER_LIMIT\",\"statuses\":[{\"code\":\"OVER_LIMIT\","
      "\"currentLimit\":{\"requestsPerUnit\":1,\"unit\":\"MINUTE\"},"
      "\"durationUntilReset\":\"34s\"},"
      "{\"code\":\"OK\",\"limitRemaining\":4294967295}]}");
}

TEST(EnvoyAnswer, HasTheMultiplierOfItsUnitUnlessThatIsOne) {
  limitree_envoy_response response{};
  response.overall_code = LIMITREE_CODE_OVER_LIMIT;
  limitree_descriptor_status status = denied();
  status.unit_multiplier = 10;
  EXPECT_EQ(
      text_of(response, {status}),
      "{\"overallCode\":\"OVER_LIMIT\",\"statuses\":[{\"code\":\"OVER_LIMIT\","
      "\"currentLimit\":{\"requestsPerUnit\":1,\"unit\":\"MINUTE\","
      "\"unitMultiplier\":10},\"durationUntilReset\":\"34s\"}]}");
}

TEST(EnvoyAnswer, HasWhatIsNotZero) {
  limitree_descriptor_status status{};
  status.code = LIMITREE_CODE_OK;
  status.match = LIMITREE_MATCH_LIMIT;
  status.name = {"a\"b", 3};
  status.limit_remaining = INT64_MAX;  // more than the message can say
  limitree_envoy_response response{};
  response.overall_code = LIMITREE_CODE_OK;
  EXPECT_EQ(text_of(response, {status}),
            "{\"overallCode\":\"OK\",\"statuses\":[{\"code\":\"OK\","
            "\"currentLimit\":{\"name\":\"a\\\"b\"},"
            "\"limitRemaining\":4294967295,\"durationUntilReset\":\"0s\"}]}");
}

TEST(EnvoyAnswer, HasHeadersOfOneStatus) {
  limitree_envoy_response response{};
  response.overall_code = LIMITREE_CODE_OVER_LIMIT;
  response.header_status = 1;
  AnswerSettings settings;
  EXPECT_EQ(text_of(response, {unlimited(), denied()}).find("Header"),
            std::string::npos);
  settings.headers = true;
  settings.limit_header = "X-Limit";
  EXPECT_NE(text_of(response, {unlimited(), denied()}, settings)
                .find("\"responseHeadersToAdd\":["
                      "{\"key\":\"X-Limit\",\"value\":\"1\"},"
                      "{\"key\":\"RateLimit-Remaining\",\"value\":\"0\"},"
                      "{\"key\":\"RateLimit-Reset\",\"value\":\"34\"}]}"),
            std::string::npos);
  response.header_status = -1;
  EXPECT_EQ(text_of(response, {unlimited()}, settings).find("Header"),
            std::string::npos);
}

}  // namespace
}  // namespace limitree::server
