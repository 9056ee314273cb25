// `limitree serve` in a build without the server.

#include <stdexcept>

#include "command.hpp"

namespace limitree::cli {

int run(const ServeOptions& /*options*/) {
  throw std::runtime_error(
      "serve: this limitree was built without nghttp2, llhttp, protozero, "
      "RE2 or protoc");
}

}  // namespace limitree::cli
