// Lets the event loop of Node watch the connections of a limiter.

#pragma once

#include <functional>

#include "environment.hpp"

struct uv_handle_s;

namespace limitree::node {

class Watch {
 public:
  // The event loop calls `ready` when there is work.
  Watch(Environment& environment, std::function<void()> ready);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns what is wrong, or an empty text.
  const char* begin(int fd);
  bool has_begun() const { return poll_ != nullptr; }

  // Calls `ready` at the end of this turn of the event loop, so that everything
  // started in this turn is sent together.
  void run_soon();

  // Whether this keeps the process alive: only if a request is pending.
  void keep_process(bool keep);

  // Ends it at once; `ready` is not called again.
  void end();

 private:
  void run();

  Environment& environment_;
  std::function<void()> ready_;
  bool is_due_ = false;
  // Owned by libuv until it is closed.
  uv_handle_s* poll_ = nullptr;
  uv_handle_s* check_ = nullptr;
  uv_handle_s* idle_ = nullptr;
};

}  // namespace limitree::node
