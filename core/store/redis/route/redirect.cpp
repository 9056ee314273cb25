#include "store/redis/route/redirect.hpp"

#include <charconv>
#include <string_view>

#include "store/redis/route/slot.hpp"
#include "store/redis/route/topology_reply.hpp"

namespace limitree::redis {

namespace {

template <typename Number>
bool read_number(std::string_view text, Number* number) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *number);
  return error == std::errc() && stop == end;
}

}  // namespace

std::optional<Redirect> parse_redirect(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ERROR) return std::nullopt;
  std::string_view text(reply.str, reply.len);
  if (text.starts_with("MOVED ")) {
    text.remove_prefix(6);
  } else if (text.starts_with("ASK ")) {
    text.remove_prefix(4);
  } else {
    return std::nullopt;
  }
  const std::size_t blank = text.find(' ');
  const std::size_t colon = text.rfind(':');
  if (blank == text.npos || colon == text.npos || colon < blank) {
    return std::nullopt;
  }
  Redirect redirect;
  redirect.endpoint.host = text.substr(blank + 1, colon - blank - 1);
  if (redirect.endpoint.host == "?") redirect.endpoint.host.clear();
  if (!redirect.endpoint.host.empty() && !is_host(redirect.endpoint.host)) {
    return std::nullopt;
  }
  if (!read_number(text.substr(0, blank), &redirect.slot) ||
      redirect.slot < 0 || redirect.slot >= kSlots ||
      !read_number(text.substr(colon + 1), &redirect.endpoint.port) ||
      redirect.endpoint.port == 0) {
    return std::nullopt;
  }
  return redirect;
}

}  // namespace limitree::redis
