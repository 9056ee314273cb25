// Exceptions that end a command: the message for people, and the exit code.

#ifndef LIMITREE_CLI_FAILURE_HPP
#define LIMITREE_CLI_FAILURE_HPP

#include <stdexcept>
#include <string>

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
  FileError(const std::string& name, int error_number);
};

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_FAILURE_HPP
