#include "descriptors/metadata.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/descriptors/loaded.hpp"

namespace limitree {
namespace {

using Kind = Metadata::Kind;

// The value in the form of JSON, but without escapes.
std::string json(const Metadata& value) {
  switch (value.kind) {
    case Kind::kNull:
      return "null";
    case Kind::kBool:
    case Kind::kNumber:
      return value.text;
    case Kind::kText:
      return '"' + value.text + '"';
    case Kind::kList:
    case Kind::kMap:
      break;
  }
  std::string text;
  for (const Metadata& item : value.items) {
    if (!text.empty()) text += ", ";
    if (value.kind == Kind::kMap) text += item.name + ": ";
    text += json(item);
  }
  return value.kind == Kind::kMap ? '{' + text + '}' : '[' + text + ']';
}

std::shared_ptr<const Metadata> metadata(const std::string& yaml) {
  const Descriptors made = loaded(
      "domain: d\ndescriptors:\n- key: a\n  rate_limit: {unit: day}\n"
      "  metadata: " +
      yaml + "\n");
  return made.rules()[0].metadata;
}

TEST(Metadata, KeepsAnyMapping) {
  EXPECT_EQ(json(*metadata("{}")), "{}");
  EXPECT_EQ(
      json(*metadata("{a: [1, -2.5e3, '3', x], b: {c: ~, 4: yes, e: {}}}")),
      "{a: [1, -2.5e3, \"3\", \"x\"], b: {c: null, 4: true, e: {}}}");
}

TEST(Metadata, NumbersAreThoseOfJson) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0", "0"},
      {"-0", "-0"},
      {"12", "12"},
      {"0.5", "0.5"},
      {"1e3", "1e3"},
      {"1.5E-2", "1.5E-2"},
      {"007", "\"007\""},
      {"+1", "\"+1\""},
      {".5", "\".5\""},
      {"1.", "\"1.\""},
      {"1.e5", "\"1.e5\""},
      {"0x10", "\"0x10\""},
      {"1_000", "\"1_000\""},
      {"1e", "\"1e\""},
      {"-", "\"-\""},
      {".inf", "\".inf\""},
      {"1.2.3", "\"1.2.3\""},
  };
  for (const auto& [yaml, value] : cases) {
    EXPECT_EQ(json(*metadata("{a: " + yaml + "}")), "{a: " + value + "}");
  }
}

TEST(Metadata, NothingIsNone) {
  EXPECT_EQ(metadata(""), nullptr);
  EXPECT_EQ(metadata("~"), nullptr);
}

TEST(ParseBool, InAllFormsOfYaml) {
  for (const char* const text : {"true", "True", "TRUE", "yes", "Yes", "YES",
                                 "on", "On", "ON", "y", "Y"}) {
    EXPECT_EQ(parse_bool(text), true) << text;
  }
  for (const char* const text : {"false", "False", "FALSE", "no", "No", "NO",
                                 "off", "Off", "OFF", "n", "N"}) {
    EXPECT_EQ(parse_bool(text), false) << text;
  }
  for (const char* const text : {"", "1", "0", "t", "yEs", "tRUE"}) {
    EXPECT_EQ(parse_bool(text), std::nullopt) << text;
  }
}

}  // namespace
}  // namespace limitree
