// Variables of the environment as values.

#ifndef LIMITREE_SERVER_CONFIG_ENVIRONMENT_READER_HPP
#define LIMITREE_SERVER_CONFIG_ENVIRONMENT_READER_HPP

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/settings.hpp"

namespace limitree::server {

// Finds the value of a variable, or none.
using Lookup = std::function<const char*(const char* name)>;

struct WholeRange {
  std::int64_t least;
  std::int64_t most;
};

// Values are written as envoyproxy/ratelimit reads them.  A variable that is
// empty counts as missing.  A mistake is recorded, and the value is missing.
class EnvironmentReader {
 public:
  explicit EnvironmentReader(Lookup lookup) : lookup_(std::move(lookup)) {}

  bool has(const char* name) const { return text(name).has_value(); }
  std::optional<std::string> text(const char* name) const;
  // "true", "false" and the other words that Go takes.
  std::optional<bool> flag(const char* name);
  std::optional<std::int64_t> whole(const char* name, WholeRange range);
  // From 0 to 1.
  std::optional<double> fraction(const char* name);
  // As Go writes durations: "24h", "1h30m", "1.5s", "0".
  std::optional<Nanoseconds> duration(const char* name);
  // "a:b,c:d"; `marks` are the characters that part a name from its value.
  std::optional<Pairs> pairs(const char* name, const char* marks = ":");
  // The index of the value in `words`, in upper or lower case.
  std::optional<std::size_t> word(const char* name,
                                  const std::vector<std::string_view>& words);

  // Sets *to if the variable has a value.
  void set(const char* name, std::string* to) const;
  void set(const char* name, bool* to);
  void set_duration(const char* name, Nanoseconds* to);

  // Adds an option of the library for that variable, or records why it takes
  // no such value.
  void add_option(const char* name, const char* option,
                  const std::string& value, Pairs* options);
  // Whether the library takes it; records why not.
  bool check_option(const char* name, const char* option,
                    const std::string& value);

  // Records "NAME: must be ..., is 'value'".
  void refuse(const char* name, const std::string& expected);
  void warn(std::string message) { warnings_.push_back(std::move(message)); }
  // "NAME: why".
  void fail(const char* name, const std::string& why);

  std::vector<std::string>& warnings() { return warnings_; }
  std::vector<std::string>& errors() { return errors_; }

 private:
  Lookup lookup_;
  std::vector<std::string> warnings_;
  std::vector<std::string> errors_;
};

// Reads a duration as Go writes it; none if it is not one, or negative.
std::optional<Nanoseconds> parse_go_duration(std::string_view text);

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_CONFIG_ENVIRONMENT_READER_HPP
