// The handlers of requests, by path.

#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "http/exchange.hpp"

namespace limitree::server {

// Answers the requests of one path, at once or later.  Belongs to the thread of
// one loop, and outlives its exchanges.
using Handler = std::function<void(Exchange* exchange)>;

// The methods that a path takes.
enum class HttpMethods {
  kGet,  // and HEAD
  kPost,
  kResource,  // GET, HEAD, PUT and DELETE
  kAny,
};

class HandlerTable {
 public:
  explicit HandlerTable(std::size_t max_body_bytes)
      : max_body_bytes_(max_body_bytes) {}

  void add(std::string path, HttpMethods methods, Handler handler);
  // The same for all longer paths that begin with `prefix`, which ends with a
  // "/"; there is one such prefix.
  void add_below(std::string prefix, HttpMethods methods, Handler handler);

  // All methods with their paths: "POST /v1/authorize".
  const std::vector<std::string>& operations() const { return operations_; }

  // `observer` is told about the requests that handlers get.  Call this before
  // the first one.
  void set_observer(RequestObserver* observer) { observer_ = observer; }

  // Gives the request to its handler; answers itself if there is none.
  void serve(Exchange* exchange) const;

  std::size_t max_body_bytes() const { return max_body_bytes_; }

 private:
  struct Entry {
    HttpMethods methods;
    Handler handler;
    std::size_t first_operation;
  };
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  Entry entry_of(const std::string& path, HttpMethods methods, Handler handler);
  const Entry* find(std::string_view path) const;

  std::unordered_map<std::string, Entry, Hash, std::equal_to<>> entries_;
  std::string prefix_;
  Entry below_{};
  std::vector<std::string> operations_;
  RequestObserver* observer_ = nullptr;
  std::size_t max_body_bytes_;
};

}  // namespace limitree::server
