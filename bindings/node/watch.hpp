// Lets Node's event loop look after the connections of a limiter.

#ifndef LIMITREE_NODE_WATCH_HPP
#define LIMITREE_NODE_WATCH_HPP

#include <functional>

#include "environment.hpp"

struct uv_poll_s;

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
  bool has_begun() const { return handle_ != nullptr; }

  // Whether the process may end while this watches: not if somebody waits.
  void keep_process(bool keep);

  // Ends it at once; `ready` is not called any more.
  void end();

 private:
  Environment& environment_;
  std::function<void()> ready_;
  uv_poll_s* handle_ = nullptr;  // libuv's until it has closed it
};

}  // namespace limitree::node

#endif  // LIMITREE_NODE_WATCH_HPP
