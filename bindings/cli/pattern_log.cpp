// Reads lines that a `log_format` of nginx describes:
//
//   $remote_addr - [$time_local] "$request" $status
//
// Each value ends where the text after its variable begins for the first time.
// Within quotes, a quote after an odd number of backslashes is part of a value.

#include <string>
#include <utility>
#include <vector>

#include "failure.hpp"
#include "log_values.hpp"

namespace limitree::cli {

namespace {

[[noreturn]] void refuse_pattern(std::size_t at, const std::string& reason) {
  throw UsageError("--format, column " + std::to_string(at + 1) + ": " +
                   reason);
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9') || c == '_';
}

// Cuts "$name" or "${name}" off `text` at *at, and moves *at after it.
std::string_view cut_name(std::string_view text, std::size_t* at) {
  const std::size_t dollar = (*at)++;
  const bool braces = text.substr(*at).starts_with('{');
  if (braces) ++*at;
  const std::size_t begin = *at;
  while (*at < text.size() && is_name(text[*at])) ++*at;
  const std::string_view name = text.substr(begin, *at - begin);
  if (name.empty()) refuse_pattern(dollar, "no name after '$'");
  if (braces) {
    if (!text.substr(*at).starts_with('}')) {
      refuse_pattern(dollar, "a '{' is never closed");
    }
    ++*at;
  }
  return name;
}

class PatternLog : public LogFormat {
 public:
  PatternLog(std::string_view pattern, bool open, LogFields* fields);

  std::optional<LineMistake> parse(std::string_view line,
                                   LogRequest* request) override;

 private:
  struct Part {
    std::string before;  // literal text
    std::string name;
    Slot slot;
  };

  void add_part(std::string_view name, std::string before, LogFields* fields);
  LineMistake mistake(std::string reason, std::size_t at);

  std::vector<Part> parts_;
  std::string after_;  // literal text at the end
  bool open_;
  std::string reason_;
  LogValues values_;
};

PatternLog::PatternLog(std::string_view pattern, bool open, LogFields* fields)
    : open_(open) {
  std::string literal;
  bool has_time = false;
  for (std::size_t at = 0; at < pattern.size();) {
    if (pattern[at] != '$') {
      literal += pattern[at++];
      continue;
    }
    const std::size_t dollar = at;
    const std::string_view name = cut_name(pattern, &at);
    if (literal.empty() && !parts_.empty()) {
      refuse_pattern(dollar, "there must be text between $" +
                                 parts_.back().name + " and $" +
                                 std::string(name));
    }
    add_part(name, std::exchange(literal, {}), fields);
    has_time = has_time || parts_.back().slot == Slot::kTime;
  }
  after_ = std::move(literal);
  if (has_time) return;
  throw UsageError(
      "--format: no time; there must be $time_local, $time_iso8601 or $msec");
}

void PatternLog::add_part(std::string_view name, std::string before,
                          LogFields* fields) {
  Slot slot = Slot::kIgnored;
  if (const auto known = known_slot(name)) {
    slot = *known;
  } else if (open_) {
    if (name == "remote_addr_port") slot = Slot::kPeer;
    if (name == "url_request") slot = Slot::kUrlRequest;
  } else if (const auto other = fields->add(name)) {
    slot = slot_of(*other);
  } else {
    throw UsageError("--format: more than " + std::to_string(kMaxFields) +
                     " fields, at $" + std::string(name));
  }
  add_fields(slot, fields);
  parts_.push_back({std::move(before), std::string(name), slot});
}

LineMistake PatternLog::mistake(std::string reason, std::size_t at) {
  reason_ = std::move(reason);
  return {reason_, at + 1};
}

std::optional<LineMistake> PatternLog::parse(std::string_view line,
                                             LogRequest* request) {
  if (line.empty()) return mistake("the line is empty", 0);
  values_.start();
  std::string_view rest = line;
  std::size_t time_at = 0;
  const auto at = [&] { return line.size() - rest.size(); };
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const Part& part = parts_[i];
    if (!rest.starts_with(part.before)) {
      return mistake("no '" + part.before + "' before $" + part.name, at());
    }
    rest.remove_prefix(part.before.size());
    const bool last = i + 1 == parts_.size();
    const std::string& next = last ? after_ : parts_[i + 1].before;
    std::size_t size = rest.size();
    if (part.before.ends_with('"') && next.starts_with('"')) {
      std::string_view quoted = line.substr(at() - 1);
      const auto text = cut_quoted(&quoted);
      size = text ? text->size() : rest.npos;
    } else if (!next.empty()) {
      size = rest.find(next);
    }
    if (size == rest.npos) {
      return mistake("no '" + next + "' after $" + part.name, at());
    }
    if (part.slot == Slot::kTime) time_at = at();
    values_.set(part.slot, rest.substr(0, size));
    rest.remove_prefix(size);
  }
  if (!rest.starts_with(after_)) {
    return mistake("no '" + after_ + "' at the end", at());
  }
  rest.remove_prefix(after_.size());
  if (!rest.empty() && !open_) {
    return mistake("the line goes on after the format", at());
  }
  if (!values_.finish(request)) return std::nullopt;
  return mistake("not a time", time_at);
}

}  // namespace

std::unique_ptr<LogFormat> make_pattern_log(std::string_view pattern, bool open,
                                            LogFields* fields) {
  return std::make_unique<PatternLog>(pattern, open, fields);
}

}  // namespace limitree::cli
