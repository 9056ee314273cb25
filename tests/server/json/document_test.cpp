#include "json/document.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

namespace limitree::server {
namespace {

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const JsonError& error) {
    return error.what();
  }
  return "no error";
}

JsonDocument read(std::string_view text) {
  JsonDocument document;
  document.read(text);
  return document;
}

TEST(JsonDocument, HasTheValuesInOrder) {
  const JsonDocument document =
      read(R"({"a": [1, -2, 1.5, "x\u00e9\ud83d\ude00"], "b": {}, "c": null})");
  std::vector<JsonKind> kinds;
  for (std::size_t i = 0; i < document.size(); ++i) {
    kinds.push_back(document.at(i).kind);
  }
  using enum JsonKind;
  EXPECT_EQ(kinds, (std::vector<JsonKind>{kObject, kText, kList, kInteger,
                                          kInteger, kReal, kText, kText,
                                          kObject, kText, kNull}));
  EXPECT_EQ(document.text(document.at(6)), "x\xC3\xA9\xF0\x9F\x98\x80");
  EXPECT_EQ(document.at(2).end, 7u);
  EXPECT_EQ(document.at(0).end, document.size());
}

TEST(JsonDocument, KeepsNothingOfTheTextBefore) {
  JsonDocument document;
  document.read("[[1,2],[3]]");
  EXPECT_ANY_THROW(document.read("[[[\"x\""));
  document.read("\"y\"");
  EXPECT_EQ(document.size(), 1u);
  EXPECT_EQ(JsonPlace(document).text(), "y");
}

TEST(JsonDocument, RefusesWhatIsNoJson) {
  for (const std::string text :
       {"", " ", "{", "[1,]", "{\"a\"}", "{'a': 1}", "1 2", "01", "nul",
        "\"\\x\"", "\"\n\"", "\"\xFF\"", "\"\\ud800\"", "[1e999]", "// x\n1",
        "NaN", "\xEF\xBB\xBF"}) {
    EXPECT_TRUE(error_of([&] { read(text); }).starts_with("no valid JSON at "))
        << text;
  }
  EXPECT_EQ(error_of([] { read("[1,}"); }), "no valid JSON at byte 4");
}

TEST(JsonDocument, BoundsTheNumberOfValues) {
  EXPECT_EQ(error_of([] { read(std::string(200'000, '[')); }),
            "the request has more than 131072 values");
}

TEST(JsonDocument, AnyDepthIsRead) {
  const std::size_t depth = 100'000;
  const JsonDocument document =
      read(std::string(depth, '[') + std::string(depth, ']'));
  EXPECT_EQ(document.size(), depth);
}

TEST(JsonPlace, GivesMembersAndItems) {
  const JsonDocument document = read(R"({"a": [[1], [2, 3], []], "b": "x"})");
  std::string found;
  JsonPlace(document).each_member(
      [&](std::string_view key, const JsonPlace& value) {
        found += key;
        if (key == "b") {
          found += value.text();
          return;
        }
        value.each_item([&](const JsonPlace& list) {
          found += '(';
          list.each_item([&](const JsonPlace& number) {
            found += std::to_string(number.integer(0, 9));
          });
          found += ')';
        });
      });
  EXPECT_EQ(found, "a(1)(23)()bx");
}

TEST(JsonPlace, ReadsWholeNumbers) {
  const auto whole = [](const char* text) {
    const JsonDocument document = read(text);
    return JsonPlace(document).whole(UINT64_MAX);
  };
  EXPECT_EQ(whole("0"), 0u);
  EXPECT_EQ(whole("\"12\""), 12u);
  EXPECT_EQ(whole("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(whole("\"18446744073709551615\""), UINT64_MAX);
  EXPECT_EQ(whole("1e3"), 1000u);
  EXPECT_EQ(whole("2.0"), 2u);
  for (const char* const text :
       {"-1", "\"-1\"", "\"\"", "\" 1\"", "\"1x\"", "1.5", "-1.0", "1e300",
        "\"18446744073709551616\"", "null", "true", "[1]", "{}"}) {
    EXPECT_EQ(error_of([&] { whole(text); }),
              "the request: must be a whole number from 0 to "
              "18446744073709551615")
        << text;
  }
}

TEST(JsonPlace, ReadsIntegers) {
  const auto integer = [](const char* text) {
    const JsonDocument document = read(text);
    return JsonPlace(document).integer(-5, 5);
  };
  EXPECT_EQ(integer("-5"), -5);
  EXPECT_EQ(integer("\"5\""), 5);
  EXPECT_EQ(integer("-1.0"), -1);
  for (const char* const text :
       {"6", "-6", "18446744073709551615", "\"x\"", "0.5", "false"}) {
    EXPECT_EQ(error_of([&] { integer(text); }),
              "the request: must be a whole number from -5 to 5")
        << text;
  }
}

TEST(JsonPlace, NamesThePlaceOfAMistake) {
  const JsonDocument document = read(R"({"a": [0, {"b": [1, "x"]}]})");
  EXPECT_EQ(error_of([&] {
              JsonPlace(document).each_member([](auto, const JsonPlace& a) {
                a.each_item([](const JsonPlace& item) {
                  if (item.kind() != JsonKind::kObject) return;
                  item.each_member([](auto, const JsonPlace& b) {
                    b.each_item([](const JsonPlace& one) { one.text(); });
                  });
                });
              });
            }),
            "a[1].b[0]: must be a text");
}

TEST(JsonPlace, RefusesOtherKinds) {
  const JsonDocument one = read("1");
  const JsonPlace place(one);
  EXPECT_EQ(error_of([&] { place.text(); }), "the request: must be a text");
  EXPECT_EQ(error_of([&] { place.flag(); }),
            "the request: must be true or false");
  EXPECT_EQ(error_of([&] { place.each_item([](const JsonPlace&) {}); }),
            "the request: must be a list");
  EXPECT_EQ(error_of([&] {
              place.each_member([](std::string_view, const JsonPlace&) {});
            }),
            "the request: must be an object");
}

TEST(JsonPlace, RefusesAMemberThatComesTwice) {
  const JsonDocument document = read(R"({"a": 1, "b": [2], "a": 3})");
  EXPECT_EQ(error_of([&] {
              JsonPlace(document).each_member(
                  [](std::string_view, const JsonPlace&) {});
            }),
            "the request: has the field a twice");
}

}  // namespace
}  // namespace limitree::server
