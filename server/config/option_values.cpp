#include "config/option_values.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "io/failure.hpp"
#include "limitree.hpp"

namespace limitree::server {

namespace {

constexpr Nanoseconds kHundredYears = 36'525ll * 86'400 * kSecond;

bool is_one_of(std::string_view text,
               std::initializer_list<std::string_view> words) {
  return std::find(words.begin(), words.end(), text) != words.end();
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

std::string lower(std::string_view text) {
  std::string made(text);
  std::transform(made.begin(), made.end(), made.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return made;
}

// "a, b or c".
std::string listed(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

// Takes a number without sign or exponent off the front of *text.
std::optional<double> take_number(std::string_view* text) {
  double number = 0;
  if (text->starts_with('-')) return std::nullopt;
  const auto [rest, error] =
      std::from_chars(text->data(), text->data() + text->size(), number,
                      std::chars_format::fixed);
  if (error != std::errc() || !std::isfinite(number)) return std::nullopt;
  text->remove_prefix(static_cast<std::size_t>(rest - text->data()));
  return number;
}

// Sets a field of each type.
class TargetSetter {
 public:
  TargetSetter(const Given& given, const ValueKind& kind)
      : given_(given), kind_(kind), text_(given.values.at(0)) {}

  // The words that Go takes.
  void operator()(bool* to) const {
    *to = is_one_of(text_, {"1", "t", "T", "true", "TRUE", "True"});
    if (!*to && !is_one_of(text_, {"0", "f", "F", "false", "FALSE", "False"})) {
      refuse(given_, "true or false");
    }
  }

  void operator()(std::string* to) const { *to = text_; }

  void operator()(std::size_t* to) const {
    std::int64_t number = 0;
    const char* const end = text_.data() + text_.size();
    const auto [rest, error] = std::from_chars(text_.data(), end, number);
    if (error != std::errc() || rest != end || number < kind_.least ||
        number > kind_.most) {
      refuse(given_, "a number from " + std::to_string(kind_.least) + " to " +
                         std::to_string(kind_.most));
    }
    *to = static_cast<std::size_t>(number);
  }

  void operator()(std::uint32_t* to) const {
    std::size_t number = 0;
    (*this)(&number);
    *to = static_cast<std::uint32_t>(number);
  }

  void operator()(double* to) const {
    std::string_view rest = text_;
    const std::optional<double> number = take_number(&rest);
    if (!number || !rest.empty() || *number > 1) {
      refuse(given_, "a number from 0 to 1");
    }
    *to = *number;
  }

  void operator()(Nanoseconds* to) const {
    if (given_.form == Form::kOriginal) {
      const std::optional<Nanoseconds> read = parse_go_duration(text_);
      if (!read) refuse(given_, "a duration such as 10s or 1h30m");
      *to = *read;
      return;
    }
    try {
      *to = parse_duration(text_);
    } catch (const Error& error) {
      throw Failure(given_.place + ": " + error.what());
    }
    if (*to > kHundredYears) {
      throw Failure(given_.place + ": must be at most 100 years");
    }
  }

  void operator()(std::vector<std::string>* to) const { *to = given_.values; }

  void operator()(Pairs* to) const {
    const bool original = given_.form == Form::kOriginal;
    const std::string_view kind = kind_.value;
    const char mark = kind.find('=') == kind.npos ? ':' : '=';
    to->clear();
    for (const std::string& one :
         original ? split(text_, ',') : given_.values) {
      // There, a colon is always possible.
      const std::size_t at =
          original ? one.find_first_of(std::string{mark, ':'}) : one.find(mark);
      const std::string name(trimmed(std::string_view(one).substr(0, at)));
      if (at != one.npos && (!original || !name.empty())) {
        to->emplace_back(name, trimmed(std::string_view(one).substr(at + 1)));
      } else if (original) {
        refuse(given_,
               std::string("name") + mark + "value,name" + mark + "value");
      } else {
        throw Failure(given_.place + ": '" + one + "' is not " + kind_.value);
      }
    }
  }

 private:
  const Given& given_;
  const ValueKind& kind_;
  const std::string& text_;
};

}  // namespace

void set_target(const Given& given, const ValueKind& kind, Target field) {
  std::visit(TargetSetter(given, kind), field);
}

std::size_t find_word(const Given& given,
                      const std::vector<std::string_view>& words) {
  const auto found =
      std::find_if(words.begin(), words.end(), [&](std::string_view word) {
        return lower(word) == lower(given.values.at(0));
      });
  if (found == words.end()) refuse(given, listed(words));
  return static_cast<std::size_t>(found - words.begin());
}

void refuse(const Given& given, const std::string& expected) {
  throw Failure(given.place + ": must be " + expected + ", is '" +
                given.values.at(0) + "'");
}

std::string shown_value(Target field) {
  if (auto* const text = std::get_if<std::string*>(&field)) return **text;
  if (auto* const number = std::get_if<std::uint32_t*>(&field)) {
    return std::to_string(**number);
  }
  if (auto* const number = std::get_if<std::size_t*>(&field)) {
    return std::to_string(**number);
  }
  if (auto* const share = std::get_if<double*>(&field)) {
    std::string text = std::to_string(**share);
    return text.substr(0, text.find_last_not_of(".0") + 1);
  }
  auto* const time = std::get_if<Nanoseconds*>(&field);
  if (time == nullptr) return {};
  if (**time == kNever) return "no limit";
  const Nanoseconds seconds = **time / kSecond;
  if (seconds % 60 != 0 || seconds == 0) return std::to_string(seconds) + 's';
  if (seconds % 3600 != 0) return std::to_string(seconds / 60) + 'm';
  return std::to_string(seconds / 3600) + 'h';
}

std::vector<std::string> split(std::string_view text, char mark) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t at = text.find(mark);
    parts.emplace_back(text.substr(0, at));
    if (at == text.npos) return parts;
    text.remove_prefix(at + 1);
  }
}

std::optional<Nanoseconds> parse_go_duration(std::string_view text) {
  std::int64_t duration_ns = 0;
  const limitree_status status =
      limitree_parse_go_duration(to_str(text), &duration_ns, nullptr);
  return status == LIMITREE_OK ? std::optional(duration_ns) : std::nullopt;
}

}  // namespace limitree::server
