#include "io/failure.hpp"

#include <system_error>

namespace limitree::server {

std::string error_text(int error_number) {
  std::string text = std::generic_category().message(error_number);
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

Failure::Failure(const std::string& what, int error_number)
    : std::runtime_error(what + ": " + error_text(error_number)) {}

}  // namespace limitree::server
