#include <gtest/gtest.h>

#include <string>

#include "services/answers.hpp"

namespace limitree::server {
namespace {

std::string struct_of(std::string_view json) {
  std::string bytes;
  protozero::pbf_writer to(bytes);
  EXPECT_TRUE(write_struct(json, &to));
  return bytes;
}

using namespace std::string_literals;

TEST(JsonStruct, AnEmptyObjectHasNoFields) { EXPECT_EQ(struct_of("{}"), ""); }

TEST(JsonStruct, EachKindHasItsField) {
  // A field is a member of a map: its key is 1, its value 2.
  EXPECT_EQ(struct_of(R"({"a": null})"),
            "\x0a\x07\x0a\x01"
            "a\x12\x02\x08\x00"s);
  EXPECT_EQ(struct_of(R"({"a": false})"),
            "\x0a\x07\x0a\x01"
            "a\x12\x02\x20\x00"s);
  EXPECT_EQ(struct_of(R"({"a": "x"})"),
            "\x0a\x08\x0a\x01"
            "a\x12\x03\x1a\x01x"s);
  EXPECT_EQ(struct_of(R"({"a": 2})"),
            "\x0a\x0e\x0a\x01"
            "a\x12\x09\x11\0\0\0\0\0\0\0\x40"s);
}

TEST(JsonStruct, ListsAndObjectsNest) {
  EXPECT_EQ(struct_of(R"({"a": [true]})"),
            "\x0a\x0b\x0a\x01"
            "a\x12\x06\x32\x04\x0a\x02\x20\x01"s);
  EXPECT_EQ(struct_of(R"({"a": {"b": ""}})"),
            "\x0a\x10\x0a\x01"
            "a\x12\x0b\x2a\x09\x0a\x07\x0a\x01"
            "b\x12\x02\x1a\x00"s);
}

TEST(JsonStruct, WhatIsNoObjectOfDoublesWritesNothing) {
  for (const std::string_view json : {R"({"a": 1, "b": 1e400})", "[1]", "{"}) {
    std::string bytes;
    protozero::pbf_writer to(bytes);
    EXPECT_FALSE(write_struct(json, &to)) << json;
    EXPECT_EQ(bytes, "");
  }
}

}  // namespace
}  // namespace limitree::server
