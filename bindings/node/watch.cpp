#include "watch.hpp"

#include <cstddef>
#include <cstdlib>
#include <utility>

// The declarations needed from libuv 1, whose ABI is stable.  Node.js exports
// it, but building an addon does not give access to its header.
extern "C" {

struct uv_loop_s;
struct uv_handle_s;  // uv_poll_s begins with it
struct uv_poll_s;
struct uv_idle_s;
struct uv_check_s;

std::size_t uv_handle_size(int type);
void* uv_handle_get_data(const uv_handle_s* handle);
void uv_handle_set_data(uv_handle_s* handle, void* data);
void uv_ref(uv_handle_s* handle);
void uv_unref(uv_handle_s* handle);
void uv_close(uv_handle_s* handle, void (*closed)(uv_handle_s* handle));
int uv_poll_init(uv_loop_s* loop, uv_poll_s* handle, int fd);
int uv_poll_start(uv_poll_s* handle, int events,
                  void (*ready)(uv_poll_s* handle, int status, int events));

// Only needed with a store on another machine.  Deno lacks it, and such stores
// are refused there.
#pragma weak uv_idle_init
#pragma weak uv_idle_start
#pragma weak uv_idle_stop
#pragma weak uv_check_init
#pragma weak uv_check_start
#pragma weak uv_check_stop
int uv_idle_init(uv_loop_s* loop, uv_idle_s* handle);
int uv_idle_start(uv_idle_s* handle, void (*due)(uv_idle_s* handle));
int uv_idle_stop(uv_idle_s* handle);
int uv_check_init(uv_loop_s* loop, uv_check_s* handle);
int uv_check_start(uv_check_s* handle, void (*due)(uv_check_s* handle));
int uv_check_stop(uv_check_s* handle);

}  // extern "C"

namespace limitree::node {

namespace {

constexpr int kUvCheck = 2;  // of uv_handle_type
constexpr int kUvIdle = 6;
constexpr int kUvPoll = 8;
constexpr int kUvReadable = 1;  // of uv_poll_event

uv_handle_s* as_handle(void* handle) {
  return static_cast<uv_handle_s*>(handle);
}

// A handle made by `init` with `data`; null if that failed.  It does not keep
// the process alive.
template <typename Init>
uv_handle_s* make_handle(int type, void* data, Init init) {
  void* const memory = std::malloc(uv_handle_size(type));
  if (memory == nullptr) return nullptr;
  if (init(memory) != 0) {
    std::free(memory);
    return nullptr;
  }
  uv_handle_set_data(as_handle(memory), data);
  uv_unref(as_handle(memory));
  return as_handle(memory);
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
  environment_.will_watch();
  poll_ = make_handle(kUvPoll, this, [&](void* memory) {
    return uv_poll_init(loop, static_cast<uv_poll_s*>(memory), fd);
  });
  check_ = make_handle(kUvCheck, this, [&](void* memory) {
    return uv_check_init(loop, static_cast<uv_check_s*>(memory));
  });
  idle_ = make_handle(kUvIdle, this, [&](void* memory) {
    return uv_idle_init(loop, static_cast<uv_idle_s*>(memory));
  });
  const auto ready = [](uv_poll_s* handle, int /*status*/, int /*events*/) {
    static_cast<Watch*>(uv_handle_get_data(as_handle(handle)))->ready_();
  };
  if (poll_ == nullptr || check_ == nullptr || idle_ == nullptr ||
      uv_poll_start(reinterpret_cast<uv_poll_s*>(poll_), kUvReadable, ready) !=
          0) {
    end();
    return "the event loop cannot watch the store";
  }
  return "";
}

// Runs after the callbacks of sockets or after those of timers, whichever the
// loop reaches first.  Until then the loop does not wait, which only an idle
// handle tells it: what run() delivers may start requests, too.
void Watch::run_soon() {
  if (poll_ == nullptr || std::exchange(is_due_, true)) return;
  uv_check_start(reinterpret_cast<uv_check_s*>(check_), [](uv_check_s* check) {
    static_cast<Watch*>(uv_handle_get_data(as_handle(check)))->run();
  });
  uv_idle_start(reinterpret_cast<uv_idle_s*>(idle_), [](uv_idle_s* idle) {
    static_cast<Watch*>(uv_handle_get_data(as_handle(idle)))->run();
  });
}

void Watch::run() {
  is_due_ = false;
  uv_check_stop(reinterpret_cast<uv_check_s*>(check_));
  uv_idle_stop(reinterpret_cast<uv_idle_s*>(idle_));
  ready_();
}

void Watch::keep_process(bool keep) {
  if (poll_ == nullptr) return;
  if (keep) {
    uv_ref(poll_);
  } else {
    uv_unref(poll_);
  }
}

void Watch::end() {
  for (uv_handle_s** const handle : {&poll_, &check_, &idle_}) {
    if (*handle == nullptr) continue;
    environment_.closing();
    uv_handle_set_data(*handle, &environment_);
    uv_close(std::exchange(*handle, nullptr), [](uv_handle_s* closed) {
      auto* const environment =
          static_cast<Environment*>(uv_handle_get_data(closed));
      std::free(closed);
      environment->closed();
    });
  }
}

}  // namespace limitree::node
