// Explores all states of processes that lease from one store, and fails if a
// window has more uses than its limit, or a level is used that was not charged.
//
//   leases
//
// It also has to find what is wrong with several designs that look right.

#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "model/explorer.hpp"
#include "model/lease_model.hpp"

namespace limitree::model {
namespace {

// Two levels whose leases last for different times, as {count, interval,
// lease}.
const std::vector<LevelShape> kTwoLevels = {{6, 1, 2}, {5, 2, 3}};
const std::vector<LevelShape> kOneLevel = {{6, 1, 3}};
// The same limit with long leases and with short ones.
const std::vector<LevelShape> kLong = {{10, 1, 5}};
const std::vector<LevelShape> kShort = {{10, 1, 1}};
const std::vector<LevelShape> kWithWindow = {{5, 1, 2}, {4, 0, 2, 5}};

struct Case {
  const char* name;
  Scene scene;
  bool is_right;
};

std::vector<Case> cases() {
  std::vector<Case> all = {
      {"two levels, 3 processes", {{kTwoLevels}}, true},
      {"one level, leases of 3",
       {.limits = {kOneLevel}, .most_units = 3},
       true},
      {"a limit that costs 2",
       {.limits = {{{8, 1, 3, 0, 2}, {4, 2, 2}}}, .processes = 2},
       true},
      {"gcra and a window", {.limits = {kWithWindow}, .processes = 2}, true},
      {"a reload that raises the burst",
       {.limits = {{{4, 1, 2}}, {{6, 1, 2}}}},
       true},
      {"a reload that adds leases",
       {.limits = {{{5, 1, 0}}, {{5, 1, 2}}}},
       true},
      {"a reload that adds a level",
       {.limits = {{{5, 1, 2}}, kTwoLevels}, .processes = 2},
       true},
      {"a reload that makes D longer",
       {.limits = {{{6, 1, 1}}, {{6, 1, 3}}}},
       true},
      // docs/leases.md says by how much these are over.
      {"a reload that makes D shorter",
       {.limits = {kLong, kShort}, .most_units = 4},
       false},
      {"the same, up to the difference",
       {.limits = {kLong, kShort}, .most_units = 4, .tolerance = 4},
       true},
      {"processes that differ in D",
       {.limits = {kShort, kLong},
        .most_units = 4,
        .processes = 2,
        .rolling = true},
       false},
      {"the same, up to the difference",
       {.limits = {kShort, kLong},
        .most_units = 4,
        .tolerance = 4,
        .processes = 2,
        .rolling = true},
       true},
  };
  const auto wrong = [&](const char* name, std::vector<LevelShape> limits,
                         Mistakes mistakes) {
    all.push_back(
        {name, {.limits = {std::move(limits)}, .mistakes = mistakes}, false});
  };
  wrong("requests against the whole burst", kOneLevel,
        {.direct_has_whole_burst = true});
  wrong("what is left is given back", kOneLevel, {.gives_back = true});
  wrong("a lease lasts from its answer", kOneLevel,
        {.lasts_from_answer = true});
  wrong("a lease lasts past its window", kWithWindow,
        {.lasts_past_window = true});
  wrong("a child has its parent's units", kOneLevel, {.forks_leases = true});
  wrong("one level of two is charged", kTwoLevels,
        {.charges_first_level = true});
  all.push_back({"leases of the limits before",
                 {.limits = {{{5, 1, 2}}, kTwoLevels},
                  .mistakes = {.keeps_on_reload = true}},
                 false});
  return all;
}

// Returns whether the explorer found what it has to find.
bool passes(const Case& one) {
  const LeaseModel model(one.scene);
  const Exploration seen = Explorer<LeaseModel>(model).run();
  const bool is_right = seen.fault.empty();
  std::printf("%-34s %8zu states %9zu steps: %s\n", one.name, seen.states,
              seen.steps, is_right ? "never over" : seen.fault.c_str());
  if (is_right == one.is_right) return true;
  std::printf("  this is not as it has to be\n");
  for (const std::string& step : seen.path) {
    std::printf("  %s\n", step.c_str());
  }
  return false;
}

}  // namespace
}  // namespace limitree::model

int main() {
  try {
    bool all = true;
    for (const limitree::model::Case& one : limitree::model::cases()) {
      all &= limitree::model::passes(one);
    }
    return all ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "leases: %s\n", error.what());
    return 1;
  }
}
