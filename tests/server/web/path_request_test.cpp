#include <gtest/gtest.h>

#include <string>

#include "web/requests.hpp"

namespace limitree::server {
namespace {

// "user/alex x1 p0 | ..." with the cost and the part of each path.
std::string text_of(const PathRequest& request) {
  std::string text;
  for (std::size_t i = 0; i < request.paths().size(); ++i) {
    const limitree_path& path = request.paths()[i];
    if (i > 0) text += " | ";
    for (std::size_t j = 0; j < path.size; ++j) {
      if (j > 0) text += '/';
      text.append(path.segments[j].data, path.segments[j].size);
    }
    text += " x" + std::to_string(path.cost) + " p" + std::to_string(path.part);
  }
  return text;
}

std::string read(std::string_view body) {
  PathRequest request;
  try {
    request.read(body);
    std::string text = text_of(request);
    for (const limitree_cost& cost : request.costs()) {
      text += ' ' + std::to_string(cost.units) + ' ';
      text.append(cost.unit.data, cost.unit.size);
    }
    return text + (request.omits_levels() ? " omits" : "");
  } catch (const JsonError& error) {
    return error.what();
  }
}

std::string read_reset(std::string_view body) {
  PathRequest request;
  try {
    request.read(body, PathRequest::For::kReset);
    return text_of(request) + (request.leaf_only() ? " leaf" : "");
  } catch (const JsonError& error) {
    return error.what();
  }
}

TEST(PathRequest, ReadsPaths) {
  EXPECT_EQ(read(R"({"paths": [["user", "alex", "trade"]]})"),
            "user/alex/trade x1 p0");
  EXPECT_EQ(read(R"({"cost": 3, "paths": [["a"], ["b", "c"]]})"),
            "a x3 p0 | b/c x3 p0");
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": "9223372036854775807"})"),
            "a x9223372036854775807 p0");
  EXPECT_EQ(read(R"({"paths": [[]], "omit_levels": true})"), " x1 p0 omits");
}

TEST(PathRequest, APathMayHaveItsOwnCostAndPart) {
  EXPECT_EQ(read(R"({"paths": [{"segments": ["a"], "cost": 0},
                               {"part": "CHECK", "segments": ["b"]},
                               {"part": "SPEND_IF_FITS", "segments": []},
                               {"part": "CHARGE"}], "cost": 7})"),
            "a x0 p0 | b x7 p2 |  x7 p1 |  x7 p0");
}

TEST(PathRequest, ACostMayNameUnits) {
  EXPECT_EQ(
      read(R"({"paths": [["a"]], "cost": {"tokens": 812, "cents": "3"}})"),
      "a x1 p0 812 tokens 3 cents");
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": {"tokens": 0, "request": 2}})"),
            "a x2 p0 0 tokens");
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": {}})"), "a x1 p0");
  // All paths have the costs in other units, so a path has none of its own.
  EXPECT_EQ(read(R"({"paths": [{"segments": ["a"], "cost": {"request": 3}},
                               {"segments": ["b"], "cost": {}}], "cost": 7})"),
            "a x3 p0 | b x7 p0");
  EXPECT_EQ(read(R"({"paths": [{"segments": ["a"], "cost": {"tokens": 3}}]})"),
            "paths[0].cost.tokens: must be in the cost of the request, for all "
            "paths");
}

TEST(PathRequest, MistakesInUnits) {
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": {"tokens": -1}})"),
            "cost.tokens: must be a whole number from 0 to "
            "9223372036854775807");
  EXPECT_EQ(read(R"({"paths": [{"cost": {"request": 1.5}}]})"),
            "paths[0].cost.request: must be a whole number from 0 to "
            "9223372036854775807");
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": {"tokens": 1, "tokens": 1}})"),
            "cost: has the field tokens twice");
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": [1]})"),
            "cost: must be a whole number from 0 to 9223372036854775807");
}

TEST(PathRequest, ReadsNoMoreUnitsThanARequestMayHave) {
  std::string costs = R"("request": 1)";
  for (std::size_t i = 0; i < kMaxCosts; ++i) {
    costs += ", \"u" + std::to_string(i) + "\": 1";
  }
  const std::string begin = R"({"paths": [["a"]], "cost": {)";
  EXPECT_EQ(read(begin + costs + "}}").substr(0, 12), "a x1 p0 1 u0");
  EXPECT_EQ(read(begin + costs + R"(, "more": 1}})"),
            "cost: has more than 64 units");
  const std::string units = costs.substr(costs.find(',') + 2);
  EXPECT_EQ(read(R"({"paths": [["a"]], "costs": {)" + units +
                 R"(, "more": 1, "request": 1}})"),
            "costs: has more than 64 units");
}

TEST(PathRequest, ReadsTheCostsOfTheProtocolBuffer) {
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": 2, "costs": {"tokens": 5}})"),
            read(R"({"paths": [["a"]], "cost": {"request": 2, "tokens": 5}})"));
  EXPECT_EQ(read(R"({"paths": [["a"]], "costs": 5})"),
            "costs: must be the cost in each unit");
  EXPECT_EQ(read(R"({"paths": [["a"]], "costs": {"request": 5}})"),
            "costs.request: must be given as cost");
}

TEST(PathRequest, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(read("{}"), "the request: has no paths");
  EXPECT_EQ(read(R"({"paths": []})"), "the request: has no paths");
  EXPECT_EQ(read(R"({"paths": [["a"]], "kost": 1})"),
            "kost: there is no such field");
  EXPECT_EQ(read(R"({"paths": [["a"], {"x": 1}]})"),
            "paths[1].x: there is no such field");
  EXPECT_EQ(read(R"({"paths": [["a", 1]]})"), "paths[0][1]: must be a text");
  EXPECT_EQ(read(R"({"paths": ["a"]})"), "paths[0]: must be a list");
  EXPECT_EQ(read(R"({"paths": "a"})"), "paths: must be a list");
  EXPECT_EQ(read(R"({"paths": [{"part": "ALL"}]})"),
            "paths[0].part: must be CHARGE, SPEND_IF_FITS or CHECK");
  EXPECT_EQ(read(R"({"paths": [["a"]], "cost": -1})"),
            "cost: must be a whole number from 0 to 9223372036854775807");
  EXPECT_EQ(read(R"({"paths": [["a"]], "omit_levels": 1})"),
            "omit_levels: must be true or false");
  EXPECT_EQ(read("[]"), "the request: must be an object");
  EXPECT_EQ(read("x"), "no valid JSON at byte 1");
}

TEST(PathRequest, ReadsResets) {
  EXPECT_EQ(read_reset(R"({"paths": [["a"], {"segments": ["b"]}]})"),
            "a x0 p0 | b x0 p0");
  EXPECT_EQ(read_reset(R"({"paths": [["a"]], "leaf_only": true})"),
            "a x0 p0 leaf");
  EXPECT_EQ(read_reset(R"({"paths": [["a"]], "cost": 1})"),
            "cost: there is no such field");
  EXPECT_EQ(read_reset(R"({"paths": [{"segments": ["a"], "cost": 1}]})"),
            "paths[0].cost: there is no such field");
}

TEST(PathRequest, ReadsBlocks) {
  const auto read = [](std::string_view body, PathRequest::For use) {
    PathRequest request;
    try {
      request.read(body, use);
      return text_of(request) + " " + std::to_string(request.hold_ns());
    } catch (const JsonError& error) {
      return std::string(error.what());
    }
  };
  constexpr auto kBlock = PathRequest::For::kBlock;
  EXPECT_EQ(read(R"({"paths": [["a", "b"]], "duration_ns": 7})", kBlock),
            "a/b x0 p0 7");
  EXPECT_EQ(read(R"({"paths": [["a"]]})", kBlock),
            "the request: has no duration_ns");
  EXPECT_EQ(read(R"({"paths": [["a"]], "duration_ns": 7, "cost": 1})", kBlock),
            "cost: there is no such field");
  EXPECT_EQ(read(R"({"paths": [["a"]], "duration_ns": 7})",
                 PathRequest::For::kUnblock),
            "duration_ns: there is no such field");
}

TEST(PathRequest, KeepsNothingOfTheRequestBefore) {
  PathRequest request;
  request.read(R"({"paths": [["a"], ["b"]], "omit_levels": true, "cost": 2})");
  request.read(R"({"paths": [["c"]]})");
  EXPECT_EQ(text_of(request), "c x1 p0");
  EXPECT_FALSE(request.omits_levels());
  EXPECT_EQ(request.segment_count(), 1u);
  request.read(R"({"paths": [["a"]], "cost": {"tokens": 2}})");
  EXPECT_EQ(request.costs().size(), 1u);
  request.read(R"({"paths": [["a"]], "cost": 2})");
  EXPECT_TRUE(request.costs().empty());
}

}  // namespace
}  // namespace limitree::server
