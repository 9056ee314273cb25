// Exceptions that end a command: the message for people, and the exit code.

#pragma once

#include <stdexcept>
#include <string>
#include <system_error>

namespace limitree::cli {

// The command line is not valid; exit code kExitUsage.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A file cannot be read or written; exit code kExitBadInput.
class FileError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // "access.log: no such file or directory" for errno ENOENT.
  FileError(const std::string& name, int error_number)
      : std::runtime_error(name + ": " + reason(error_number)) {}

 private:
  // Messages of this project begin with a small letter; messages of the system
  // do not.
  static std::string reason(int error_number) {
    std::string text = std::generic_category().message(error_number);
    if (!text.empty() && text[0] >= 'A' && text[0] <= 'Z') {
      text[0] = static_cast<char>(text[0] - 'A' + 'a');
    }
    return text;
  }
};

}  // namespace limitree::cli
