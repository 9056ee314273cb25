// The vectors of gcra.json, and what every runner compares.
//
// Names in the file: the operation "spend" is authorize here, the operation
// "check" is peek, and the mode "spend" is shadow.  Times are offsets from
// base_ns.

#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace limitree::conformance {

using nlohmann::json;

inline const json& vectors() {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/gcra.json");
    if (!in) throw std::runtime_error("gcra.json is missing");
    return json::parse(in);
  }();
  return file;
}

inline std::int64_t base_ns() { return vectors().at("base_ns"); }

// A level or an aggregate, with the names of the file.
struct Outcome {
  std::int64_t limited = 0;
  std::int64_t limit = 0;
  std::int64_t remaining = 0;
  std::int64_t retry_after_ns = 0;  // -1: allowed, or never
  std::int64_t reset_after_ns = 0;
  std::int64_t next_in_ns = 0;  // -1: never; levels only
  std::int64_t charged = 0;     // levels only
  std::int64_t binding = 0;     // aggregates only
  std::vector<std::int64_t> five;
};

// `outcome` in the form of the file: only the keys of `expected`, so that both
// print alike.
inline json as_expected(const Outcome& outcome, const json& expected) {
  const json all = {{"limited", outcome.limited},
                    {"limit", outcome.limit},
                    {"remaining", outcome.remaining},
                    {"retry_after_ns", outcome.retry_after_ns},
                    {"reset_after_ns", outcome.reset_after_ns},
                    {"next_in_ns", outcome.next_in_ns},
                    {"charged", outcome.charged},
                    {"refunded", outcome.charged},
                    {"binding", outcome.binding},
                    {"five", outcome.five}};
  json same = json::object();
  for (const auto& [key, value] : expected.items()) same[key] = all.at(key);
  return same;
}

// One case of the file, printed by its id.
struct Case {
  const json* test;

  friend void PrintTo(const Case& one, std::ostream* out) {
    *out << one.test->at("id");
  }
};

inline std::vector<Case> cases() {
  std::vector<Case> all;
  for (const json& test : vectors().at("cases")) all.push_back({&test});
  return all;
}

// Names the cases for gtest: "dedupe-conflict" as dedupe_conflict.
struct CaseName {
  std::string operator()(const testing::TestParamInfo<Case>& info) const {
    std::string name = info.param.test->at("id");
    std::ranges::replace(name, '-', '_');
    return name;
  }
};

}  // namespace limitree::conformance
