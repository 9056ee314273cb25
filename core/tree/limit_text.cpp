#include "tree/limit_text.hpp"

#include <algorithm>
#include <utility>

#include "text/number.hpp"

namespace limitree {

namespace {

constexpr std::string_view kBurst = "burst";
constexpr std::string_view kMaxBurst = "max_burst";
constexpr std::string_view kFirst = "first";

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

// The words after a period, which may be in any order, but only once each.
class Ending {
 public:
  // Takes them off *period.
  explicit Ending(std::string_view* period) {
    while (take_one(period)) continue;
  }

  std::string burst_key;  // empty, kBurst or kMaxBurst ...
  std::string_view burst;
  std::string_view algorithm;  // empty, or one of kAlgorithmWords
  bool from_first = false;

 private:
  bool take_one(std::string_view* period);
};

bool Ending::take_one(std::string_view* period) {
  std::string_view rest = *period;
  const std::string_view last = take_last_word(&rest);
  const std::string word = lower_case(last);
  const auto known = std::ranges::find(kAlgorithmWords, word);
  if (algorithm.empty() && known != kAlgorithmWords.end()) {
    algorithm = *known;
  } else if (!from_first && word == kFirst) {
    from_first = true;
  } else {
    std::string key = lower_case(take_last_word(&rest));
    if (!burst_key.empty() || (key != kBurst && key != kMaxBurst)) return false;
    burst_key = std::move(key);
    burst = last;
  }
  *period = rest;
  return true;
}

// Whether `period` is one, but for its last word, which is no unit.
bool ends_with_unknown_word(std::string_view period) {
  const std::string word = lower_case(take_last_word(&period));
  return !word.empty() && word[0] >= 'a' && word[0] <= 'z' && word != kBurst &&
         word != kMaxBurst && word != kFirst &&
         !contains(kAlgorithmWords, word) && parse_period(period).ok() &&
         !parse_period(word).ok();
}

// Reads one rate after the other.  A separator ends a rate only after its "/".
// So "1,000/day" is one rate, and its count is refused because of the comma.
class RateReader {
 public:
  explicit RateReader(std::string_view text) : text_(text) {}

  Result<std::vector<TextRate>> read();

 private:
  void read_one(std::string_view text, Per per);
  // Refuses what no tree would take.
  void check(const TextRate& read, bool has_burst, std::string_view rate);
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
  const Ending ending(&period);

  TextRate read;
  read.count =
      checked(parse_integer(trim(text.substr(0, per.at)), 1), "count ", rate);
  if (ends_with_unknown_word(period)) {
    refuse(rate,
           unknown_word("algorithm", take_last_word(&period), kAlgorithmWords));
  } else {
    read.period = checked(parse_period(period), "period ", rate);
  }
  read.capacity =
      ending.burst_key.empty()
          ? read.count
          : checked(parse_capacity(ending.burst_key, ending.burst), "", rate);
  read.algorithm = ending.algorithm;
  read.from_first = ending.from_first;
  if (error_.messages.size() != mistakes) return;
  check(read, !ending.burst_key.empty(), rate);
  if (error_.messages.size() == mistakes) rates_.push_back(read);
}

void RateReader::check(const TextRate& read, bool has_burst,
                       std::string_view rate) {
  Limit limit;
  limit.count = read.count;
  limit.period = read.period;
  limit.rate =
      checked(make_rate(read.count, read.period, read.capacity), "", rate);
  if (limit.rate.capacity == 0) return;
  RuleFields rules = rules_of(read, Mark());
  if (has_burst) rules.burst = Mark();
  Problems problems;
  apply_rules(rules, Mark(), &limit, &problems);
  for (std::string& what : problems.texts()) refuse(rate, std::move(what));
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

RuleFields rules_of(const TextRate& rate, Mark mark) {
  RuleFields rules;
  if (!rate.algorithm.empty()) rules.algorithm = Value{rate.algorithm, mark};
  if (rate.from_first) rules.align = Value{kFirst, mark};
  return rules;
}

std::optional<Algorithm> algorithm_of(const TextRate& rate) {
  if (rate.algorithm.empty()) return std::nullopt;
  const auto known =
      std::ranges::find(kAlgorithms, rate.algorithm, &AlgorithmTraits::name);
  const bool steps =
      known != kAlgorithms.end() && known->algorithm == Algorithm::kLeakyStep;
  return known == kAlgorithms.end() || steps ? Algorithm::kGcra
                                             : known->algorithm;
}

std::string name_of(const TextRate& rate) {
  std::string name =
      std::to_string(rate.count) + "/" + format_duration(rate.period);
  if (rate.capacity != rate.count) {
    name += "-burst" + std::to_string(rate.capacity);
  }
  const Algorithm algorithm = algorithm_of(rate).value_or(Algorithm::kGcra);
  if (algorithm != Algorithm::kGcra) {
    name.append("-").append(traits_of(algorithm).name);
  }
  if (rate.from_first) name.append("-").append(kFirst);
  return name;
}

}  // namespace limitree
