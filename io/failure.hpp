// Why something failed: one line for people.

#pragma once

#include <stdexcept>
#include <string>

namespace limitree {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // "listen on 127.0.0.1:8081: address already in use" for errno EADDRINUSE.
  Failure(const std::string& what, int error_number);
};

// The text of another library in the middle of a message: without its capital,
// unless that belongs to an abbreviation.
std::string as_clause(std::string text);

// What errno means, as the end of a sentence: "address already in use".
std::string error_text(int error_number);

}  // namespace limitree
