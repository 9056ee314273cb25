// Sends messages to one URL.

#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "trace/settings.hpp"

namespace limitree::server {

struct PostResult {
  bool done = false;   // the server has taken the message
  bool again = false;  // it may take the message later
  std::string trouble;
};

// Sends a message.  For a thread that may block: for at most
// OtlpSettings::timeout, plus the time to look up a name.
using HttpPost = std::function<PostResult(std::string_view message)>;

// Throws Failure if this program was built without a client for HTTP.
HttpPost make_http_post(const OtlpSettings& settings);

}  // namespace limitree::server
