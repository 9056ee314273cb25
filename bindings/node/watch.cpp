#include "watch.hpp"

#include <cstdlib>
#include <utility>

#include "uv.hpp"

namespace limitree::node {

namespace {

uv_handle_s* as_handle(uv_poll_s* poll) {
  return reinterpret_cast<uv_handle_s*>(poll);
}

}  // namespace

Watch::Watch(Environment& environment, std::function<void()> ready)
    : environment_(environment), ready_(std::move(ready)) {}

Watch::~Watch() { end(); }

const char* Watch::begin(int fd) {
  if (fd < 0) return "the store has nothing to watch";
  uv_loop_s* loop = nullptr;
  if (napi_get_uv_event_loop(environment_.env(), &loop) != napi_ok) {
    return "there is no event loop";
  }
  auto* const poll =
      static_cast<uv_poll_s*>(std::malloc(uv_handle_size(kUvPoll)));
  if (poll == nullptr) return "out of memory";
  if (uv_poll_init(loop, poll, fd) != 0) {
    std::free(poll);
    return "the event loop cannot watch the store";
  }
  handle_ = poll;
  uv_handle_set_data(as_handle(poll), this);
  uv_unref(as_handle(poll));
  const auto ready = [](uv_poll_s* handle, int /*status*/, int /*events*/) {
    static_cast<Watch*>(uv_handle_get_data(as_handle(handle)))->ready_();
  };
  if (uv_poll_start(poll, kUvReadable, ready) != 0) {
    end();
    return "the event loop cannot watch the store";
  }
  return "";
}

void Watch::keep_process(bool keep) {
  if (handle_ == nullptr) return;
  if (keep) {
    uv_ref(as_handle(handle_));
  } else {
    uv_unref(as_handle(handle_));
  }
}

void Watch::end() {
  uv_poll_s* const poll = std::exchange(handle_, nullptr);
  if (poll == nullptr) return;
  environment_.closing();
  uv_handle_set_data(as_handle(poll), &environment_);
  uv_close(as_handle(poll), [](uv_handle_s* closed) {
    auto* const environment =
        static_cast<Environment*>(uv_handle_get_data(closed));
    std::free(closed);
    environment->closed();
  });
}

}  // namespace limitree::node
