#include "store/redis/route/topology_reply.hpp"

#include <algorithm>
#include <span>
#include <utility>

#include "base/digits.hpp"
#include "store/redis/route/slot.hpp"

namespace limitree::redis {

namespace {

constexpr std::size_t kMaxHost = 253;

std::span<redisReply* const> elements_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY) return {};
  return {reply.element, reply.elements};
}

std::optional<std::string_view> text_of(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_STRING) return std::nullopt;
  return std::string_view(reply.str, reply.len);
}

bool set_port(std::int64_t number, Endpoint* endpoint) {
  if (number < 1 || number > 65535) return false;
  endpoint->port = static_cast<std::uint16_t>(number);
  return true;
}

std::optional<Endpoint> endpoint_of(std::string_view host,
                                    std::string_view port) {
  Endpoint endpoint;
  std::int64_t number = 0;
  if (!is_host(host) || !read_digits(port, &number) ||
      !set_port(number, &endpoint)) {
    return std::nullopt;
  }
  endpoint.host = host;
  return endpoint;
}

std::string_view first_word(const redisReply& reply) {
  const auto elements = elements_of(reply);
  if (elements.empty()) return {};
  return text_of(*elements[0]).value_or("");
}

// One of the other sentinels, as names and values in turn; false if it is not
// one.
bool add_sentinel(const redisReply& fields, std::vector<Endpoint>* sentinels) {
  const auto elements = elements_of(fields);
  if (elements.empty() || elements.size() % 2 != 0) return false;
  std::string_view host;
  std::string_view port;
  bool down = false;
  for (std::size_t i = 0; i < elements.size(); i += 2) {
    const std::string_view name = text_of(*elements[i]).value_or("");
    const std::string_view value = text_of(*elements[i + 1]).value_or("");
    if (name == "ip") host = value;
    if (name == "port") port = value;
    if (name == "flags") down = value.find("down") != value.npos;
  }
  std::optional<Endpoint> endpoint = endpoint_of(host, port);
  if (!endpoint) return false;
  if (!down) sentinels->push_back(std::move(*endpoint));
  return true;
}

// [host, port, ...]; the host is null, "" or "?" if the node does not know it.
std::optional<Endpoint> read_node(const redisReply& reply,
                                  const Endpoint& asked) {
  const auto elements = elements_of(reply);
  if (elements.size() < 2) return std::nullopt;
  std::string_view host = asked.host;
  if (elements[0]->type != REDIS_REPLY_NIL) {
    const std::optional<std::string_view> named = text_of(*elements[0]);
    if (!named) return std::nullopt;
    if (!named->empty() && *named != "?") host = *named;
  }
  Endpoint endpoint;
  if (elements[1]->type != REDIS_REPLY_INTEGER || !is_host(host) ||
      !set_port(elements[1]->integer, &endpoint)) {
    return std::nullopt;
  }
  endpoint.host = host;
  return endpoint;
}

std::optional<SlotRange> read_range(const redisReply& reply,
                                    const Endpoint& asked) {
  const auto elements = elements_of(reply);
  if (elements.size() < 3 || elements[0]->type != REDIS_REPLY_INTEGER ||
      elements[1]->type != REDIS_REPLY_INTEGER) {
    return std::nullopt;
  }
  const std::int64_t first = elements[0]->integer;
  const std::int64_t last = elements[1]->integer;
  if (first < 0 || last < first || last >= kSlots) return std::nullopt;
  SlotRange range;
  range.first = static_cast<std::int32_t>(first);
  range.last = static_cast<std::int32_t>(last);
  for (const redisReply* node : elements.subspan(2)) {
    std::optional<Endpoint> endpoint = read_node(*node, asked);
    if (endpoint) {
      range.nodes.push_back(std::move(*endpoint));
    } else if (range.nodes.empty()) {
      return std::nullopt;
    }
  }
  return range;
}

}  // namespace

bool is_host(std::string_view host) {
  return !host.empty() && host.size() <= kMaxHost &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '.' || c == ':' ||
                  c == '-' || c == '_' || c == '%';
         });
}

std::optional<Endpoint> read_primary(const redisReply& reply) {
  const auto elements = elements_of(reply);
  if (elements.size() != 2) return std::nullopt;
  return endpoint_of(text_of(*elements[0]).value_or(""),
                     text_of(*elements[1]).value_or(""));
}

std::optional<std::vector<Endpoint>> read_sentinels(const redisReply& reply) {
  if (reply.type != REDIS_REPLY_ARRAY) return std::nullopt;
  std::vector<Endpoint> sentinels;
  for (const redisReply* fields : elements_of(reply)) {
    if (!add_sentinel(*fields, &sentinels)) return std::nullopt;
  }
  return sentinels;
}

bool is_primary(const redisReply& reply) {
  return first_word(reply) == "master";
}

bool is_replica(const redisReply& reply) {
  return first_word(reply) == "slave" || first_word(reply) == "replica";
}

std::optional<std::vector<SlotRange>> read_slots(const redisReply& reply,
                                                 const Endpoint& asked) {
  if (reply.type != REDIS_REPLY_ARRAY) return std::nullopt;
  std::vector<SlotRange> ranges;
  for (const redisReply* element : elements_of(reply)) {
    std::optional<SlotRange> range = read_range(*element, asked);
    if (!range) return std::nullopt;
    ranges.push_back(std::move(*range));
  }
  return ranges;
}

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
  if (!read_digits(text.substr(0, blank), &redirect.slot) ||
      redirect.slot < 0 || redirect.slot >= kSlots ||
      !read_digits(text.substr(colon + 1), &redirect.endpoint.port) ||
      redirect.endpoint.port == 0) {
    return std::nullopt;
  }
  return redirect;
}

}  // namespace limitree::redis
