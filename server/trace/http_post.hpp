// Sends messages to one URL.

#pragma once

#include <exception>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "io/background.hpp"
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

using Say = std::function<void(const std::string&)>;

// Sends the messages of one signal from the thread of its exporter.
class SignalSender {
 public:
  // `what` is what people call them: "spans".  Throws Failure if the settings
  // are wrong.
  SignalSender(const OtlpSettings& settings, std::string what, Say say)
      : what_(std::move(what)), say_(std::move(say)) {
    check_otlp(settings);
    post_ = make_http_post(settings);
  }

  // Sends what `write()` returns.  Says once when that begins to fail or to
  // work, unless the thread is ending: then nobody may be listening any more.
  template <typename Write>
  PostResult send(const Write& write, Background::Signal* signal) {
    PostResult result;
    try {
      result = post_(write());
    } catch (const std::exception& error) {
      result.trouble = error.what();
    }
    if (signal->is_ending() || result.done == works_) return result;
    works_ = result.done;
    say_(works_ ? what_ + " are sent again"
                : "cannot send " + what_ + ": " + result.trouble);
    return result;
  }

 private:
  const std::string what_;
  const Say say_;
  HttpPost post_;
  bool works_ = true;
};

}  // namespace limitree::server
