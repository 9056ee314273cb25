// The methods that a server offers.

#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace limitree::server {

class Call;

// How many messages each side sends.
enum class MethodKind {
  kUnary,          // one, one
  kServerStream,   // one, any number
  kBidirectional,  // any number, any number
};

// One method.  Belongs to the thread of one loop, and outlives its calls.
struct Method {
  MethodKind kind;
  // Answers at once or later.  `message` is valid until this returns.  Throws
  // protozero::exception, before it answers, if the message is malformed.
  std::function<void(Call* call, std::string_view message)> on_message;
  // Whether it changes buckets regardless of their limits: see Access.
  bool needs_token = false;
  std::size_t number = 0;  // its place in MethodTable::paths()
};

// All are added before the first call.
class MethodTable {
 public:
  explicit MethodTable(std::size_t max_message_bytes)
      : max_message_bytes_(max_message_bytes) {}

  // `path` is "/package.Service/Method".
  void add(std::string path, Method method) {
    method.number = paths_.size();
    paths_.push_back(std::move(path));
    methods_.push_back(std::move(method));
  }

  // In the order in which they were added.
  const std::vector<std::string>& paths() const { return paths_; }

  // Null if there is no such method.  There are too few methods for a hash
  // table to pay off.
  const Method* find(std::string_view path) const {
    const auto found = std::ranges::find(paths_, path);
    return found == paths_.end()
               ? nullptr
               : &methods_[static_cast<std::size_t>(found - paths_.begin())];
  }

  std::size_t max_message_bytes() const { return max_message_bytes_; }

 private:
  std::vector<Method> methods_;  // of paths_
  std::vector<std::string> paths_;
  std::size_t max_message_bytes_;
};

}  // namespace limitree::server
