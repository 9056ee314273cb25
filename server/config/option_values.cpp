#include "config/option_values.hpp"

#include <algorithm>
#include <iterator>

#include "base/digits.hpp"
#include "io/failure.hpp"
#include "limitree.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr Duration kHundredYears = 36'525ll * 86'400 * kOneSecond;

// Sets a target of each type.
class TargetSetter {
 public:
  TargetSetter(const OptionValue& value, const ValueKind& kind)
      : value_(value), kind_(kind), text_(value.text()) {}

  // The words that Go takes.
  void operator()(bool* to) const {
    static constexpr std::string_view kWords[] = {
        "0", "f", "F", "false", "FALSE", "False",
        "1", "t", "T", "true",  "TRUE",  "True"};
    const auto found = std::ranges::find(kWords, text_);
    if (found == std::end(kWords)) refuse(value_, "true or false");
    *to = found - kWords >= 6;
  }

  void operator()(std::string* to) const { *to = text_; }

  void operator()(std::size_t* to) const {
    std::int64_t number = 0;
    if (!read_digits(text_, &number) || number < kind_.least ||
        number > kind_.most) {
      refuse(value_, "a number from " + std::to_string(kind_.least) + " to " +
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
    double number = 0;
    if (!read_digits(text_, &number, std::chars_format::fixed) ||
        !(number >= 0 && number <= 1)) {
      refuse(value_, "a number from 0 to 1");
    }
    *to = number;
  }

  void operator()(Duration* to) const {
    if (value_.is_original) {
      std::int64_t duration_ns = 0;
      if (limitree_parse_go_duration(to_str(text_), &duration_ns, nullptr) <
          0) {
        refuse(value_, "a duration such as 10s or 1h30m");
      }
      *to = Duration(duration_ns);
      return;
    }
    try {
      *to = Duration(parse_duration(text_));
    } catch (const Error& error) {
      throw Failure(value_.place + ": " + error.what());
    }
    if (*to > kHundredYears) {
      throw Failure(value_.place + ": must be at most 100 years");
    }
  }

  void operator()(std::vector<std::string>* to) const { *to = value_.values; }

  void operator()(Pairs* to) const {
    const bool original = value_.is_original;
    const std::string_view kind = kind_.value;
    const char mark = kind.find('=') == kind.npos ? ':' : '=';
    // envoyproxy/ratelimit always accepts a colon, too.
    const std::string marks =
        original ? std::string{mark, ':'} : std::string{mark};
    to->clear();
    for (const std::string& one :
         original ? split(text_, ',') : value_.values) {
      const std::size_t at = one.find_first_of(marks);
      const std::string_view text = one;
      const auto name = trimmed(text.substr(0, at), " ");
      if (at != one.npos && (!original || !name.empty())) {
        to->emplace_back(name, trimmed(text.substr(at + 1), " "));
      } else if (original && !kind_.secret) {
        refuse(value_,
               std::string("name") + mark + "value,name" + mark + "value");
      } else if (kind_.secret) {
        throw Failure(value_.place + ": one is not " + kind_.value);
      } else {
        throw Failure(value_.place + ": '" + one + "' is not " + kind_.value);
      }
    }
  }

  void operator()(const std::function<void(const OptionValue&)>& set) const {
    set(value_);
  }

 private:
  const OptionValue& value_;
  const ValueKind& kind_;
  const std::string& text_;
};

// Shows the fields of each type that have a default to show.
struct Shown {
  std::string operator()(std::string* text) const { return *text; }
  std::string operator()(std::uint32_t* number) const {
    return std::to_string(*number);
  }
  std::string operator()(std::size_t* number) const {
    return std::to_string(*number);
  }
  std::string operator()(double* share) const {
    const std::string text = std::to_string(*share);
    return text.substr(0, text.find_last_not_of(".0") + 1);
  }
  std::string operator()(Duration* time) const {
    if (*time == kNever) return "no limit";
    const std::int64_t seconds = *time / kOneSecond;
    if (seconds % 60 != 0 || seconds == 0) return std::to_string(seconds) + 's';
    if (seconds % 3600 != 0) return std::to_string(seconds / 60) + 'm';
    return std::to_string(seconds / 3600) + 'h';
  }
  std::string operator()(const auto& /*other*/) const { return {}; }
};

}  // namespace

void set_target(const OptionValue& value, const ValueKind& kind,
                const Target& target) {
  std::visit(TargetSetter(value, kind), target);
}

Target limit_or_zero(Duration* to) {
  return [to](const OptionValue& value) {
    set_target(value, {}, to);
    if (*to <= Duration::zero()) *to = kNever;
  };
}

Target more_than_zero(Duration* to) {
  return [to](const OptionValue& value) {
    set_target(value, {}, to);
    if (*to < kMillisecond) refuse(value, "at least 1ms");
  };
}

std::size_t find_word(const OptionValue& value, std::string_view words) {
  const std::vector<std::string> all = split(words, ' ');
  const auto found = std::ranges::find_if(all, [&](const std::string& word) {
    return lower(word) == lower(value.text());
  });
  if (found != all.end()) return static_cast<std::size_t>(found - all.begin());
  std::string expected = all.front();
  for (std::size_t i = 1; i < all.size(); ++i) {
    expected += (i + 1 == all.size() ? " or " : ", ") + all[i];
  }
  refuse(value, expected);
}

void refuse(const OptionValue& value, const std::string& expected) {
  throw Failure(value.place + ": must be " + expected + ", is '" +
                value.text() + "'");
}

std::string shown_value(const Target& target) {
  return std::visit(Shown(), target);
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

}  // namespace limitree::server
