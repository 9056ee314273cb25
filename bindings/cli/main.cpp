// The `limitree` command.  Everything about limits comes from the C interface.

#include <algorithm>
#include <clocale>
#include <csignal>
#include <exception>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arguments.hpp"
#include "command.hpp"
#include "failure.hpp"
#include "limitree.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

// A mistake in a limits.yaml is reported as file:line:column, as compilers do,
// so that editors find the place.  Other messages begin with the program's
// name.
void complain_of(const Error& error) {
  if (error.status() == LIMITREE_INVALID_CONFIG) {
    for (const std::string& message : error.messages()) {
      write_error_line(message);
    }
  } else {
    complain(error.what());
  }
}

bool is_original(std::string_view program) {
  return program.substr(program.rfind('/') + 1) == kOriginal;
}

int run_and_report(std::vector<std::string> words) {
  try {
    return run_command_line(std::move(words));
  } catch (const UsageError& error) {
    complain(error.what());
    return kExitUsage;
  } catch (const Error& error) {
    complain_of(error);
  } catch (const std::bad_alloc&) {
    complain("out of memory");
  } catch (const std::exception& error) {
    complain(error.what());
  }
  return kExitBadInput;
}

}  // namespace

}  // namespace limitree::cli

int main(int argc, char** argv) {
  std::setlocale(LC_CTYPE, "");
  // `limitree check limits.yaml | head`: write() reports that head has ended.
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (argc > 0 && limitree::cli::is_original(argv[0])) {
    words = limitree::cli::words_of_original(words);
  }
  return limitree::cli::run_and_report(std::move(words));
}
