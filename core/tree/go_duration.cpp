#include "tree/go_duration.hpp"

#include <array>
#include <cstdint>

#include "text/number.hpp"

namespace limitree {

namespace {

struct Unit {
  std::string_view name;
  std::int64_t ns;
};

// Ordered so that no unit is a prefix of a later one.
constexpr std::array<Unit, 8> kUnits = {{{"ns", 1},
                                         {"us", 1'000},
                                         {"\xc2\xb5s", 1'000},
                                         {"\xce\xbcs", 1'000},
                                         {"ms", 1'000'000},
                                         {"s", 1'000'000'000},
                                         {"m", 60'000'000'000},
                                         {"h", 3'600'000'000'000}}};

// Takes digits off the front of *text; false if there are too many.
bool take_digits(std::string_view* text, std::int64_t* number) {
  *number = 0;
  while (!text->empty() && is_digit(text->front())) {
    if (__builtin_mul_overflow(*number, 10, number) ||
        __builtin_add_overflow(*number, text->front() - '0', number)) {
      return false;
    }
    text->remove_prefix(1);
  }
  return true;
}

// Takes ".25" off the front of *text and returns that part of `unit`.
std::int64_t take_fraction(std::string_view* text, std::int64_t unit) {
  std::int64_t part = 0;
  for (text->remove_prefix(1); !text->empty() && is_digit(text->front());
       text->remove_prefix(1)) {
    part += (text->front() - '0') * (unit / 10);
    unit /= 10;
  }
  return part;
}

const Unit* find_unit(std::string_view text) {
  for (const Unit& unit : kUnits) {
    if (text.starts_with(unit.name)) return &unit;
  }
  return nullptr;
}

// Takes "1.5h" off the front of *text and adds it to *sum.
bool take_part(std::string_view* text, std::int64_t* sum) {
  const std::size_t end = text->find_first_not_of("0123456789.");
  if (end == 0 || end == text->npos) return false;
  std::string_view number = text->substr(0, end);
  const Unit* const unit = find_unit(text->substr(end));
  if (unit == nullptr || number == ".") return false;
  text->remove_prefix(end + unit->name.size());

  std::int64_t whole = 0;
  if (!take_digits(&number, &whole)) return false;
  const std::int64_t part =
      number.starts_with('.') ? take_fraction(&number, unit->ns) : 0;
  return number.empty() && !__builtin_mul_overflow(whole, unit->ns, &whole) &&
         !__builtin_add_overflow(whole, part, &whole) &&
         !__builtin_add_overflow(*sum, whole, sum);
}

}  // namespace

std::optional<Duration> parse_go_duration(std::string_view text) {
  if (text == "0") return Duration::zero();
  if (text.empty()) return std::nullopt;
  std::int64_t sum = 0;
  while (!text.empty()) {
    if (!take_part(&text, &sum)) return std::nullopt;
  }
  return Duration(sum);
}

}  // namespace limitree
