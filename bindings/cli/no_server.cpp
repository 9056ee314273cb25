// `limitree serve` in a build without the server.

#include <CLI/CLI.hpp>
#include <stdexcept>

#include "arguments.hpp"
#include "command.hpp"

namespace limitree::cli {

std::vector<std::string> words_of_original(
    const std::vector<std::string>& /*words*/) {
  return {"serve"};
}

CLI::App* add_serve(CLI::App* app) {
  CLI::App* const serve =
      app->add_subcommand("serve", "Be the service (not in this build)");
  serve->allow_extras();
  return serve;
}

int run(const ServeOptions& /*options*/) {
  throw std::runtime_error(
      "serve: this limitree was built without nghttp2, llhttp, protozero, "
      "RE2 or protoc");
}

}  // namespace limitree::cli
