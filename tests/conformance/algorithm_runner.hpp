// The vectors of all algorithms except GCRA: each case is a limits.yaml and
// requests with their times.  reference.py and lease_reference.py make them.

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <fstream>
#include <nlohmann/json.hpp>
#include <ostream>
#include <stdexcept>
#include <string>
#include <vector>

namespace limitree::conformance {

using nlohmann::json;

inline constexpr const char* kAlgorithmFiles[] = {
    "fixed_window", "fixed_window_first",
    "sliding_log",  "sliding_window",
    "sliding_tail", "sliding_tail_up",
    "leaky_step",   "token_bucket",
    "calendar",     "mixed",
    "overrun",      "leased"};

struct AlgorithmCase {
  std::string file;
  const json* test;
  std::int64_t base_ns;

  friend void PrintTo(const AlgorithmCase& one, std::ostream* out) {
    *out << one.file << ' ' << one.test->at("id");
  }
};

inline std::vector<AlgorithmCase> algorithm_cases() {
  static std::deque<json> files;
  std::vector<AlgorithmCase> all;
  for (const std::string name : kAlgorithmFiles) {
    std::ifstream in(LIMITREE_CONFORMANCE "/" + name + ".json");
    if (!in) throw std::runtime_error(name + ".json is missing");
    const json& file = files.emplace_back(json::parse(in));
    for (const json& test : file.at("cases")) {
      all.push_back({name, &test, file.at("base_ns")});
    }
  }
  return all;
}

struct AlgorithmCaseName {
  std::string operator()(
      const testing::TestParamInfo<AlgorithmCase>& info) const {
    std::string name =
        info.param.file + "_" + info.param.test->at("id").get<std::string>();
    for (char& c : name) {
      if (c == '-') c = '_';
    }
    return name;
  }
};

// Only those fields of `all` that `expected` has, so that both print alike.
inline json of_interest(const json& all, const json& expected) {
  json same = json::object();
  for (const auto& [key, value] : expected.items()) same[key] = all.at(key);
  return same;
}

}  // namespace limitree::conformance
