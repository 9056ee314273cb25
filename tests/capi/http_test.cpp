// What limitree.h and limitree.hpp write about a decision.

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <utility>
#include <vector>

#include "limitree.h"
#include "limitree.hpp"

namespace limitree::http_test {
namespace {

using Fields = std::vector<std::pair<std::string, std::string>>;

constexpr char kYaml[] = R"(
schema:
  user:
    children:
      "*":
        limits: [15, 30, 60]
        children:
          trade: {limits: [5, 10, 15]}
  key:
    limits:
      - {count: 3, period: 1m, name: rpm}
      - {count: 100, period: 1m, name: tpm, unit: tokens}
  free: {}
)";

// The decision about a request, and its levels.
class HttpTest : public testing::Test {
 protected:
  HttpTest()
      : limiter_(Config()
                     .set_limits(kYaml, "limits.yaml")
                     .set_clock([](void*) { return std::int64_t{1} << 60; },
                                nullptr)) {}

  void path_cost(std::vector<std::string> segments, std::int64_t cost,
                 std::span<const limitree_cost> costs = {}) {
    const auto path = to_path(segments);
    const std::array paths = {
        limitree_path{path.data(), path.size(), cost, LIMITREE_PART_CHARGE}};
    room_.resize(8);
    decision_ = limiter_.decide(LIMITREE_AUTHORIZE, paths, room_, costs);
    room_.resize(static_cast<std::size_t>(decision_.level_count));
  }

  KnownLevels levels() const { return std::span(room_); }

  Fields fields(std::string_view style, KnownLevels known,
                std::int64_t now_ns = 0) const {
    Fields found;
    const HttpText text = http_headers(style, decision_, known, now_ns);
    for_each_field(text.view(),
                   [&](std::string_view name, std::string_view value) {
                     found.emplace_back(name, value);
                   });
    return found;
  }

  Limiter limiter_;
  Decision decision_;
  std::vector<limitree_level> room_;
};

std::string refusal_of(const auto& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), LIMITREE_INVALID_ARGUMENT);
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return "";
}

TEST_F(HttpTest, Styles) {
  EXPECT_STREQ(limitree_http_style_at(0), "ietf");
  EXPECT_EQ(limitree_http_style_needs_levels(0), 1);
  path_cost({"user", "a", "trade"}, 1);
  std::size_t count = 0;
  for (; limitree_http_style_at(count) != nullptr; ++count) {
    const std::string style = limitree_http_style_at(count);
    EXPECT_EQ(fields(style, levels()).empty(), style == "none");
    if (limitree_http_style_needs_levels(count) == 0) {
      EXPECT_NO_THROW(fields(style, std::nullopt));
    } else {
      EXPECT_EQ(refusal_of([&] { fields(style, std::nullopt); }),
                "headers of the style " + style +
                    " name every limit, but the levels of the decision are "
                    "not given");
    }
  }
  EXPECT_EQ(limitree_http_style_needs_levels(count), 0);
  EXPECT_EQ(limitree_http_style_at(SIZE_MAX), nullptr);
  EXPECT_EQ(limitree_http_style_needs_levels(SIZE_MAX), 0);
}

TEST_F(HttpTest, HeadersOfADecision) {
  path_cost({"user", "a", "trade"}, 6);
  path_cost({"user", "a", "trade"}, 1);
  EXPECT_EQ(
      fields("ietf", levels()),
      (Fields{{"RateLimit-Policy",
               "\"user:*\";q=16;w=32, \"user:*/trade\";q=6;w=9"},
              {"RateLimit", "\"user:*\";r=10;t=2, \"user:*/trade\";r=0;t=2"},
              {"Retry-After", "2"}}));
  EXPECT_EQ(fields("legacy", std::nullopt, 1'000'000'000'000),
            (Fields{{"X-RateLimit-Limit", "6"},
                    {"X-RateLimit-Remaining", "0"},
                    {"X-RateLimit-Reset", "1009"},
                    {"Retry-After", "2"}}));
}

TEST_F(HttpTest, APolicyNamesItsUnit) {
  const std::array costs = {limitree_cost{to_str("tokens"), 60}};
  path_cost({"key"}, 1, costs);
  EXPECT_EQ(
      fields("ietf", levels()),
      (Fields{{"RateLimit-Policy",
               "\"key#rpm\";q=3;w=60, "
               "\"key#tpm\";q=100;qu=\"tokens\";w=60"},
              {"RateLimit", "\"key#rpm\";r=2;t=20, \"key#tpm\";r=40;t=1"}}));
  // A program may have made the levels itself.
  room_[1].unit = {};
  EXPECT_EQ(fields("ietf", levels())[0].second,
            "\"key#rpm\";q=3;w=60, \"key#tpm\";q=100;w=60");
  room_[1].unit = {nullptr, 1};
  EXPECT_EQ(refusal_of([&] { fields("ietf", levels()); }),
            "unit.data must not be null");
}

TEST_F(HttpTest, WhereThereIsNoLimit) {
  path_cost({"free"}, 1);
  EXPECT_EQ(fields("ietf", levels()), Fields());
  EXPECT_EQ(fields("ietf", std::nullopt), Fields());
  EXPECT_EQ(fields("legacy", std::nullopt), Fields());
}

TEST_F(HttpTest, Problem) {
  path_cost({"user", "a", "trade"}, 7);
  EXPECT_EQ(http_problem(503, decision_, levels()).view(),
            "{\"type\":\"https://iana.org/assignments/http-problem-types"
            "#quota-exceeded\",\"title\":\"Too Many Requests\",\"status\":503,"
            "\"detail\":\"The request is larger than any limit on it allows.\","
            "\"violated-policies\":[\"user:*/trade\"]}");
  EXPECT_EQ(http_problem(429, decision_, std::nullopt).view().find("violated"),
            std::string_view::npos);
}

TEST_F(HttpTest, Refusals) {
  path_cost({"user", "a", "trade"}, 1);
  EXPECT_EQ(refusal_of([&] { fields("draft-8", levels()); }),
            "unknown style of headers \"draft-8\", did you mean \"draft-7\"?");
  std::string known;
  for (std::size_t i = 0; limitree_http_style_at(i) != nullptr; ++i) {
    known += (i == 0 ? "" : ", ") + std::string(limitree_http_style_at(i));
  }
  EXPECT_EQ(refusal_of([&] { fields("", levels()); }),
            "unknown style of headers \"\", known are: " + known);
  EXPECT_EQ(refusal_of([&] { http_problem(429, decision_, levels()); }),
            "the request was allowed: there is no problem");
  path_cost({"user", "a", "trade"}, 7);
  for (const int status : {399, 600}) {
    EXPECT_EQ(refusal_of([&] { http_problem(status, decision_, levels()); }),
              "status must be 400 to 599, is " + std::to_string(status));
  }
  EXPECT_NO_THROW(http_problem(400, decision_, levels()));
  EXPECT_NO_THROW(http_problem(599, decision_, levels()));
}

// More levels and more text than fit without an allocation.
TEST_F(HttpTest, ManyLevels) {
  const std::string name(100, 'n');
  path_cost({"user", "a", "trade"}, 1);
  limitree_level level = room_[1];
  level.policy = to_str(name);
  room_.assign(40, level);
  const Fields found = fields("ietf", levels());
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].second.size(), 40 * (102 + 8) + 39 * 2);
}

TEST_F(HttpTest, TheTextThatFits) {
  path_cost({"user", "a", "trade"}, 1);
  const limitree_str style = to_str("draft-6");
  std::size_t size = 0;
  ASSERT_EQ(limitree_http_headers(style, &decision_, nullptr, 0, 0, nullptr, 0,
                                  &size, nullptr),
            LIMITREE_OK);
  std::string text(size, '#');
  for (const std::size_t capacity : {size - 1, size}) {
    std::size_t again = 0;
    ASSERT_EQ(limitree_http_headers(style, &decision_, nullptr, 0, 0,
                                    text.data(), capacity, &again, nullptr),
              LIMITREE_OK);
    EXPECT_EQ(again, size);
    EXPECT_EQ(text.back(), capacity == size ? '\n' : '#');
  }
}

TEST_F(HttpTest, Null) {
  path_cost({"user", "a", "trade"}, 7);
  std::array<char, 8> text;
  std::size_t size = 0;
  const limitree_str style = to_str("none");
  const auto headers = [&](limitree_str name, const limitree_decision* decision,
                           char* to, std::size_t* out) {
    return limitree_http_headers(name, decision, nullptr, 0, 0, to, text.size(),
                                 out, nullptr);
  };
  EXPECT_EQ(headers(style, &decision_, text.data(), &size), LIMITREE_OK);
  EXPECT_EQ(headers({nullptr, 4}, &decision_, text.data(), &size),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(headers(style, nullptr, text.data(), &size),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(headers(style, &decision_, nullptr, &size),
            LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(headers(style, &decision_, text.data(), nullptr),
            LIMITREE_INVALID_ARGUMENT);

  const auto problem = [&](const limitree_decision* decision, char* to,
                           std::size_t* out) {
    return limitree_http_problem(429, decision, nullptr, 0, to, text.size(),
                                 out, nullptr);
  };
  EXPECT_EQ(problem(&decision_, text.data(), &size), LIMITREE_OK);
  EXPECT_EQ(problem(nullptr, text.data(), &size), LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(problem(&decision_, nullptr, &size), LIMITREE_INVALID_ARGUMENT);
  EXPECT_EQ(problem(&decision_, text.data(), nullptr),
            LIMITREE_INVALID_ARGUMENT);

  room_[0].policy = {nullptr, 1};
  EXPECT_EQ(refusal_of([&] { http_problem(429, decision_, levels()); }),
            "policy.data must not be null");
}

}  // namespace
}  // namespace limitree::http_test
