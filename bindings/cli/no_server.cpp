// `limitree serve` in a build without the server.

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "arguments.hpp"

namespace limitree::cli {

std::vector<std::string> words_of_original(
    const std::vector<std::string>& /*words*/) {
  return {"serve"};
}

void add_serve(CLI::App* app) {
  CLI::App* const serve =
      app->add_subcommand("serve", "Be the service (not in this build)");
  serve->allow_extras();
  serve->callback([] {
    throw std::runtime_error(
        "serve: this limitree was built without nghttp2, llhttp, protozero, "
        "RE2 or protoc, or is that of ./dev demo: run ./dev build");
  });
}

}  // namespace limitree::cli
