#include "tree/limit_text.hpp"

#include <utility>

#include "base/limit.hpp"
#include "text/number.hpp"
#include "text/problems.hpp"

namespace limitree {

namespace {

constexpr std::string_view kBurst = "burst";
constexpr std::string_view kMaxBurst = "max_burst";

// The first "/" of a text, or "per" between blanks.
struct Per {
  std::size_t at = std::string_view::npos;
  std::size_t size = 0;
};

Per find_per(std::string_view text) {
  constexpr std::string_view kPer = "per";
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '/') return {at, 1};
    const std::string_view rest = text.substr(at);
    if (is_blank(rest[0]) && rest.size() > kPer.size() + 1 &&
        lower_case(rest.substr(1, kPer.size())) == kPer &&
        is_blank(rest[1 + kPer.size()])) {
      return {at, 1 + kPer.size()};
    }
  }
  return {};
}

// Takes the last word off *text; empty if there is no word.
std::string_view take_last_word(std::string_view* text) {
  std::size_t first = text->size();
  while (first > 0 && !is_blank((*text)[first - 1])) --first;
  const std::string_view word = text->substr(first);
  *text = trim(text->substr(0, first));
  return word;
}

// Reads one rate after the other.  A separator ends a rate only after its "/".
// So "1,000/day" is one rate, and its count is refused because of the comma.
class RateReader {
 public:
  explicit RateReader(std::string_view text) : text_(text) {}

  Result<std::vector<TextRate>> read();

 private:
  void read_one(std::string_view text, Per per);
  void refuse(std::string_view rate, std::string what);
  // Returns the value of `result`, or reports `what` and the reason.
  template <typename T>
  T checked(Result<T> result, std::string_view what, std::string_view rate);

  const std::string_view text_;
  std::vector<TextRate> rates_;
  Error error_{Code::kInvalidConfig, {}};
};

void RateReader::refuse(std::string_view rate, std::string what) {
  error_.messages.push_back(std::move(what) + ", in " + quote(rate));
}

template <typename T>
T RateReader::checked(Result<T> result, std::string_view what,
                      std::string_view rate) {
  if (result.ok()) return result.value();
  refuse(rate, std::string(what) + result.status().message());
  return {};
}

Result<std::vector<TextRate>> RateReader::read() {
  std::string_view rest = text_;
  while (true) {
    const Per per = find_per(rest);
    if (per.at == rest.npos) {
      error_.messages.push_back(
          "a limit is written as \"30/minute\" or \"30 per 60s burst 16\", "
          "is " +
          quote(rest));
      break;
    }
    const std::size_t end = rest.find_first_of(";,|", per.at + per.size);
    read_one(rest.substr(0, end), per);
    if (end == rest.npos) break;
    rest.remove_prefix(end + 1);
  }
  if (!error_.messages.empty()) return Status(std::move(error_));
  return std::move(rates_);
}

void RateReader::read_one(std::string_view text, Per per) {
  const std::size_t mistakes = error_.messages.size();
  const std::string_view rate = trim(text);
  std::string_view period = trim(text.substr(per.at + per.size));
  std::string_view before = period;
  const std::string_view number = take_last_word(&before);
  const std::string key = lower_case(take_last_word(&before));
  const bool has_burst = key == kBurst || key == kMaxBurst;
  if (has_burst) period = before;

  TextRate read;
  read.count =
      checked(parse_integer(trim(text.substr(0, per.at)), 1), "count ", rate);
  read.period = checked(parse_period(period), "period ", rate);
  read.capacity =
      has_burst ? checked(parse_capacity(key, number), "", rate) : read.count;
  if (error_.messages.size() != mistakes) return;
  checked(make_rate(read.count, read.period, read.capacity), "", rate);
  rates_.push_back(read);
}

}  // namespace

Result<std::vector<TextRate>> parse_rates(std::string_view text) {
  return RateReader(text).read();
}

Result<std::int64_t> parse_capacity(std::string_view key,
                                    std::string_view text) {
  const bool less_one = key == kMaxBurst;
  Result<std::int64_t> number = parse_integer(text, less_one ? 0 : 1);
  if (!number.ok()) {
    return Status(Code::kInvalidConfig,
                  std::string(key) + " " + number.status().message());
  }
  std::int64_t capacity = 0;
  if (__builtin_add_overflow(number.value(), less_one ? 1 : 0, &capacity)) {
    return Status(Code::kInvalidConfig,
                  std::string(key) + " is too large: " + quote(text));
  }
  return capacity;
}

std::string name_of(const TextRate& rate) {
  std::string name =
      std::to_string(rate.count) + "/" + format_duration(rate.period);
  if (rate.capacity != rate.count) {
    name += "-burst" + std::to_string(rate.capacity);
  }
  return name;
}

}  // namespace limitree
