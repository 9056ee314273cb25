#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "services/answers.hpp"

namespace limitree::server {
namespace {

using std::string_literals::operator""s;

limitree_descriptor_status limited(std::string_view name) {
  limitree_descriptor_status status{};
  status.code = LIMITREE_CODE_OVER_LIMIT;
  status.match = LIMITREE_MATCH_LIMIT;
  status.name = {name.data(), name.size()};
  status.requests_per_unit = 300;
  status.unit = LIMITREE_UNIT_HOUR;
  status.limit_remaining = 200;
  status.duration_until_reset_ns = 130'000'000'000;
  return status;
}

std::string written(std::span<const limitree_descriptor_status> statuses) {
  limitree_envoy_response response{};
  response.overall_code = LIMITREE_CODE_OK;
  response.header_status = -1;
  std::string out;
  write_envoy(response, statuses, {}, &out);
  return out;
}

constexpr char kOverall[] = "\x08\x01";

TEST(EnvoyResponse, HasALimitWithItsName) {
  const std::array statuses = {limited("per hour")};
  const std::string limit = "\x08\xac\x02\x10\x03\x1a\x08per hour"s;
  EXPECT_EQ(written(statuses), kOverall + "\x12\x1b\x08\x02\x12\x0f"s + limit +
                                   "\x18\xc8\x01\x22\x03\x08\x82\x01"s);
}

TEST(EnvoyResponse, HasTheMultiplierOfItsUnitUnlessThatIsOne) {
  std::array statuses = {limited("")};
  statuses[0].unit_multiplier = 1;
  const std::string rest = "\x18\xc8\x01\x22\x03\x08\x82\x01"s;
  EXPECT_EQ(written(statuses), kOverall +
                                   "\x12\x11\x08\x02\x12\x05"
                                   "\x08\xac\x02\x10\x03"s +
                                   rest);
  statuses[0].unit_multiplier = 300;
  EXPECT_EQ(written(statuses), kOverall +
                                   "\x12\x16\x08\x02\x12\x0a"
                                   "\x08\xac\x02\x10\x03"
                                   "\x22\x03\x08\xac\x02"s +
                                   rest);
}

TEST(EnvoyResponse, HasANameThatIsLong) {
  const std::string name(200, 'n');
  const std::array statuses = {limited(name)};
  const std::string limit = "\x08\xac\x02\x10\x03\x1a\xc8\x01"s + name;
  EXPECT_EQ(written(statuses), kOverall + "\x12\xdd\x01\x08\x02\x12\xd0\x01"s +
                                   limit + "\x18\xc8\x01\x22\x03\x08\x82\x01"s);
}

TEST(EnvoyResponse, LeavesZerosOut) {
  limitree_descriptor_status denied = limited("");
  denied.limit_remaining = 0;
  limitree_descriptor_status unmatched{};
  unmatched.code = LIMITREE_CODE_OK;
  unmatched.match = LIMITREE_MATCH_NONE;
  limitree_descriptor_status unlimited = unmatched;
  unlimited.match = LIMITREE_MATCH_UNLIMITED;
  unlimited.limit_remaining = UINT32_MAX;
  EXPECT_EQ(written(std::array{denied, unmatched, unlimited}),
            kOverall + "\x12\x0e\x08\x02\x12\x05\x08\xac\x02\x10\x03"s +
                "\x22\x03\x08\x82\x01"s + "\x12\x02\x08\x01"s +
                "\x12\x08\x08\x01\x18\xff\xff\xff\xff\x0f"s);
}

}  // namespace
}  // namespace limitree::server
