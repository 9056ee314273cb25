// The rules of a limit in map form: its algorithm, the keys that belong to one
// algorithm, its holds, and its overrun.

#pragma once

#include <cstdint>
#include <optional>

#include "base/limit.hpp"
#include "text/problems.hpp"
#include "text/yaml.hpp"

namespace limitree {

// As written, not checked yet.
struct RuleFields {
  std::optional<Value> algorithm;
  std::optional<Value> align;
  std::optional<Value> timezone;
  std::optional<Value> buckets;
  std::optional<Value> round;
  std::optional<Value> drain;
  std::optional<Value> hold;
  std::optional<Value> unsettled;
  std::optional<Value> concurrent;
  std::optional<Value> lease;
  std::optional<Mark> burst;  // where "burst" or "max_burst" stands
  std::optional<Mark> overrun;
  bool is_month = false;  // the period was written as a month
  std::int64_t percent = 0;
  bool when_idle = false;
  std::optional<Mark> ahead;  // of the lease
};

// Completes *limit, whose count, period and rate are set, unless `concurrent`
// states them.  Mistakes go to *problems, at `mark` if no single field causes
// them.
void apply_rules(const RuleFields& fields, Mark mark, Limit* limit,
                 Problems* problems);

}  // namespace limitree
