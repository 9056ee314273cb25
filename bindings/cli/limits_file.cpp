#include "limits_file.hpp"

#include "line_reader.hpp"

namespace limitree::cli {

namespace {

// The core refuses larger ones; reading on would only fill memory.
constexpr std::size_t kMaxLimits = 64 * 1024 * 1024;
constexpr std::size_t kBlock = 64 * 1024;

std::string read_all(const std::string& name) {
  InputFile file(name);
  std::string text;
  while (text.size() <= kMaxLimits) {
    const std::size_t size = text.size();
    text.resize(size + kBlock);
    const std::size_t got = file.read(text.data() + size, kBlock);
    text.resize(size + got);
    if (got == 0) break;
  }
  return text;
}

}  // namespace

void read_limits(const std::string& name, Config* config) {
  config->set_limits(read_all(name), name == "-" ? "standard input" : name);
}

}  // namespace limitree::cli
