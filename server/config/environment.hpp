// Variables of the environment as values.

#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/option_values.hpp"

namespace limitree::server {

// Finds the value of a variable, or none.
using Lookup = std::function<const char*(const char* name)>;

// Messages about the environment for people, one line each.
struct EnvironmentReport {
  std::vector<std::string> warnings;
  // Variables that make no sense: the service must not start.
  std::vector<std::string> errors;
};

// Reads variables of envoyproxy/ratelimit.  One that is empty counts as
// missing.  A mistake is reported, and the value is missing.
class EnvironmentReader {
 public:
  explicit EnvironmentReader(Lookup lookup) : lookup_(std::move(lookup)) {}

  bool has(const std::string& name) const { return text(name).has_value(); }
  std::optional<std::string> text(const std::string& name) const;
  // NAME_FILE, the file of a secret that would else be in NAME.  Reports it if
  // both are there.
  std::optional<std::string> file_of(const std::string& name);
  // "true", "false" and the other words that Go takes.
  bool is_on(const std::string& name, bool otherwise = false);
  // The index of the value in `words`, in upper or lower case.
  std::optional<std::size_t> word(const std::string& name, const char* words);

  // Sets the target if the variable has a valid value, and returns whether it
  // has one.
  bool set(const std::string& name, const Target& target,
           const ValueKind& kind = {});

  // Adds an option of the library for that variable, or reports why the option
  // does not take the value.
  void add_option(const std::string& name, const std::string& option,
                  const std::string& value, Pairs* options);

  void warn(std::string message) {
    report_.warnings.push_back(std::move(message));
  }
  // Warns about those of `names`, separated by blanks, that have a value:
  // "A, B: no effect " and why.
  void warn_unused(const std::string& names, const std::string& why);
  // Reports "NAME: why", once.
  void fail(const std::string& name, const std::string& why);

  const EnvironmentReport& report() const { return report_; }

 private:
  void add_error(std::string message);

  Lookup lookup_;
  EnvironmentReport report_;
};

}  // namespace limitree::server
