// The messages of xDS: requests for configurations, and their answers.

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/files.hpp"
#include "config/settings.hpp"

namespace limitree::server {

// What the client sends to the server: a request, or the result of the previous
// answer.
struct XdsRequest {
  std::string version;  // of what is loaded; empty: nothing yet
  std::string nonce;    // of the previous answer; empty: there is none
  std::string error;    // why that was not loaded; empty: it was
};

// Appends the message to *out.
void write_request(const XdsRequest& request, const XdsSettings& settings,
                   std::string* out);

// One answer: all configurations.
struct XdsResponse {
  std::string version;
  std::string nonce;
  // A file of descriptors for each.
  std::vector<SourceFile> files;
  // What is wrong with the message; empty: nothing.
  std::string error;
};

// Reads any bytes.
XdsResponse read_response(std::string_view message);

}  // namespace limitree::server
