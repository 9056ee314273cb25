#include <gtest/gtest.h>

#include <span>
#include <string>

#include "web/requests.hpp"

namespace limitree::server::envoy_request_test {
namespace {

std::string text_of(limitree_str text) { return {text.data, text.size}; }

// "domain +1 | k=v,k=v +2 !5/2 -" with addends, limits and negative hits.
std::string text_of(const limitree_envoy_request& request) {
  std::string text = text_of(request.domain);
  if (request.hits_addend != 0) {
    text += " +" + std::to_string(request.hits_addend);
  }
  for (const limitree_descriptor& one :
       std::span(request.descriptors, request.descriptor_count)) {
    text += " |";
    for (const limitree_entry& entry :
         std::span(one.entries, one.entry_count)) {
      text += ' ' + text_of(entry.key) + '=' + text_of(entry.value);
    }
    if ((one.flags & LIMITREE_HAS_HITS_ADDEND) != 0) {
      text += " +" + std::to_string(one.hits_addend);
    }
    if ((one.flags & LIMITREE_HAS_LIMIT) != 0) {
      text += " !" + std::to_string(one.requests_per_unit) + '/' +
              std::to_string(one.unit);
      if (one.unit_multiplier != 0) {
        text += 'x' + std::to_string(one.unit_multiplier);
      }
    }
    if ((one.flags & LIMITREE_NEGATIVE_HITS) != 0) text += " -";
  }
  return text;
}

std::string read(std::string_view body) {
  EnvoyJson json;
  try {
    json.read(body);
    return text_of(json.get());
  } catch (const JsonError& error) {
    return error.what();
  }
}

TEST(EnvoyJson, ReadsDescriptors) {
  EXPECT_EQ(read(R"({"domain": "d", "descriptors": [
                     {"entries": [{"key": "a", "value": "1"}, {"key": "b"}]},
                     {"entries": []}, {}]})"),
            "d | a=1 b= | |");
  EXPECT_EQ(read("{}"), "");
}

TEST(EnvoyJson, NamesAreInBothStyles) {
  EXPECT_EQ(read(R"({"hitsAddend": 4294967295, "descriptors": [
                     {"hitsAddend": "18446744073709551615",
                      "isNegativeHits": true,
                      "limit": {"requestsPerUnit": 5, "unit": "MINUTE"}}]})"),
            " +4294967295 | +18446744073709551615 !5/2 -");
  EXPECT_EQ(read(R"({"hits_addend": "7", "descriptors": [
                     {"hits_addend": 0, "is_negative_hits": false,
                      "limit": {"requests_per_unit": "0", "unit": 3}}]})"),
            " +7 | +0 !0/3");
  EXPECT_EQ(read(R"({"descriptors": [{"limit": {"unitMultiplier": 10}},
                                     {"limit": {"unit_multiplier": "7"}}]})"),
            " | !0/0x10 | !0/0x7");
}

TEST(EnvoyJson, NullIsAbsent) {
  EXPECT_EQ(read(R"({"domain": null, "hitsAddend": null, "descriptors": [
                     {"limit": null, "hitsAddend": null, "entries": null,
                      "isNegativeHits": null}]})"),
            " |");
  EXPECT_EQ(read(R"({"descriptors": null})"), "");
}

TEST(EnvoyJson, ReadsUnits) {
  const auto unit = [](const std::string& text) {
    return read(R"({"descriptors": [{"limit": {"unit": )" + text + "}}]}");
  };
  const char* const names[] = {"UNKNOWN", "SECOND", "MINUTE", "HOUR",
                               "DAY",     "MONTH",  "YEAR",   "WEEK"};
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(unit('"' + std::string(names[i]) + '"'),
              " | !0/" + std::to_string(i));
  }
  EXPECT_EQ(unit("99"), " | !0/99");  // the library refuses it
  for (const char* const wrong : {"\"minute\"", "\"\"", "\"MINUTES\""}) {
    EXPECT_EQ(
        unit(wrong),
        "descriptors[0].limit.unit: is not a unit such as SECOND, MINUTE, "
        "HOUR, DAY");
  }
  EXPECT_EQ(unit("1.5"),
            "descriptors[0].limit.unit: must be a whole number from "
            "-2147483648 to 2147483647");
}

TEST(EnvoyJson, RefusesWhatProto3Refuses) {
  EXPECT_EQ(read(R"({"domains": "d"})"), "domains: there is no such field");
  EXPECT_EQ(read(R"({"descriptors": [{"entries": [{"name": "a"}]}]})"),
            "descriptors[0].entries[0].name: there is no such field");
  EXPECT_EQ(read(R"({"descriptors": [{"limit": {"burst": 1}}]})"),
            "descriptors[0].limit.burst: there is no such field");
  EXPECT_EQ(read(R"({"descriptors": [{"shadow_mode": true}]})"),
            "descriptors[0].shadow_mode: there is no such field");
  EXPECT_EQ(read(R"({"domain": 1})"), "domain: must be a text");
  EXPECT_EQ(read(R"({"descriptors": {}})"), "descriptors: must be a list");
  EXPECT_EQ(read(R"({"descriptors": [null]})"),
            "descriptors[0]: must be an object");
  EXPECT_EQ(read(R"({"hitsAddend": 4294967296})"),
            "hitsAddend: must be a whole number from 0 to 4294967295");
  EXPECT_EQ(read(R"({"hitsAddend": -1})"),
            "hitsAddend: must be a whole number from 0 to 4294967295");
  EXPECT_EQ(read(R"({"descriptors": [{"isNegativeHits": "true"}]})"),
            "descriptors[0].isNegativeHits: must be true or false");
  EXPECT_EQ(read(R"({"hitsAddend": 1, "hits_addend": 1})"),
            "hits_addend: comes twice");
  EXPECT_EQ(read(R"({"domain": "a", "domain": "b"})"),
            "the request: has the field domain twice");
  EXPECT_EQ(read(""), "no valid JSON at byte 1");
}

TEST(EnvoyJson, KeepsNothingOfTheRequestBefore) {
  EnvoyJson json;
  json.read(R"({"domain": "d", "hitsAddend": 1, "descriptors": [
                {"entries": [{"key": "a"}], "hitsAddend": 2}, {}]})");
  EXPECT_EQ(json.get().descriptor_count, 2u);
  json.read(R"({"descriptors": [{}]})");
  EXPECT_EQ(text_of(json.get()), " |");
}

}  // namespace
}  // namespace limitree::server::envoy_request_test
