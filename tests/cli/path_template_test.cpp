#include "path_template.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "failure.hpp"

namespace limitree::cli {
namespace {

LogRequest some_request() {
  LogRequest request{};
  request[Field::kRemoteAddr] = "192.0.2.7";
  request[Field::kMethod] = "GET";
  request[Field::kPath] = "/a,b";
  request[Field::kQuery] = "";
  return request;
}

std::vector<std::string> path_of(const char* text) {
  PathTemplate made(text);
  made.fill(some_request());
  std::vector<std::string> segments;
  for (const limitree_str& segment : made.path()) {
    segments.emplace_back(segment.data, segment.size);
  }
  return segments;
}

std::string reason(const char* text) {
  try {
    PathTemplate made(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

using Segments = std::vector<std::string>;

TEST(PathTemplate, FillsFieldsIn) {
  EXPECT_EQ(path_of("ip,{remote_addr}"), (Segments{"ip", "192.0.2.7"}));
  EXPECT_EQ(path_of("{method}"), (Segments{"GET"}));
  EXPECT_EQ(path_of("route,{method},{path}"),
            (Segments{"route", "GET", "/a,b"}));
}

TEST(PathTemplate, JoinsTextAndFields) {
  EXPECT_EQ(path_of("route,{method} {path}!"),
            (Segments{"route", "GET /a,b!"}));
  EXPECT_EQ(path_of("x-{method},{method}{method}"),
            (Segments{"x-GET", "GETGET"}));
}

TEST(PathTemplate, FieldsMayBeEmpty) {
  EXPECT_EQ(path_of("query,{query}"), (Segments{"query", ""}));
}

TEST(PathTemplate, BackslashTakesTheNextLiterally) {
  EXPECT_EQ(path_of(R"(a\,b,\{path\},\\)"), (Segments{"a,b", "{path}", "\\"}));
}

TEST(PathTemplate, MayBeFilledAgain) {
  PathTemplate made("x,{method} {path}");
  LogRequest request = some_request();
  made.fill(request);
  request[Field::kMethod] = "POST";
  made.fill(request);
  EXPECT_EQ(std::string(made.path()[1].data, made.path()[1].size), "POST /a,b");
}

TEST(PathTemplate, TextReadsAsATemplate) {
  PathTemplate made("route,{path},{method}");
  made.fill(some_request());
  std::string text;
  made.append_text(&text);
  EXPECT_EQ(text, R"(route,/a\,b,GET)");
}

TEST(PathTemplate, KnowsItsRoot) {
  EXPECT_EQ(PathTemplate("ip,{remote_addr}").root(), "ip");
  EXPECT_EQ(PathTemplate("a\\,b").root(), "a,b");
  EXPECT_FALSE(PathTemplate("{method},x").root());
  EXPECT_FALSE(PathTemplate("x{method},x").root());
}

TEST(PathTemplate, SaysWhatIsWrong) {
  EXPECT_EQ(reason(""), "--path '': segment 1 is empty");
  EXPECT_EQ(reason("ip,"), "--path 'ip,': segment 2 is empty");
  EXPECT_EQ(reason("ip,,x"), "--path 'ip,,x': segment 2 is empty");
  EXPECT_EQ(reason("ip,{path"), "--path 'ip,{path': a '{' is never closed");
  EXPECT_EQ(reason("ip,path}"), "--path 'ip,path}': a '}' closes nothing");
  EXPECT_EQ(reason("ip,{adr}"),
            "--path 'ip,{adr}': no field is called {adr}; there are "
            "remote_addr, remote_user, method, path, query, target, "
            "protocol, status, bytes, referer, user_agent");
  EXPECT_EQ(reason("a\\b"),
            "--path 'a\\b': a backslash must stand before , { } or another \\");
  EXPECT_EQ(reason("a\\"),
            "--path 'a\\': a backslash must stand before , { } or another \\");
}

}  // namespace
}  // namespace limitree::cli
