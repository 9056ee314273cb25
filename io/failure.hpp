// Why the service cannot start or go on: one line for people.

#ifndef LIMITREE_IO_FAILURE_HPP
#define LIMITREE_IO_FAILURE_HPP

#include <stdexcept>
#include <string>

namespace limitree::server {

class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
  // "listen on 127.0.0.1:8081: address already in use" for errno EADDRINUSE.
  Failure(const std::string& what, int error_number);
};

// What errno means, as the end of a sentence: "address already in use".
std::string error_text(int error_number);

}  // namespace limitree::server

#endif  // LIMITREE_IO_FAILURE_HPP
