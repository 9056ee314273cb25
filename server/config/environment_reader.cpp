#include "config/environment_reader.hpp"

#include <algorithm>

#include "io/failure.hpp"
#include "limitree.hpp"

namespace limitree::server {

std::optional<std::string> EnvironmentReader::text(
    const std::string& name) const {
  const char* const value = lookup_(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool EnvironmentReader::is_on(const std::string& name, bool otherwise) {
  bool on = otherwise;
  set(name, &on);
  return on;
}

std::optional<std::size_t> EnvironmentReader::word(
    const std::string& name, const std::vector<std::string_view>& words) {
  std::optional<std::size_t> found;
  read(name, [&](const Given& given) { found = find_word(given, words); });
  return found;
}

bool EnvironmentReader::set(const std::string& name, Target field,
                            const ValueKind& kind) {
  return read(name,
              [&](const Given& given) { set_target(given, kind, field); });
}

bool EnvironmentReader::read(
    const std::string& name,
    const std::function<void(const Given& given)>& set) {
  const std::optional<std::string> value = text(name);
  if (!value) return false;
  try {
    set({name, {*value}, Form::kOriginal});
    return true;
  } catch (const Failure& failure) {
    record(failure.what());
    return false;
  }
}

void EnvironmentReader::add_option(const std::string& name,
                                   const std::string& option,
                                   const std::string& value, Pairs* options) {
  try {
    Config().set(option, value);
    options->emplace_back(option, value);
  } catch (const Error& error) {
    std::string_view why = error.what();
    if (why.starts_with(option + ": ")) why.remove_prefix(option.size() + 2);
    fail(name, std::string(why));
  }
}

void EnvironmentReader::fail(const std::string& name, const std::string& why) {
  record(name + ": " + why);
}

// Several settings may read the same variable.
void EnvironmentReader::record(std::string message) {
  if (std::find(errors_.begin(), errors_.end(), message) == errors_.end()) {
    errors_.push_back(std::move(message));
  }
}

}  // namespace limitree::server
