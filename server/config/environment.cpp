#include "config/environment.hpp"

#include <algorithm>
#include <string_view>

#include "io/failure.hpp"
#include "limitree.hpp"

namespace limitree::server {

std::optional<std::string> EnvironmentReader::text(
    const std::string& name) const {
  const char* const value = lookup_(name.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

std::optional<std::string> EnvironmentReader::file_of(const std::string& name) {
  std::optional<std::string> file = text(name + "_FILE");
  if (file && has(name)) fail(name + "_FILE", "excludes " + name);
  return file;
}

bool EnvironmentReader::is_on(const std::string& name, bool otherwise) {
  bool on = otherwise;
  set(name, &on);
  return on;
}

std::optional<std::size_t> EnvironmentReader::word(const std::string& name,
                                                   const char* words) {
  std::optional<std::size_t> found;
  set(name, [&](const OptionValue& value) { found = find_word(value, words); });
  return found;
}

bool EnvironmentReader::set(const std::string& name, const Target& target,
                            const ValueKind& kind) {
  const std::optional<std::string> value = text(name);
  if (!value) return false;
  try {
    set_target({name, {*value}, true}, kind, target);
    return true;
  } catch (const Failure& failure) {
    add_error(failure.what());
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

void EnvironmentReader::warn_unused(const std::string& names,
                                    const std::string& why) {
  std::string found;
  for (const std::string& name : split(names, ' ')) {
    if (has(name)) found += (found.empty() ? "" : ", ") + name;
  }
  if (!found.empty()) warn(found + ": no effect " + why);
}

void EnvironmentReader::fail(const std::string& name, const std::string& why) {
  add_error(name + ": " + why);
}

// Several settings may read the same variable.
void EnvironmentReader::add_error(std::string message) {
  if (std::ranges::find(report_.errors, message) == report_.errors.end()) {
    report_.errors.push_back(std::move(message));
  }
}

}  // namespace limitree::server
