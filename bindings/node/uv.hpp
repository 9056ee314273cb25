// The declarations needed from libuv 1, whose ABI is stable.  Node.js exports
// it, but building an addon does not give access to its header.

#ifndef LIMITREE_NODE_UV_HPP
#define LIMITREE_NODE_UV_HPP

#include <cstddef>

extern "C" {

struct uv_loop_s;
struct uv_handle_s;  // uv_poll_s begins with it
struct uv_poll_s;
struct uv_prepare_s;
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
#pragma weak uv_prepare_init
#pragma weak uv_prepare_start
#pragma weak uv_prepare_stop
#pragma weak uv_check_init
#pragma weak uv_check_start
#pragma weak uv_check_stop
int uv_prepare_init(uv_loop_s* loop, uv_prepare_s* handle);
int uv_prepare_start(uv_prepare_s* handle, void (*due)(uv_prepare_s* handle));
int uv_prepare_stop(uv_prepare_s* handle);
int uv_check_init(uv_loop_s* loop, uv_check_s* handle);
int uv_check_start(uv_check_s* handle, void (*due)(uv_check_s* handle));
int uv_check_stop(uv_check_s* handle);

}  // extern "C"

namespace limitree::node {

inline constexpr int kUvCheck = 2;     // of uv_handle_type
inline constexpr int kUvPoll = 8;      // likewise
inline constexpr int kUvPrepare = 9;   // likewise
inline constexpr int kUvReadable = 1;  // of uv_poll_event

}  // namespace limitree::node

#endif  // LIMITREE_NODE_UV_HPP
