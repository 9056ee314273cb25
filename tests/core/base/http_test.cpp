#include "base/http.hpp"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace limitree {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

const HttpStyle& style(std::string_view name) {
  for (const HttpStyle& one : http_styles()) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no style " << name;
  return http_styles()[0];
}

template <typename Append>
std::string text_of(Append&& append) {
  std::array<char, 4096> room;
  HttpText text(room);
  append(&text);
  return {room.data(), text.size()};
}

std::string headers(std::string_view name, const HttpAnswer& answer) {
  return text_of(
      [&](HttpText* text) { append_http_headers(style(name), answer, text); });
}

std::string problem(const HttpAnswer& answer) {
  return text_of(
      [&](HttpText* text) { append_http_problem(answer, 429, text); });
}

HttpLevel level(std::string_view policy) {
  return {policy,         16,   15, seconds(32), milliseconds(1999),
          Mode::kEnforce, false};
}

// A trade that was denied: the inner of two limits has nothing left.
class Http : public testing::Test {
 protected:
  Http() {
    denied_.limited = true;
    denied_.unlimited = false;
    denied_.limit = 6;
    denied_.remaining = 0;
    denied_.retry_after = milliseconds(1001);
    denied_.binding_reset_after = milliseconds(8500);
    allowed_ = denied_;
    allowed_.limited = false;
    allowed_.retry_after = kNotLimited;
    levels_ = {level("user:*"),
               {"user:*/trade", 6, 0, milliseconds(8001), seconds(2),
                Mode::kCheck, true}};
  }

  HttpAnswer answer(const Decision& decision) const {
    return {decision, std::span(levels_)};
  }
  HttpAnswer answer_of(const Decision& decision, const HttpLevel& level) {
    levels_ = {level};
    return answer(decision);
  }

  Decision denied_;
  Decision allowed_;
  std::vector<HttpLevel> levels_;
};

TEST_F(Http, StylesHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const HttpStyle& one : http_styles()) names.insert(one.name);
  EXPECT_EQ(names.size(), http_styles().size());
}

// Holds for every style, even one that no test below knows.
TEST_F(Http, EveryStyle) {
  std::set<std::string> texts;
  for (const HttpStyle& one : http_styles()) {
    SCOPED_TRACE(one.name);
    const std::string text = headers(one.name, answer(denied_));
    EXPECT_TRUE(texts.insert(text).second) << "another style writes the same";
    if (std::string_view(one.name) == "none") {
      EXPECT_EQ(one.append, nullptr);
      EXPECT_EQ(text, "");
      continue;
    }
    ASSERT_NE(one.append, nullptr) << "a style without a writer";
    EXPECT_TRUE(text.ends_with("\r\nRetry-After: 2\r\n")) << text;
    EXPECT_EQ(headers(one.name, answer(allowed_)) + "Retry-After: 2\r\n", text);
    std::set<std::string> names;
    for (std::size_t at = 0; at < text.size(); at = text.find("\r\n", at) + 2) {
      const std::size_t colon = text.find(": ", at);
      ASSERT_LT(colon, text.find("\r\n", at)) << text;
      EXPECT_TRUE(names.insert(text.substr(at, colon - at)).second) << text;
    }
    // It lists every limit if and only if it needs them.
    EXPECT_EQ(text.find("user:*/trade") != std::string::npos, one.needs_levels);
    if (!one.needs_levels) {
      EXPECT_NE(headers(one.name, {denied_, std::nullopt}), "");
    }
    EXPECT_EQ(headers(one.name, {Decision(), std::span(levels_)}), "");
  }
}

TEST_F(Http, Ietf) {
  EXPECT_EQ(headers("ietf", answer(denied_)),
            "RateLimit-Policy: \"user:*\";q=16;w=32, "
            "\"user:*/trade\";q=6;w=9\r\n"
            "RateLimit: \"user:*\";r=15;t=2, \"user:*/trade\";r=0;t=2\r\n"
            "Retry-After: 2\r\n");
  levels_[0].grows_after = Duration::zero();
  levels_.pop_back();
  EXPECT_EQ(headers("ietf", answer(allowed_)),
            "RateLimit-Policy: \"user:*\";q=16;w=32\r\n"
            "RateLimit: \"user:*\";r=15\r\n");
}

TEST_F(Http, IetfNamesOtherUnitsThanRequests) {
  levels_[0].unit = kRequestUnit;
  levels_[1].unit = "tokens";
  EXPECT_TRUE(headers("ietf", answer(allowed_))
                  .starts_with("RateLimit-Policy: \"user:*\";q=16;w=32, "
                               "\"user:*/trade\";q=6;qu=\"tokens\";w=9\r\n"
                               "RateLimit: \"user:*\";r=15;t=2, "));
  EXPECT_EQ(headers("draft-7", answer(allowed_)).find("tokens"),
            std::string::npos);
}

TEST_F(Http, IetfSaysWhatIsLimitedAtOnce) {
  levels_[0].window = levels_[1].window = Duration::zero();
  levels_[1].unit = "jobs";
  EXPECT_TRUE(headers("ietf", answer(allowed_))
                  .starts_with("RateLimit-Policy: "
                               "\"user:*\";q=16;qu=\"concurrent-requests\", "
                               "\"user:*/trade\";q=6;qu=\"jobs\"\r\n"));
  EXPECT_TRUE(headers("draft-7", answer(allowed_))
                  .starts_with("RateLimit-Policy: 16, 6\r\n"));
}

TEST_F(Http, Draft7) {
  const std::string state = "RateLimit: limit=6, remaining=0, reset=9\r\n";
  EXPECT_EQ(headers("draft-7", answer(allowed_)),
            "RateLimit-Policy: 16;w=32, 6;w=9\r\n" + state);
  EXPECT_EQ(headers("draft-7", {allowed_, std::nullopt}), state);
}

TEST_F(Http, Draft6) {
  const std::string state =
      "RateLimit-Limit: 6\r\nRateLimit-Remaining: 0\r\nRateLimit-Reset: 9\r\n";
  EXPECT_EQ(headers("draft-6", answer(allowed_)),
            "RateLimit-Policy: 16;w=32, 6;w=9\r\n" + state);
  EXPECT_EQ(headers("draft-6", {allowed_, std::nullopt}), state);
}

TEST_F(Http, Legacy) {
  const std::string first =
      "X-RateLimit-Limit: 6\r\nX-RateLimit-Remaining: 0\r\n"
      "X-RateLimit-Reset: ";
  EXPECT_EQ(headers("legacy", answer(allowed_)), first + "9\r\n");
  HttpAnswer dated = answer(allowed_);
  dated.since_1970 = milliseconds(1000500);
  EXPECT_EQ(headers("legacy", dated), first + "1009\r\n");
  dated.since_1970 += Duration(1);
  EXPECT_EQ(headers("legacy", dated), first + "1010\r\n");
  // An impossible clock: no sum overflows.
  dated.since_1970 = Duration::max();
  EXPECT_EQ(headers("legacy", dated), first + "9223372037\r\n");
}

TEST_F(Http, DatesAreOfTheLegacyStyleOnly) {
  HttpAnswer dated = answer(denied_);
  dated.since_1970 = seconds(1000);
  for (const HttpStyle& one : http_styles()) {
    const bool is_dated =
        headers(one.name, dated) != headers(one.name, answer(denied_));
    EXPECT_EQ(is_dated, std::string_view(one.name) == "legacy") << one.name;
  }
}

TEST_F(Http, WhatDoesNotCountIsNotTold) {
  levels_[1].mode = Mode::kShadow;
  EXPECT_EQ(headers("ietf", answer(allowed_)),
            "RateLimit-Policy: \"user:*\";q=16;w=32\r\n"
            "RateLimit: \"user:*\";r=15;t=2\r\n");
  EXPECT_TRUE(headers("draft-6", answer(allowed_))
                  .starts_with("RateLimit-Policy: 16;w=32\r\n"));
  EXPECT_TRUE(problem(answer(denied_)).ends_with("\"violated-policies\":[]}"));
  levels_.erase(levels_.begin());
  EXPECT_EQ(headers("ietf", answer(allowed_)), "");
  EXPECT_TRUE(headers("draft-7", answer(allowed_)).starts_with("RateLimit: "));
  levels_[0].mode = Mode::kIdle;
  EXPECT_EQ(headers("ietf", answer(allowed_)), "");
}

TEST_F(Http, RetryAfter) {
  levels_.clear();
  const auto wait = [this](Duration time) {
    denied_.retry_after = time;
    return headers("ietf", answer(denied_));
  };
  EXPECT_EQ(wait(Duration(1)), "Retry-After: 1\r\n");
  EXPECT_EQ(wait(Duration::zero()), "Retry-After: 1\r\n");
  EXPECT_EQ(wait(seconds(1)), "Retry-After: 1\r\n");
  EXPECT_EQ(wait(seconds(1) + Duration(1)), "Retry-After: 2\r\n");
  EXPECT_EQ(wait(kNever), "");
  EXPECT_EQ(wait(kNotLimited), "");
}

TEST_F(Http, PoliciesArePrintableAscii) {
  const auto quoted = [this](std::string_view policy) {
    const std::string text =
        headers("ietf", answer_of(allowed_, level(policy)));
    const std::size_t begin = text.find(": ") + 2;
    return text.substr(begin, text.find(";q=") - begin);
  };
  EXPECT_EQ(quoted("a b~!"), R"("a b~!")");
  EXPECT_EQ(quoted(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(quoted("\"\""), R"("\"\"")");
  EXPECT_EQ(quoted("caf\xc3\xa9"), R"("caf%C3%A9")");
  EXPECT_EQ(quoted("\r\n\x7f\xff"), R"("%0D%0A%7F%FF")");
  EXPECT_EQ(quoted("a%25b"), R"("a%25b")");
  EXPECT_EQ(quoted(""), R"("")");
}

TEST_F(Http, Problem) {
  const std::string head =
      "{\"type\":\"https://iana.org/assignments/http-problem-types"
      "#quota-exceeded\",\"title\":\"Too Many Requests\",\"status\":429,"
      "\"detail\":\"";
  EXPECT_EQ(problem({denied_, std::nullopt}), head + "Try again in 2 s.\"}");
  EXPECT_EQ(problem(answer(denied_)),
            head +
                "Try again in 2 s.\",\"violated-policies\":"
                "[\"user:*/trade\"]}");
  levels_[0].limited = true;
  denied_.retry_after = kNever;
  EXPECT_EQ(problem(answer(denied_)),
            head +
                "The request is larger than any limit on it allows.\","
                "\"violated-policies\":[\"user:*\",\"user:*/trade\"]}");
}

TEST_F(Http, PoliciesInJson) {
  const auto quoted = [this](std::string_view policy) {
    HttpLevel one = level(policy);
    one.limited = true;
    const std::string text = problem(answer_of(denied_, one));
    const std::size_t begin = text.find('[') + 1;
    return text.substr(begin, text.find(']') - begin);
  };
  EXPECT_EQ(quoted("a/b c"), R"("a/b c")");
  EXPECT_EQ(quoted(R"(a"b\c)"), R"("a\"b\\c")");
  EXPECT_EQ(quoted(std::string_view("\0\n\x1f", 3)), R"("\u0000\u000a\u001f")");
  EXPECT_EQ(quoted("caf\xc3\xa9\xf0\x9f\x8d\x95"),
            "\"caf\xc3\xa9\xf0\x9f\x8d\x95\"");
  EXPECT_EQ(quoted("\xff"
                   "a\xc3"),
            R"("\ufffda\ufffd")");
}

TEST_F(Http, WhatDoesNotFitIsCounted) {
  const std::string whole = headers("ietf", answer(denied_));
  for (std::size_t size = 0; size <= whole.size(); ++size) {
    std::vector<char> room(size + 1, '#');
    HttpText text({room.data(), size});
    append_http_headers(style("ietf"), answer(denied_), &text);
    EXPECT_EQ(text.size(), whole.size());
    EXPECT_EQ(std::string(room.data(), room.size()),
              whole.substr(0, size) + '#');
  }
}

TEST_F(Http, LargeNumbers) {
  HttpLevel one = level("a");
  one.limit = INT64_MAX;
  one.remaining = INT64_MIN;
  one.window = one.grows_after = Duration::max();
  EXPECT_EQ(headers("ietf", answer_of(allowed_, one)),
            "RateLimit-Policy: \"a\";q=9223372036854775807;w=9223372037\r\n"
            "RateLimit: \"a\";r=-9223372036854775808;t=9223372037\r\n");
}

}  // namespace
}  // namespace limitree
