#include "io/failure.hpp"

#include <system_error>

namespace limitree {

std::string as_clause(std::string text) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (text.size() > 1 && text[0] >= 'A' && text[0] <= 'Z' &&
      (is_lower(text[1]) || text[1] == ' ')) {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

std::string error_text(int error_number) {
  return as_clause(std::system_category().message(error_number));
}

Failure::Failure(const std::string& what, int error_number)
    : std::runtime_error(what + ": " + error_text(error_number)) {}

}  // namespace limitree
