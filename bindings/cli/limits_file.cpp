#include "limits_file.hpp"

#include "line_reader.hpp"
#include "terminal.hpp"

namespace limitree::cli {

namespace {

// The core refuses larger texts; reading more would only fill memory.
constexpr std::size_t kMaxLimits = 64 * 1024 * 1024;
constexpr std::size_t kBlock = 64 * 1024;

}  // namespace

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

std::string shown_name(const std::string& name) {
  return name == "-" ? "standard input" : name;
}

void read_limits(const std::string& name, Config* config) {
  config->set_limits(read_all(name), shown_name(name));
}

std::string read_limits(const LimitsSource& source, Config* config) {
  std::string yaml = read_all(source.limits);
  if (source.format.empty()) {
    config->set_limits(yaml, shown_name(source.limits));
    return yaml;
  }
  const std::string& second = source.others.front();
  const std::string overrides = read_all(second);
  const Text text = limits_from_boulder(yaml, shown_name(source.limits),
                                        overrides, shown_name(second));
  for (const std::string& warning : text.warnings()) {
    write_error_line("warning: " + warning);
  }
  yaml = text.view();
  config->set_limits(yaml, "limits from " + shown_name(source.limits));
  return yaml;
}

}  // namespace limitree::cli
