// The methods that a server offers.

#ifndef LIMITREE_SERVER_GRPC_METHOD_HPP
#define LIMITREE_SERVER_GRPC_METHOD_HPP

#include <algorithm>
#include <cstddef>
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

// Answers the calls of one method, at once or later.  Belongs to the thread of
// one loop, and outlives its calls.
class Method {
 public:
  explicit Method(MethodKind kind) : kind_(kind) {}
  virtual ~Method() = default;
  Method(const Method&) = delete;
  Method& operator=(const Method&) = delete;

  // `message` is valid until this returns.  Throws protozero::exception, before
  // it answers, if the message is malformed.
  virtual void on_message(Call* call, std::string_view message) = 0;

  // Whether it changes buckets whatever their limits say: see Access.
  virtual bool needs_token() const { return false; }

  MethodKind kind() const { return kind_; }
  // Its place in MethodTable::paths().
  std::size_t number() const { return number_; }

 private:
  friend class MethodTable;

  const MethodKind kind_;
  std::size_t number_ = 0;
};

class MethodTable {
 public:
  explicit MethodTable(std::size_t max_message_bytes)
      : max_message_bytes_(max_message_bytes) {}

  // `path` is "/package.Service/Method".
  void add(std::string path, Method* method) {
    method->number_ = paths_.size();
    paths_.push_back(std::move(path));
    methods_.push_back(method);
  }

  // In the order in which they were added.
  const std::vector<std::string>& paths() const { return paths_; }

  // Nothing if there is no such method.  There are too few for a hash to pay.
  Method* find(std::string_view path) const {
    const auto found = std::ranges::find(paths_, path);
    return found == paths_.end()
               ? nullptr
               : methods_[static_cast<std::size_t>(found - paths_.begin())];
  }

  std::size_t max_message_bytes() const { return max_message_bytes_; }

 private:
  std::vector<Method*> methods_;  // of paths_
  std::vector<std::string> paths_;
  std::size_t max_message_bytes_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_GRPC_METHOD_HPP
