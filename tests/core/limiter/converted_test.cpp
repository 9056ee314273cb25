// Random descriptors, and what they are converted to: both allow the same
// requests.

#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/decision.hpp"
#include "core/store/manual_clock.hpp"
#include "descriptors/descriptors.hpp"
#include "descriptors/request.hpp"
#include "limiter/limiter.hpp"
#include "limiter/make_store.hpp"
#include "tree/schema.hpp"

namespace limitree {
namespace {

constexpr std::uint32_t kSeed = 20261123;

class RandomFile {
 public:
  explicit RandomFile(std::mt19937* random) : random_(*random) {}

  std::string any() {
    parents_ = pick(2) == 0;
    return std::string("domain: d\nparents: ") + (parents_ ? "true" : "false") +
           "\nall_or_nothing: " + (pick(2) == 0 ? "true" : "false") +
           "\ndescriptors: " + list(3) + "\n";
  }

 private:
  unsigned pick(unsigned below) {
    return static_cast<unsigned>(random_() % below);
  }

  std::string list(int depth) {
    static constexpr std::string_view kKeys[] = {"a", "b"};
    static constexpr std::string_view kValues[] = {"",   "x",  "xy", "xy*",
                                                   "*y", "x*", "*"};
    std::set<std::pair<std::string_view, std::string_view>> seen;
    std::string text = "[";
    for (unsigned n = 1 + pick(5); n > 0; --n) {
      const std::string_view key = kKeys[pick(2)];
      const std::string_view value = kValues[pick(7)];
      if (!seen.emplace(key, value).second) continue;
      if (text.size() > 1) text += ", ";
      text += descriptor(key, value, depth);
    }
    return text + "]";
  }

  std::string descriptor(std::string_view key, std::string_view value,
                         int depth) {
    std::string text = "{key: " + std::string(key);
    if (!value.empty()) text += ", value: \"" + std::string(value) + '"';
    if (value.find('*') != value.npos && pick(3) == 0) {
      text += ", share_threshold: true";
    }
    if (pick(6) == 0) text += ", shadow_mode: true";
    const bool below = depth > 1 && pick(2) == 0;
    // Else it would have no equivalent.
    if (pick(5) > 0 && (parents_ || !below || pick(10) == 0)) {
      text += ", rate_limit: " + rule();
    }
    if (below) text += ", descriptors: " + list(depth - 1);
    return text + "}";
  }

  std::string rule() {
    static constexpr std::string_view kLengths[] = {
        "unit: second",
        "unit: minute",
        "unit: week",
        "unit: month",
        "unit: year",
        "period: 1.5s",
        "unit: second, unit_multiplier: 7",
        "unit: second, algorithm: gcra, burst: 2",
        "unit: minute, algorithm: sliding_log",
        "unit: second, algorithm: sliding_window",
        "unit: minute, algorithm: sliding_tail",
        "unit: second, overrun: {percent: 50}"};
    if (pick(8) == 0) return "{unlimited: true}";
    return "{requests_per_unit: " + std::to_string(pick(4)) + ", " +
           std::string(kLengths[pick(12)]) + "}";
  }

  std::mt19937& random_;
  bool parents_ = false;
};

// Asks descriptors, as docs/descriptors.md says that they decide.
class Asker {
 public:
  Asker(const Descriptors& descriptors, ManualClock* clock)
      : descriptors_(descriptors) {
    Options options;
    options.clock = clock->clock();
    store_ = std::move(make_store(options).value());
  }

  bool limits(Entries entries) {
    const RequestDescriptor asked{entries};
    const DescriptorRequest request{"d", {&asked, 1}};
    MatchedRequest matched;  // refers to the request
    EXPECT_TRUE(matched.match(descriptors_, request).ok());
    Plan plan(Operation::kAuthorize);
    matched.add_levels(&plan);
    if (plan.levels.empty()) return false;
    for (std::uint32_t i = 0; i < plan.levels.size(); ++i) {
      const Rule& rule = matched.rule(0, i);
      if (rule.denies_all()) plan.levels[i].cost = INT64_MAX;
    }
    EXPECT_TRUE(store_->decide(&plan).ok());
    return aggregate(plan).limited;
  }

  // Whether a limit is on the way of entries that lead nowhere.
  bool ends_early(Entries entries) const {
    const Domain& domain = *descriptors_.find("d");
    DescriptorSteps steps;
    descriptors_.walk(domain, entries, &steps);
    return !domain.parents && !steps.empty() && steps.size() < entries.size() &&
           descriptors_.rule_at(steps.back()) != nullptr;
  }

 private:
  const Descriptors& descriptors_;
  std::unique_ptr<Store> store_;
};

std::vector<Entry> random_entries(std::mt19937* random) {
  static constexpr std::string_view kKeys[] = {"a", "a", "b", "b", "c"};
  static constexpr std::string_view kValues[] = {"",    "x",  "xy",
                                                 "xyz", "zy", "y"};
  std::vector<Entry> entries(1 + (*random)() % 3);
  for (Entry& entry : entries) {
    entry = {kKeys[(*random)() % 5], kValues[(*random)() % 6]};
  }
  return entries;
}

TEST(Converted, AllowsTheSame) {
  std::mt19937 random(kSeed);
  SCOPED_TRACE("seed " + std::to_string(kSeed));
  int files = 0;
  int denied = 0;
  int allowed = 0;
  for (int round = 0; round < 400; ++round) {
    const std::string text = RandomFile(&random).any();
    SCOPED_TRACE(text);
    const DescriptorFile file{text, "d.yaml"};
    Result<Descriptors> descriptors = load_descriptors({&file, 1});
    ASSERT_TRUE(descriptors.ok())
        << descriptors.status().error().messages.front();
    std::vector<std::string> lost;
    const std::string yaml =
        limits_from_descriptors(descriptors.value(), &lost);
    SCOPED_TRACE(yaml);
    Result<Tree> tree = load_tree(yaml, "limits.yaml");
    ASSERT_TRUE(tree.ok()) << tree.status().error().messages.front();
    if (!lost.empty()) continue;
    ++files;
    ManualClock clock;
    Asker asker(descriptors.value(), &clock);
    Options options;
    options.clock = clock.clock();
    Limiter limiter(std::make_shared<const Tree>(std::move(tree.value())),
                    options, std::move(make_store(options).value()));
    for (int i = 0; i < 150; ++i) {
      const std::vector<Entry> entries = random_entries(&random);
      if (asker.ends_early(entries)) continue;
      std::vector<std::string_view> path = {"d"};
      std::string spoken;
      for (const Entry& entry : entries) {
        path.insert(path.end(), {entry.key, entry.value});
        spoken += ' ' + entry_text(entry);
      }
      Decision decision;
      const std::vector<PathCost> path_costs = {{path, 1}};
      ASSERT_TRUE(
          limiter
              .decide(Operation::kAuthorize, {path_costs}, nullptr, &decision)
              .ok())
          << spoken;
      ASSERT_EQ(decision.limited, asker.limits(entries)) << i << spoken;
      (decision.limited ? denied : allowed) += 1;
      if (random() % 4 == 0) {
        clock.advance(std::chrono::milliseconds(random() % 20'000));
      }
    }
  }
  EXPECT_GT(files, 100);
  EXPECT_GT(denied, 2000);
  EXPECT_GT(allowed, 2000);
}

}  // namespace
}  // namespace limitree
