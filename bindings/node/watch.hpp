// Lets Node's event loop look after the connections of a limiter.

#ifndef LIMITREE_NODE_WATCH_HPP
#define LIMITREE_NODE_WATCH_HPP

#include <functional>

#include "environment.hpp"

struct uv_handle_s;

namespace limitree::node {

class Watch {
 public:
  // `ready` is called by the event loop when there is something to do.
  Watch(Environment& environment, std::function<void()> ready);
  ~Watch();
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;

  // Returns what is wrong, or an empty text.
  const char* begin(int fd);
  bool has_begun() const { return poll_ != nullptr; }

  // Has `ready` called at the end of this turn of the event loop: something has
  // been started, and is to be sent with all else that is started in this turn.
  void run_soon();

  // Whether the process may end while this watches: not if somebody waits.
  void keep_process(bool keep);

  // Ends it at once; `ready` is not called any more.
  void end();

 private:
  void run();

  Environment& environment_;
  std::function<void()> ready_;
  bool is_due_ = false;
  // libuv's until it has closed them.
  uv_handle_s* poll_ = nullptr;
  uv_handle_s* check_ = nullptr;
  uv_handle_s* prepare_ = nullptr;
};

}  // namespace limitree::node

#endif  // LIMITREE_NODE_WATCH_HPP
