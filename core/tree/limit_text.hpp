// Limits in words: "30/minute", "30 per 60s burst 16", "5/s; 100/2h".
//
// The one grammar of such texts, wherever they stand: after `limits:` and, by
// limitree_parse_rates, beside the functions of every language.

#ifndef LIMITREE_TREE_LIMIT_TEXT_HPP
#define LIMITREE_TREE_LIMIT_TEXT_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "base/time.hpp"

namespace limitree {

// What such a text says of one limit.
struct TextRate {
  std::int64_t count = 0;
  Duration period{};
  std::int64_t capacity = 0;  // the count, if the text does not say it

  friend bool operator==(const TextRate&, const TextRate&) = default;
};

// Reads COUNT (/ | per) DURATION [burst N | max_burst N], or several of these
// with ; or , or | between them; words may be in any case.  What is accepted
// make_rate() accepts too.  kInvalidConfig with a message for each mistake.
Result<std::vector<TextRate>> parse_rates(std::string_view text);

// What follows the word `key`, "burst" or "max_burst", as a capacity.  The
// message of a refusal names the key.
Result<std::int64_t> parse_capacity(std::string_view key,
                                    std::string_view text);

// "30/1m", "30/1m-burst16": the same for rates that are the same.
std::string name_of(const TextRate& rate);

}  // namespace limitree

#endif  // LIMITREE_TREE_LIMIT_TEXT_HPP
