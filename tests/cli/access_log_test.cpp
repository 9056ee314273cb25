#include <gtest/gtest.h>

#include <string>

#include "log_values.hpp"

namespace limitree::cli {
namespace {

constexpr const char* kCombined =
    R"(192.0.2.7 - alex [02/Mar/2026:10:05:03 +0100] )"
    R"("GET /search?q=a%20b HTTP/1.1" 200 5120 )"
    R"("https://example.com/" "Mozilla/5.0 [X11; Linux]")";

// What is wrong with `line`, or "".
std::string reason(const std::string& line) {
  LogRequest request;
  const auto log = make_access_log();
  const auto mistake = log->parse(line, &request);
  return mistake ? std::string(mistake->reason) : "";
}

// A field of `line`, which must be valid.
std::string field(const std::string& line, Field name) {
  LogRequest request;
  const auto log = make_access_log();
  const auto mistake = log->parse(line, &request);
  EXPECT_FALSE(mistake) << line;
  return mistake ? "" : std::string(request[name]);
}

std::string with_request(const std::string& text) {
  return "192.0.2.7 - - [02/Mar/2026:10:05:03 +0000] \"" + text +
         "\" 400 0 \"-\" \"-\"";
}

std::string with_time(const std::string& text) {
  return "192.0.2.7 - - [" + text + "] \"GET / HTTP/1.1\" 200 1";
}

TEST(AccessLog, ReadsEveryFieldOfTheCombinedFormat) {
  const std::string line = kCombined;
  EXPECT_EQ(field(line, Field::kRemoteAddr), "192.0.2.7");
  EXPECT_EQ(field(line, Field::kRemoteUser), "alex");
  EXPECT_EQ(field(line, Field::kMethod), "GET");
  EXPECT_EQ(field(line, Field::kPath), "/search");
  EXPECT_EQ(field(line, Field::kQuery), "q=a%20b");
  EXPECT_EQ(field(line, Field::kTarget), "/search?q=a%20b");
  EXPECT_EQ(field(line, Field::kProtocol), "HTTP/1.1");
  EXPECT_EQ(field(line, Field::kStatus), "200");
  EXPECT_EQ(field(line, Field::kBytes), "5120");
  EXPECT_EQ(field(line, Field::kReferer), "https://example.com/");
  EXPECT_EQ(field(line, Field::kUserAgent), "Mozilla/5.0 [X11; Linux]");
}

TEST(AccessLog, ReadsTheCommonFormat) {
  const std::string line =
      "2001:db8::1 - - [02/Mar/2026:10:05:03 +0000] "
      "\"POST /x HTTP/2.0\" 204 -";
  EXPECT_EQ(field(line, Field::kRemoteAddr), "2001:db8::1");
  EXPECT_EQ(field(line, Field::kBytes), "-");
  EXPECT_EQ(field(line, Field::kReferer), "-");
  EXPECT_EQ(field(line, Field::kUserAgent), "-");
}

TEST(AccessLog, IgnoresWhatFollowsTheUserAgent) {
  const std::string line = std::string(kCombined) + " \"10.0.0.1\" 0.003";
  EXPECT_EQ(field(line, Field::kUserAgent), "Mozilla/5.0 [X11; Linux]");
}

TEST(AccessLog, TimeIsUtc) {
  LogRequest request;
  const auto log = make_access_log();
  ASSERT_FALSE(log->parse(kCombined, &request));
  EXPECT_EQ(request.unix_s, 1'772'442'303);  // 2026-03-02 09:05:03 UTC
  EXPECT_EQ(request.utc_offset_s, 3600);

  const std::string early = with_time("01/Jan/1970:00:00:00 -0930");
  ASSERT_FALSE(log->parse(early, &request));
  EXPECT_EQ(request.unix_s, 9 * 3600 + 30 * 60);
  EXPECT_EQ(request.utc_offset_s, -(9 * 3600 + 30 * 60));
}

TEST(AccessLog, ReadsTheTimeOfEachLine) {
  const auto log = make_access_log();
  LogRequest request;
  const std::string first = with_time("29/Feb/2024:23:59:59 +0000");
  const std::string second = with_time("01/Mar/2024:00:00:00 +0000");
  ASSERT_FALSE(log->parse(first, &request));
  EXPECT_EQ(request.unix_s, 1'709'251'199);
  ASSERT_FALSE(log->parse(first, &request));
  EXPECT_EQ(request.unix_s, 1'709'251'199);
  ASSERT_FALSE(log->parse(second, &request));
  EXPECT_EQ(request.unix_s, 1'709'251'200);
}

TEST(AccessLog, RefusesTimesThatDoNotExist) {
  for (const char* const time :
       {"29/Feb/2023:00:00:00 +0000", "31/Apr/2024:00:00:00 +0000",
        "00/Jan/2024:00:00:00 +0000", "01/Foo/2024:00:00:00 +0000",
        "01/anF/2024:00:00:00 +0000", "01/Jan/2024:24:00:00 +0000",
        "01/Jan/2024:00:60:00 +0000", "01/Jan/2024:00:00:61 +0000",
        "01/Jan/2024:00:00:00 +2400", "01/Jan/2024:00:00:00  0000",
        "01-Jan-2024:00:00:00 +0000", "01/Jan/2024 00:00:00 +0000",
        "+1/Jan/2024:00:00:00 +0000"}) {
    EXPECT_EQ(reason(with_time(time)),
              "the time is not like 17/May/2015:10:05:03 +0000")
        << time;
  }
}

TEST(AccessLog, UserNamesMayHoldBlanksAndBrackets) {
  EXPECT_EQ(field("192.0.2.7 - Alex [ops] B [02/Mar/2026:10:05:03 +0000] "
                  "\"GET / HTTP/1.1\" 200 1",
                  Field::kRemoteUser),
            "Alex [ops] B");
}

TEST(AccessLog, QuotesMayBeEscaped) {
  const std::string line = with_request(R"(GET /a\"b\\ HTTP/1.1)");
  EXPECT_EQ(field(line, Field::kPath), R"(/a\"b\\)");
  EXPECT_EQ(reason(with_request(R"(GET / HTTP/1.1\)")),
            "no blank after the request");
}

TEST(AccessLog, TargetsMayHoldBlanks) {
  EXPECT_EQ(field(with_request("GET /a b c HTTP/1.1"), Field::kTarget),
            "/a b c");
}

TEST(AccessLog, RequestWithoutProtocolIsHttp09) {
  const std::string line = with_request("GET /a");
  EXPECT_EQ(field(line, Field::kPath), "/a");
  EXPECT_EQ(field(line, Field::kProtocol), "-");
}

TEST(AccessLog, WhatIsNoRequestWasMadeAllTheSame) {
  for (const char* const text :
       {R"(\x16\x03\x01\x02)", "-", "", "GET", "G@T / HTTP/1.1"}) {
    const std::string line = with_request(text);
    EXPECT_EQ(field(line, Field::kRemoteAddr), "192.0.2.7") << text;
    EXPECT_EQ(field(line, Field::kMethod), "-") << text;
    EXPECT_EQ(field(line, Field::kPath), "-") << text;
    EXPECT_EQ(field(line, Field::kQuery), "-") << text;
    EXPECT_EQ(field(line, Field::kTarget), "-") << text;
  }
}

TEST(AccessLog, SaysWhatIsWrong) {
  const std::string line = kCombined;
  const auto up_to = [&](const char* text) {
    return line.substr(0, line.find(text));
  };
  EXPECT_EQ(reason(""), "the line is empty");
  EXPECT_EQ(reason("word"), "no address at the start");
  EXPECT_EQ(reason(" - - ["), "no address at the start");
  EXPECT_EQ(reason("192.0.2.7 -"), "no user name after the address");
  EXPECT_EQ(reason("192.0.2.7 - [02/Mar/2026:10:05:03 +0000] \"GET"),
            "no user name after the address");
  EXPECT_EQ(reason(up_to("02/")), "no [time] in brackets");
  EXPECT_EQ(reason(up_to("] \"GET")), "no [time] in brackets");
  EXPECT_EQ(reason(up_to(" \"GET")), "no quoted request after the time");
  EXPECT_EQ(reason(up_to(" HTTP")), "the request has no closing quote");
  EXPECT_EQ(reason(up_to(" 200")), "no blank after the request");
  EXPECT_EQ(reason(up_to(" 5120")), "no status and size after the request");
  EXPECT_EQ(reason(up_to("120 ")), "");
  EXPECT_EQ(reason(up_to("5120 ")), "the size is not a number");
  EXPECT_EQ(reason(up_to("example")), "the referer has no closing quote");
  EXPECT_EQ(reason(up_to("[X11")), "the user agent has no closing quote");
  EXPECT_EQ(reason("a - - [02/Mar/2026:10:05:03 +0000] \"GET /\" 20 1"),
            "the status is not a number of three digits");
  EXPECT_EQ(reason("a - - [02/Mar/2026:10:05:03 +0000] \"GET /\" 200 1k"),
            "the size is not a number");
}

TEST(AccessLog, SaysWhere) {
  const std::string line = kCombined;
  const auto column = [](const std::string& text) {
    LogRequest request;
    const auto log = make_access_log();
    return log->parse(text, &request)->column;
  };
  EXPECT_EQ(column(line.substr(0, line.find("] \"GET"))), 13u);
  EXPECT_EQ(column(with_time("01/Foo/2024:00:00:00 +0000")), 16u);
  EXPECT_EQ(column("a - - [02/Mar/2026:10:05:03 +0000] \"GET /\" 20 1"), 44u);
}

// Every prefix of a good line has an answer, without reading beyond it.
TEST(AccessLog, EveryPrefixIsJudged) {
  const std::string line = kCombined;
  for (std::size_t size = 0; size < line.size(); ++size) {
    // A separate copy, so that AddressSanitizer guards its end.
    const std::string prefix = line.substr(0, size);
    reason(prefix);
  }
}

TEST(AccessLog, FieldsHaveNames) {
  for (std::size_t i = 0; i < kFieldCount; ++i) {
    const auto name = static_cast<Field>(i);
    EXPECT_EQ(field_of(field_name(name)), name);
  }
  EXPECT_FALSE(field_of("remote_adr"));
  EXPECT_FALSE(field_of(""));
}

}  // namespace
}  // namespace limitree::cli
