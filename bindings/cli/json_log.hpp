// Reads lines that are JSON objects.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "log_request.hpp"
#include "log_values.hpp"

namespace limitree::cli {

// The value of `key` goes to `slot`.  "client.ip" is the member "ip" of the
// member "client", or the member "client.ip"; of an array, the first element
// counts.
struct JsonKey {
  std::string key;
  Slot slot;
};

// If a slot has several keys, the first that a line has counts.
std::unique_ptr<LogFormat> make_json_log(std::vector<JsonKey> keys);

}  // namespace limitree::cli
