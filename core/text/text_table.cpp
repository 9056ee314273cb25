#include "text/text_table.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/calendar.hpp"
#include "base/lease.hpp"
#include "text/number.hpp"

namespace limitree {

namespace {

constexpr std::size_t kIndent = 2;
constexpr std::size_t kGap = 3;        // between the columns
constexpr std::size_t kMaxWidth = 40;  // longer lines stick out

}  // namespace

void TextTable::add(std::size_t indent, std::string left, std::string right) {
  left.insert(0, kIndent * indent, ' ');
  if (!right.empty() && left.size() <= kMaxWidth) {
    width_ = std::max(width_, left.size());
  }
  lines_.push_back({std::move(left), std::move(right)});
}

std::string TextTable::text() const {
  std::string text;
  for (const Line& line : lines_) {
    text += line.left;
    if (!line.right.empty()) {
      text.append(width_ - std::min(width_, line.left.size()) + kGap, ' ');
      text += line.right;
    }
    text += '\n';
  }
  return text;
}

namespace {

const char* align_in_words(Align align) {
  switch (align) {
    case Align::kFirst:
      return " from the first hit";
    case Align::kCalendar:
      return " by the calendar of ";
    case Align::kEpoch:
      break;
  }
  return "";
}

// The rules that make a limit differ from plain GCRA.
std::string rules_in_words(const Limit& limit) {
  if (limit.is_plain()) return "";
  const Rules& rules = *limit.rules;
  const bool is_concurrent = limit.algorithm == Algorithm::kConcurrent;
  std::string words;
  if (limit.algorithm != Algorithm::kGcra && !is_concurrent) {
    words += std::string(", ") + traits_of(limit.algorithm).name;
  }
  words += align_in_words(rules.align);
  if (rules.calendar != nullptr) words += rules.calendar->zone();
  if (limit.algorithm == Algorithm::kLeakyStep) words += " in steps";
  if (limit.algorithm == Algorithm::kSlidingWindow) {
    words += " of " + format_duration(rules.bucket) + " each";
  }
  if (rules.round_up) words += " rounded up";
  if (rules.overrun > 0) {
    words += ", overrun " + std::to_string(rules.overrun) + "%";
    if (rules.overrun_when_idle) words += " when idle";
  }
  if (limit.holds()) {
    words += ", held for at most " + format_duration(rules.hold);
    if (rules.frees && !is_concurrent) words += ", free if not settled";
  }
  return words;
}

// What a lease costs.
std::string lease_in_words(const Limit& limit) {
  if (!limit.is_leased()) return "";
  std::string words = ", leased for " + format_duration(limit.lease) +
                      (limit.denies_ahead ? " ahead" : "");
  if (!limit.is_plain()) return words;
  return words + ": burst " + std::to_string(limit.rate.capacity) + " of " +
         std::to_string(stated_capacity(limit.rate, limit.lease));
}

// What is left of a hold, in whole milliseconds.
std::string in_words(Duration left) {
  return spoken_duration(std::chrono::ceil<std::chrono::milliseconds>(left));
}

// 32 digits.
std::string hex(const HoldId& id) {
  std::string digits;
  for (const std::uint64_t word : {id.high, id.low}) {
    for (int shift = 60; shift >= 0; shift -= 4) {
      digits += "0123456789abcdef"[word >> shift & 15];
    }
  }
  return digits;
}

std::string charge_in_words(Charge charge) {
  switch (charge) {
    case Charge::kAllOrNothing:
      break;
    case Charge::kIndependent:
      return ", charged independently";
    case Charge::kAllOrDenying:
      return ", also charged if it denies";
    case Charge::kEveryHit:
      return ", counts every hit";
    case Charge::kDenials:
      return ", counts denials";
  }
  return "";
}

}  // namespace

std::string period_in_words(const Limit& limit) {
  const bool month = !limit.is_plain() && limit.rules->calendar != nullptr &&
                     limit.rules->calendar->unit() == Calendar::Unit::kMonth;
  return month ? "month" : format_duration(limit.period);
}

std::string mode_in_words(Mode mode) {
  if (mode == Mode::kEnforce) return {};
  // A limit in mode check, of a tree in shadow.
  if (mode == Mode::kIdle) return ", shadow, never charged";
  return std::string(", ") + mode_name(mode);
}

std::string limit_in_words(const Limit& limit) {
  if (limit.is_block()) {
    return counts(limit.mode) ? "denies all while blocked"
                              : "would deny all while blocked, shadow";
  }
  std::string words = std::to_string(limit.count) +
                      (limit.unit.empty() ? "" : " ") + limit.unit.str();
  words += limit.algorithm == Algorithm::kConcurrent
               ? " at once"
               : " per " + period_in_words(limit) + ", capacity " +
                     std::to_string(limit.rate.capacity);
  words += rules_in_words(limit) + lease_in_words(limit);
  if (limit.cost != 1) words += ", cost x" + std::to_string(limit.cost);
  return words + mode_in_words(limit.mode) + charge_in_words(limit.charge);
}

std::string held_in_words(const Plan& plan, std::span<const FoundHold> found) {
  TextTable table;
  while (!found.empty()) {
    const std::size_t at = found.front().level;
    const auto is_same = [at](const FoundHold& hold) {
      return hold.level == at;
    };
    const auto count = static_cast<std::size_t>(
        std::ranges::find_if_not(found, is_same) - found.begin());
    const std::span<const FoundHold> holds = found.first(count);
    found = found.subspan(count);
    const Limit& limit = *plan.levels[at].limit;
    std::int64_t units = 0;
    for (const FoundHold& hold : holds)
      units = saturating_sum(units, hold.units);
    table.add(1, limit.policy.str(),
              std::to_string(units) + (limit.unit.empty() ? "" : " ") +
                  limit.unit.str() + " in " + std::to_string(count) +
                  (count == 1 ? " hold" : " holds"));
    for (const FoundHold& hold : holds.first(std::min(count, kMostHoldLines))) {
      table.add(2, hex(hold.id),
                std::to_string(hold.units) + ", ends in " +
                    in_words(hold.ends_after));
    }
    if (count > kMostHoldLines) {
      table.add(2, "and " + std::to_string(count - kMostHoldLines) + " more",
                "the last ends in " + in_words(holds.back().ends_after));
    }
  }
  return table.text();
}

}  // namespace limitree
