#include "tree/limit_text.hpp"

#include <string>

#include "tree/number.hpp"
#include "tree/problems.hpp"

namespace limitree {

namespace {

// Takes the last word off *text; empty if there is none.
std::string_view take_last_word(std::string_view* text) {
  const std::size_t blank = text->find_last_of(" \t");
  const std::size_t first = blank == text->npos ? 0 : blank + 1;
  const std::string_view word = text->substr(first);
  *text = trim(text->substr(0, first));
  return word;
}

// "60s burst 16": sets burst and burst_key, and leaves "60s" in *rest.
void take_burst(std::string_view* rest, LimitText* parts) {
  std::string_view before = *rest;
  const std::string_view number = take_last_word(&before);
  const std::string_view key = take_last_word(&before);
  if (key != "burst" && key != "max_burst") return;
  parts->burst = number;
  parts->burst_key = key;
  *rest = before;
}

}  // namespace

Result<LimitText> split_limit_text(std::string_view text) {
  constexpr std::string_view kPer = " per ";
  std::size_t size = 1;
  std::size_t at = text.find('/');
  if (at == text.npos) {
    at = text.find(kPer);
    size = kPer.size();
  }
  if (at == text.npos) {
    return Status(Code::kInvalidConfig,
                  "a limit is written as \"30/minute\" or \"30 per 60s burst "
                  "16\", is " +
                      quote(text));
  }
  LimitText parts;
  parts.count = trim(text.substr(0, at));
  std::string_view rest = trim(text.substr(at + size));
  take_burst(&rest, &parts);
  parts.period = rest;
  return parts;
}

}  // namespace limitree
