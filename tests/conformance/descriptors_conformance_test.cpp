// The vectors of envoy.json, as far as they are about reading files, matching,
// hits, and the names of buckets and metrics.  Whether a descriptor is over its
// limit is not asked here.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "descriptors/descriptors.hpp"
#include "descriptors/request.hpp"

namespace limitree::conformance::descriptors_conformance_test {
namespace {

using nlohmann::json;

const json& envoy_vectors() {
  static const json file = [] {
    std::ifstream in(LIMITREE_CONFORMANCE "/envoy.json");
    if (!in) throw std::runtime_error("envoy.json is missing");
    return json::parse(in);
  }();
  return file.at("vectors");
}

// One vector, printed by its name.
struct Vector {
  const json* test;

  friend void PrintTo(const Vector& one, std::ostream* out) {
    *out << one.test->at("name");
  }
};

std::vector<Vector> all() {
  std::vector<Vector> all;
  for (const json& test : envoy_vectors()) all.push_back({&test});
  return all;
}

struct VectorName {
  std::string operator()(const testing::TestParamInfo<Vector>& info) const {
    return info.param.test->at("name");
  }
};

Descriptors load(const json& config) {
  std::vector<std::string> yamls;
  if (config.is_string()) {
    yamls.push_back(config);
  } else {
    yamls = config.get<std::vector<std::string>>();
  }
  std::vector<DescriptorFile> files;
  for (const std::string& yaml : yamls) {
    files.push_back({yaml, "config.yaml", yamls.size() > 1});
  }
  Result<Descriptors> made = load_descriptors(files);
  if (!made.ok()) {
    throw std::runtime_error(made.status().error().messages.front());
  }
  return std::move(made.value());
}

// A request of the file, and everything that it borrows.
class Request {
 public:
  explicit Request(const json& from) : domain_(from.at("domain")) {
    for (const json& descriptor : from.at("descriptors")) {
      std::vector<Text>& entries = texts_.emplace_back();
      for (const json& entry : descriptor.at("entries")) {
        entries.push_back(
            {entry.at(0).get<std::string>(), entry.at(1).get<std::string>()});
      }
    }
    for (const std::vector<Text>& texts : texts_) {
      std::vector<Entry>& entries = entries_.emplace_back();
      for (const Text& text : texts) entries.push_back({text.key, text.value});
    }
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      const json& descriptor = from.at("descriptors").at(i);
      RequestDescriptor& asked = asked_.emplace_back();
      asked.entries = entries_[i];
      if (descriptor.contains("hits_addend")) {
        asked.hits_addend = descriptor.at("hits_addend").get<std::uint64_t>();
      }
      if (descriptor.contains("limit")) {
        const json& limit = descriptor.at("limit");
        const std::string unit = limit.at("unit");
        asked.limit =
            RequestLimit{limit.at("requests_per_unit").get<std::uint32_t>(),
                         static_cast<std::int32_t>(unit_of(unit))};
      }
    }
    hits_addend_ = from.value("hits_addend", 0U);
  }

  DescriptorRequest asked() const { return {domain_, asked_, hits_addend_}; }

 private:
  struct Text {
    std::string key;
    std::string value;
  };

  std::string domain_;
  std::vector<std::vector<Text>> texts_;
  std::vector<std::vector<Entry>> entries_;
  std::vector<RequestDescriptor> asked_;
  std::uint32_t hits_addend_ = 0;
};

void expect_status(const MatchedDescriptor& matched, const json& status) {
  if (!status.contains("current_limit")) {
    const bool unlimited = status.contains("remaining");
    EXPECT_EQ(matched.match == Match::kUnlimited, unlimited);
    EXPECT_NE(matched.match, Match::kLimited);
    return;
  }
  ASSERT_EQ(matched.match, Match::kLimited);
  const json& limit = status.at("current_limit");
  EXPECT_EQ(matched.rule->requests_per_unit, limit.at(0).get<std::uint32_t>());
  EXPECT_EQ(unit_name(matched.rule->unit), limit.at(1).get<std::string>());
  EXPECT_EQ(matched.rule->limit.name.view(),
            limit.size() > 2 ? limit.at(2).get<std::string>() : "");
}

// What all requests of a vector count.
struct Counts {
  std::map<std::string, std::int64_t> hits;      // by metric key
  std::map<std::string, std::int64_t> counters;  // by the original's keys
  std::int64_t unknown_domains = 0;
};

// The original's name of a bucket: all segments, and where its window begins.
std::string counter_name(const Plan& plan, const Level& level,
                         std::int64_t now) {
  std::string name;
  for (std::uint32_t i = 0; i < level.depth; ++i) {
    name.append(plan.segments[level.first + i].text) += '_';
  }
  const std::int64_t length = level.limit->period / std::chrono::seconds(1);
  return name + std::to_string(now / length * length);
}

void count(const MatchedRequest& matched, std::int64_t now, Counts* counts) {
  if (matched.domain() == nullptr) ++counts->unknown_domains;
  Plan plan(Operation::kAuthorize);
  matched.add_levels(&plan);
  std::string room;
  for (const Level& level : plan.levels) {
    counts->hits[std::string(matched.metric_key(level.path, 0, &room))] +=
        level.cost;
    counts->counters[counter_name(plan, level, now)] += level.cost;
  }
}

class EnvoyVector : public testing::TestWithParam<Vector> {};

TEST_P(EnvoyVector, IsMatched) {
  const json& test = *GetParam().test;
  const Descriptors made = load(test.at("config"));
  Counts counts;
  for (const json& step : test.at("steps")) {
    const Request request(step.at("request"));
    const DescriptorRequest asked = request.asked();
    MatchedRequest matched;
    const Status status = matched.match(made, asked);
    const json& expected = step.at("expect");
    if (expected.contains("error")) {
      ASSERT_FALSE(status.ok());
      EXPECT_EQ(json(status.error().messages.front()), expected.at("error"));
      continue;
    }
    ASSERT_TRUE(status.ok());
    const json& statuses = expected.at("statuses");
    ASSERT_EQ(matched.descriptors().size(), statuses.size());
    for (std::size_t i = 0; i < statuses.size(); ++i) {
      expect_status(matched.descriptors()[i], statuses.at(i));
    }
    count(matched, step.at("request").at("now"), &counts);
  }

  std::map<std::string, std::int64_t> hits;
  std::int64_t unknown_domains = 0;
  for (const auto& [name, value] : test.at("stats").items()) {
    constexpr std::string_view kHits = ".total_hits";
    if (name.ends_with(kHits)) {
      hits[name.substr(0, name.size() - kHits.size())] = value;
    }
    if (name.ends_with(".domain_not_found")) unknown_domains = value;
  }
  EXPECT_EQ(counts.hits, hits);
  EXPECT_EQ(counts.unknown_domains, unknown_domains);

  // Both options keep hits from counters.
  const json& options = test.at("options");
  const bool exact = !options.contains("stop") && !options.contains("local");
  ASSERT_EQ(counts.counters.size(), test.at("counters").size());
  for (const auto& [name, value] : test.at("counters").items()) {
    ASSERT_TRUE(counts.counters.contains(name)) << name;
    if (!exact) continue;
    EXPECT_EQ(counts.counters[name], value) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Envoy, EnvoyVector, testing::ValuesIn(all()),
                         VectorName());

}  // namespace
}  // namespace limitree::conformance::descriptors_conformance_test
