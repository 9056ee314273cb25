// Limits in words: "30/minute", "30 per 60s burst 16", "5/s; 100/2h",
// "5/minute fixed_window first".
//
// This is the only grammar of such texts: it serves `limits:` and
// limitree_parse_rates(), and so the decorators of every language.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/limit.hpp"
#include "base/status.hpp"
#include "base/time.hpp"
#include "text/limit_rules.hpp"
#include "text/problems.hpp"

namespace limitree {

// What such a text says about one limit.
struct TextRate {
  std::int64_t count = 0;
  Duration period{};
  std::int64_t capacity = 0;   // the count, unless the text says a burst
  std::string_view algorithm;  // one of kAlgorithmWords; empty: it names none
  bool from_first = false;     // windows begin with their first unit

  friend bool operator==(const TextRate&, const TextRate&) = default;
};

// Reads COUNT (/ | per) DURATION [burst N | max_burst N] [ALGORITHM] [first],
// or several of these with ; or , or | between them, in any case.  make_rate()
// and apply_rules() accept all results. kInvalidConfig with a message for each
// mistake.
Result<std::vector<TextRate>> parse_rates(std::string_view text);

// Reads the number after the word `key`, "burst" or "max_burst", as a capacity.
// The message names the key.
Result<std::int64_t> parse_capacity(std::string_view key,
                                    std::string_view text);

// The rules that `rate` states, at `mark`.
RuleFields rules_of(const TextRate& rate, Mark mark);

// The algorithm that the text names, if it does.
std::optional<Algorithm> algorithm_of(const TextRate& rate);

// "30/1m", "30/1m-burst16", "5/1h-fixed_window-first": equal rates have equal
// names.
std::string name_of(const TextRate& rate);

}  // namespace limitree
