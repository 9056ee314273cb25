// Variables of the environment of envoyproxy/ratelimit as values.

#ifndef LIMITREE_SERVER_CONFIG_ENVIRONMENT_READER_HPP
#define LIMITREE_SERVER_CONFIG_ENVIRONMENT_READER_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/option_values.hpp"

namespace limitree::server {

// Finds the value of a variable, or none.
using Lookup = std::function<const char*(const char* name)>;

// A variable that is empty counts as missing.  A mistake is recorded, and the
// value is missing.
class EnvironmentReader {
 public:
  explicit EnvironmentReader(Lookup lookup) : lookup_(std::move(lookup)) {}

  bool has(const std::string& name) const { return text(name).has_value(); }
  std::optional<std::string> text(const std::string& name) const;
  // "true", "false" and the other words that Go takes.
  bool is_on(const std::string& name, bool otherwise = false);
  // The index of the value in `words`, in upper or lower case.
  std::optional<std::size_t> word(const std::string& name,
                                  const std::vector<std::string_view>& words);

  // Sets the field if the variable has a value; whether it does.
  bool set(const std::string& name, Target field, const ValueKind& kind = {});
  // Calls `set` with the text of the variable, if it has one, and records the
  // Failure that it throws; whether all went well.
  bool read(const std::string& name,
            const std::function<void(const Given& given)>& set);

  // Adds an option of the library for that variable, or records why it takes
  // no such value.
  void add_option(const std::string& name, const std::string& option,
                  const std::string& value, Pairs* options);

  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  // Records "NAME: why", once.
  void fail(const std::string& name, const std::string& why);

  std::vector<std::string>& warnings() { return warnings_; }
  std::vector<std::string>& errors() { return errors_; }

 private:
  void record(std::string message);

  Lookup lookup_;
  std::vector<std::string> warnings_;
  std::vector<std::string> errors_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_ENVIRONMENT_READER_HPP
