// What is used of libuv 1, whose ABI does not change: Node.js exports it, but
// its header is not part of what is needed to build an addon.

#ifndef LIMITREE_NODE_UV_HPP
#define LIMITREE_NODE_UV_HPP

#include <cstddef>

extern "C" {

struct uv_loop_s;
struct uv_handle_s;  // uv_poll_s begins with it
struct uv_poll_s;

std::size_t uv_handle_size(int type);
void* uv_handle_get_data(const uv_handle_s* handle);
void uv_handle_set_data(uv_handle_s* handle, void* data);
void uv_ref(uv_handle_s* handle);
void uv_unref(uv_handle_s* handle);
void uv_close(uv_handle_s* handle, void (*closed)(uv_handle_s* handle));
int uv_poll_init(uv_loop_s* loop, uv_poll_s* handle, int fd);
int uv_poll_start(uv_poll_s* handle, int events,
                  void (*ready)(uv_poll_s* handle, int status, int events));

}  // extern "C"

namespace limitree::node {

inline constexpr int kUvPoll = 8;      // of uv_handle_type
inline constexpr int kUvReadable = 1;  // of uv_poll_event

}  // namespace limitree::node

#endif  // LIMITREE_NODE_UV_HPP
