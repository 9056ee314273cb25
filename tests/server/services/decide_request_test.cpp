#include <gtest/gtest.h>

#include <protozero/exception.hpp>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

#include "services/requests.hpp"

namespace limitree::server {
namespace {

std::vector<std::string> segments_of(const limitree_path& path) {
  std::vector<std::string> segments;
  for (std::size_t i = 0; i < path.size; ++i) {
    segments.emplace_back(path.segments[i].data, path.segments[i].size);
  }
  return segments;
}

using Words = std::vector<std::string>;

TEST(DecideRequest, EmptyMeansNothing) {
  DecideRequest request;
  request.read("");
  EXPECT_TRUE(request.paths().empty());
  EXPECT_FALSE(request.omits_levels());
}

TEST(DecideRequest, ReadsAllFields) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  {
    protozero::pbf_writer path(to, 1);
    path.add_string(1, "user");
    path.add_string(1, "alex");
    path.add_string(1, "");
  }
  {
    protozero::pbf_writer path(to, 1);
    path.add_int64(2, 7);
    path.add_enum(3, LIMITREE_PART_CHECK);
    path.add_string(1, "ip");
  }
  to.add_int64(2, 3);
  to.add_bool(3, true);
  DecideRequest request;
  request.read(bytes);
  ASSERT_EQ(request.paths().size(), 2u);
  EXPECT_EQ(segments_of(request.paths()[0]), (Words{"user", "alex", ""}));
  EXPECT_EQ(request.paths()[0].cost, 3);
  EXPECT_EQ(segments_of(request.paths()[1]), (Words{"ip"}));
  EXPECT_EQ(request.paths()[1].cost, 7);
  EXPECT_EQ(request.paths()[0].part, LIMITREE_PART_CHARGE);
  EXPECT_EQ(request.paths()[1].part, LIMITREE_PART_CHECK);
  EXPECT_TRUE(request.omits_levels());
  EXPECT_EQ(request.segment_count(), 4u);
}

TEST(DecideRequest, NothingIsLeftOfTheOneBefore) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_message(1, "\x0a\x01x", 3);
  to.add_int64(2, 9);
  to.add_bool(3, true);
  DecideRequest request;
  request.read(bytes);
  request.read(std::string_view("\x0a\x03\x0a\x01y", 5));
  ASSERT_EQ(request.paths().size(), 1u);
  EXPECT_EQ(segments_of(request.paths()[0]), (Words{"y"}));
  EXPECT_EQ(request.paths()[0].cost, 1);
  EXPECT_FALSE(request.omits_levels());
}

TEST(DecideRequest, SkipsFieldsThatItDoesNotKnow) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_string(1000, "new");
  to.add_fixed64(2, 1);  // of another type
  {
    protozero::pbf_writer path(to, 1);
    path.add_fixed32(1, 1);
    path.add_string(99, "new");
    path.add_string(1, "a");
  }
  DecideRequest request;
  request.read(bytes);
  ASSERT_EQ(request.paths().size(), 1u);
  EXPECT_EQ(segments_of(request.paths()[0]), (Words{"a"}));
  EXPECT_EQ(request.paths()[0].cost, 1);
}

std::string costs_of(const DecideRequest& request) {
  std::string text;
  for (const limitree_cost& cost : request.costs()) {
    text.append(cost.unit.data, cost.unit.size);
    text += ' ' + std::to_string(cost.units) + ';';
  }
  return text;
}

void add_cost(std::string_view unit, std::int64_t units,
              protozero::pbf_writer* to) {
  protozero::pbf_writer entry(*to, 4);
  entry.add_string(1, unit.data(), unit.size());
  entry.add_int64(2, units);
}

TEST(DecideRequest, ReadsCostsInOtherUnits) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  add_cost("tokens", 812, &to);
  add_cost("cents", -3, &to);
  add_cost("tokens", 1, &to);  // the core refuses it
  to.add_message(4, "", 0);    // of an entry, 0 and "" may be left out
  DecideRequest request;
  request.read(bytes);
  EXPECT_EQ(costs_of(request), "tokens 812;cents -3;tokens 1; 0;");
  EXPECT_FALSE(request.has_too_many_costs());
  request.read("");
  EXPECT_EQ(costs_of(request), "");
}

TEST(DecideRequest, ReadsNoMoreCostsThanARequestMayHave) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  for (std::size_t i = 0; i < kMaxCosts; ++i) {
    add_cost("u" + std::to_string(i), 1, &to);
  }
  DecideRequest request;
  request.read(bytes);
  EXPECT_EQ(request.costs().size(), kMaxCosts);
  EXPECT_FALSE(request.has_too_many_costs());
  add_cost("more", 1, &to);
  to.add_message(4, "\x0a\x05x", 3);  // malformed, and not read
  request.read(bytes);
  EXPECT_EQ(request.costs().size(), kMaxCosts);
  EXPECT_TRUE(request.has_too_many_costs());
  request.read("");
  EXPECT_FALSE(request.has_too_many_costs());
}

TEST(DecideRequest, ACostBelowZeroStays) {
  for (const std::int64_t cost : {std::int64_t{-1}, INT64_MIN}) {
    std::string bytes;
    protozero::pbf_writer to(bytes);
    {
      protozero::pbf_writer path(to, 1);
      path.add_string(1, "a");
      path.add_int64(2, cost);
    }
    DecideRequest request;
    request.read(bytes);
    EXPECT_LT(request.paths()[0].cost, 0);
  }
}

TEST(DecideRequest, MalformedBytesThrow) {
  DecideRequest request;
  for (const std::string_view bytes :
       {std::string_view("\x0a\x05x", 3), std::string_view("\x0a", 1),
        std::string_view("\x00\x01", 2), std::string_view("\x0b", 1),
        std::string_view("\x18", 1),
        std::string_view("\x10\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01",
                         12)}) {
    // In memory that ends with them.
    const std::vector<char> exact(bytes.begin(), bytes.end());
    const std::string_view text(exact.data(), exact.size());
    EXPECT_THROW(request.read(text), protozero::exception);
    EXPECT_THROW(request.read_reset(text), protozero::exception);
  }
}

TEST(DecideRequest, ReadsResets) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_string(1, "user");
  to.add_bool(2, true);
  to.add_string(1, "alex");
  to.add_string(9, "new");
  DecideRequest request;
  request.read_reset(bytes);
  ASSERT_EQ(request.paths().size(), 1u);
  EXPECT_EQ(segments_of(request.paths()[0]), (Words{"user", "alex"}));
  EXPECT_TRUE(request.leaf_only());
  request.read_reset("");
  ASSERT_EQ(request.paths().size(), 1u);
  EXPECT_EQ(request.paths()[0].size, 0u);
  EXPECT_FALSE(request.leaf_only());
}

TEST(DecideRequest, ReadsBlocks) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  to.add_string(1, "user");
  to.add_int64(2, 7);
  DecideRequest request;
  request.read_reset(bytes, LimiterOperation::kBlock);
  ASSERT_EQ(request.paths().size(), 1u);
  EXPECT_EQ(segments_of(request.paths()[0]), (Words{"user"}));
  EXPECT_EQ(request.hold_ns(), 7);
}

}  // namespace
}  // namespace limitree::server
