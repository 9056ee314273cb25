#include "duration_option.hpp"

#include "limitree.hpp"

namespace limitree::cli {

namespace {

constexpr std::int64_t kHundredYears = 36'525ll * 86'400 * 1'000'000'000;

std::int64_t read(const std::string& name, const std::string& text) {
  std::int64_t duration_ns = 0;
  try {
    duration_ns = parse_duration(text);
  } catch (const Error& error) {
    throw CLI::ValidationError(name, error.what());
  }
  if (duration_ns <= kHundredYears) return duration_ns;
  throw CLI::ValidationError(name, "must be at most 100 years");
}

}  // namespace

void add_duration(CLI::App* app, const std::string& name,
                  std::int64_t* duration_ns, const std::string& help) {
  const auto set = [name, duration_ns](const std::string& text) {
    *duration_ns = read(name, text);
  };
  app->add_option_function<std::string>(name, set, help)->type_name("DURATION");
}

}  // namespace limitree::cli
