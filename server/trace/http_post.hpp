// Sends messages to one URL.

#ifndef LIMITREE_SERVER_TRACE_HTTP_POST_HPP
#define LIMITREE_SERVER_TRACE_HTTP_POST_HPP

#include <memory>
#include <string>
#include <string_view>

#include "trace/settings.hpp"

namespace limitree::server {

struct PostResult {
  bool done = false;   // the server has taken the message
  bool again = false;  // it may take the message later
  std::string trouble;
};

// For a thread that may block.
class HttpPost {
 public:
  // Throws Failure if this program was built without a client for HTTP.
  explicit HttpPost(const TraceSettings& settings);
  ~HttpPost();
  HttpPost(const HttpPost&) = delete;
  HttpPost& operator=(const HttpPost&) = delete;

  // Blocks at most TraceSettings::timeout, and while a name is looked up.
  PostResult send(std::string_view message);

 private:
  class Client;
  std::unique_ptr<Client> client_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_TRACE_HTTP_POST_HPP
