// The durations and limits in words of rates.json, through limitree.h: read
// alone, and after `limits:` in a tree.

#include <gtest/gtest.h>

#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

#include "limitree.h"

namespace limitree::conformance::rates_conformance_test {
namespace {

using nlohmann::json;

const json& table() {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/rates.json");
    if (!in) throw std::runtime_error("rates.json is missing");
    return json::parse(in);
  }();
  return file;
}

limitree_str str(const std::string& text) { return {text.data(), text.size()}; }

json messages_of(limitree_error* error) {
  json messages = json::array();
  for (std::size_t i = 0; i < limitree_error_count(error); ++i) {
    messages.push_back(limitree_error_message_at(error, i));
  }
  limitree_error_free(error);
  return messages;
}

TEST(RatesConformance, Durations) {
  for (const json& one : table().at("durations")) {
    const std::string text = one.at("text");
    std::int64_t ns = -1;
    limitree_error* error = nullptr;
    const limitree_status status =
        limitree_parse_duration(str(text), &ns, &error);
    if (one.contains("ns")) {
      EXPECT_EQ(status, LIMITREE_OK) << text;
      EXPECT_EQ(ns, one.at("ns")) << text;
    } else {
      EXPECT_EQ(status, LIMITREE_INVALID_CONFIG) << text;
      EXPECT_EQ(ns, -1) << text;
    }
    const json expected =
        one.contains("ns") ? json::array() : json::array({one.at("error")});
    EXPECT_EQ(messages_of(error), expected) << text;
  }
}

TEST(RatesConformance, Rates) {
  for (const json& one : table().at("rates")) {
    const std::string text = one.at("text");
    std::vector<limitree_rate> rates(8);
    std::size_t count = 0;
    limitree_error* error = nullptr;
    const limitree_status status = limitree_parse_rates(
        str(text), rates.data(), rates.size(), &count, &error);
    json read = json::array();
    for (std::size_t i = 0; i < count; ++i) {
      const limitree_rate& rate = rates[i];
      EXPECT_EQ(rate.name[rate.size], '\0');
      read.push_back({{"count", rate.count},
                      {"period_ns", rate.period_ns},
                      {"burst", rate.burst},
                      {"name", std::string(rate.name)}});
      if (rate.algorithm == 0) continue;
      read.back()["algorithm"] =
          limitree_algorithm_at(static_cast<std::size_t>(rate.algorithm) - 1);
    }
    const bool good = one.contains("rates");
    EXPECT_EQ(status, good ? LIMITREE_OK : LIMITREE_INVALID_CONFIG) << text;
    EXPECT_EQ(read, good ? one.at("rates") : json::array()) << text;
    EXPECT_EQ(messages_of(error), good ? json::array() : one.at("errors"))
        << text;
  }
}

// Reads `text` in a limits.yaml.  Returns the capacities of its limits, or the
// messages without their places, "t:1:30: schema.job.limits: ".
json in_tree(const std::string& text) {
  const std::string yaml =
      json({{"schema", {{"job", {{"limits", text}}}}}}).dump();
  limitree_config* config = limitree_config_new();
  limitree_error* error = nullptr;
  json told = json::array();
  if (limitree_config_set_limits(config, str(yaml), {"t", 1}, &error) < 0) {
    for (const std::string message : messages_of(error)) {
      const std::size_t place = message.find(": ") + 2;
      told.push_back(message.substr(message.find(": ", place) + 2));
    }
    limitree_config_free(config);
    return told;
  }
  limitree_limiter* limiter = nullptr;
  EXPECT_EQ(limitree_limiter_new(config, &limiter, nullptr), LIMITREE_OK);
  limitree_config_free(config);
  const limitree_str segment = {"job", 3};
  const limitree_path path = {&segment, 1, 1, LIMITREE_PART_CHARGE};
  std::vector<limitree_level> levels(8);
  limitree_decision decision;
  EXPECT_EQ(limitree_decide(limiter, LIMITREE_PEEK, &path, 1, levels.data(),
                            levels.size(), &decision, nullptr),
            LIMITREE_OK);
  for (std::int32_t i = 0; i < decision.level_count; ++i) {
    const limitree_level& level = levels[static_cast<std::size_t>(i)];
    told.push_back({level.limit, level.window_ns});
  }
  limitree_limiter_free(limiter);
  return told;
}

TEST(RatesConformance, ATreeReadsThemAlike) {
  for (const json& one : table().at("rates")) {
    json expected = json::array();
    if (one.contains("rates")) {
      for (const json& rate : one.at("rates")) {
        const std::int64_t step = rate.at("period_ns").get<std::int64_t>() /
                                  rate.at("count").get<std::int64_t>();
        const std::int64_t burst = rate.at("burst");
        expected.push_back({burst, step * burst});
      }
    } else {
      expected = one.at("errors");
    }
    EXPECT_EQ(in_tree(one.at("text")), expected) << one.at("text");
  }
}

TEST(RatesConformance, CountsThoseForWhichThereIsNoRoom) {
  const std::string text = "1/s; 2/s; 3/s";
  std::vector<limitree_rate> rates(2);
  std::size_t count = 0;
  ASSERT_EQ(limitree_parse_rates(str(text), rates.data(), 2, &count, nullptr),
            LIMITREE_OK);
  EXPECT_EQ(count, 3U);
  EXPECT_EQ(rates[1].count, 2);
  EXPECT_EQ(limitree_parse_rates(str(text), nullptr, 0, &count, nullptr),
            LIMITREE_OK);
  EXPECT_EQ(count, 3U);
}

}  // namespace
}  // namespace limitree::conformance::rates_conformance_test
