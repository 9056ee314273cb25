#include "failure.hpp"

#include <system_error>

namespace limitree::cli {

namespace {

std::string reason(int error_number) {
  std::string text = std::generic_category().message(error_number);
  // Messages of this project begin with a small letter; make the system's
  // agree.
  if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
    text[0] = static_cast<char>(text[0] - 'A' + 'a');
  }
  return text;
}

}  // namespace

FileError::FileError(const std::string& name, int error_number)
    : std::runtime_error(name + ": " + reason(error_number)) {}

}  // namespace limitree::cli
