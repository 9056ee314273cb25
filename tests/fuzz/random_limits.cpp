#include <string_view>

#include "random_input.hpp"

namespace {

constexpr std::string_view kAlgorithms[] = {
    "gcra",
    "gcra",
    "leaky_bucket, drain: step",
    "fixed_window",
    "fixed_window, align: first",
    "sliding_log",
    "sliding_window",
    "sliding_window, buckets: 3",
    "sliding_tail",
    "sliding_tail, round: up",
};
constexpr std::string_view kCalendar =
    "fixed_window, align: calendar, timezone: Europe/Berlin";
constexpr std::string_view kPeriods[] = {"1s", "13us", "1ms", "7ms", "61s",
                                         "1h", "1d",   "1w",  "100w"};
constexpr std::string_view kCalendarPeriods[] = {"1d", "1w", "month"};
constexpr int kCounts[] = {3, 1, 2, 5, 7, 10, 60, 1000};
constexpr std::string_view kModes[] = {"enforce", "enforce", "enforce",
                                       "shadow", "check"};
constexpr std::string_view kOverruns[] = {"{percent: 20}", "{percent: 100}",
                                          "{percent: 50, when: idle}",
                                          "{percent: 1000, when: idle}"};

std::string random_limit(RandomInput* input, int index) {
  const bool calendar = input->one_in(16);
  const std::string_view algorithm =
      calendar ? kCalendar : input->pick(kAlgorithms);
  const bool bucket = algorithm == "gcra" || algorithm.starts_with("leaky");
  std::string text = "{name: n" + std::to_string(index);
  const auto add = [&text](std::string_view key, std::string_view value) {
    text.append(", ").append(key).append(": ").append(value);
  };
  add("algorithm", algorithm);
  add("count", std::to_string(input->pick(kCounts)));
  add("period",
      calendar ? input->pick(kCalendarPeriods) : input->pick(kPeriods));
  add("mode", input->pick(kModes));
  if (bucket && input->one_in(2)) {
    add("burst", std::to_string(1 + input->byte() % 20));
  }
  if (input->one_in(4)) add("cost", std::to_string(input->byte() % 4));
  if (input->one_in(4)) add("overrun", input->pick(kOverruns));
  return text + "}";
}

// "limits: [...]" with up to `most` of them.
std::string random_list(RandomInput* input, int least, int most) {
  const int count = least + input->byte() % (most - least + 1);
  std::string text = "limits: [";
  for (int i = 0; i < count; ++i) text += random_limit(input, i) + ", ";
  return text + "]";
}

std::string random_charge(RandomInput* input) {
  return input->one_in(4) ? "charge: independent, " : "";
}

}  // namespace

std::string random_limits(RandomInput* input) {
  std::string text = "schema:\n  api: {" + random_charge(input);
  text += random_list(input, 1, 2) + "}\n  user: {" + random_charge(input);
  text += random_list(input, 0, 1) + ", children: {\n    \"*\": {";
  text += random_list(input, 1, 3) + ", children: {trade: {";
  text += random_list(input, 0, 2) + "}}},\n";
  if (input->one_in(2)) text += "    b: {" + random_list(input, 0, 1) + "},\n";
  return text + (input->one_in(32) ? "}\n" : "  }}\n");
}
