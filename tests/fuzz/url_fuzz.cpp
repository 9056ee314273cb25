// URLs of a store that nobody thought of.
//
// Whatever the text: it is refused with one line that holds nothing secret, or
// gives servers that can be asked, and written out again it means the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "store/redis/common/url.hpp"
#include "store/redis/route/slot.hpp"
#include "store/redis/route/topology_reply.hpp"

namespace {

using limitree::Endpoint;
using limitree::Result;
using limitree::redis::Topology;
using limitree::redis::Url;

void require(bool fact) {
  if (!fact) std::abort();
}

void check_message(const limitree::Error& error) {
  require(error.messages.size() == 1);
  const std::string& message = error.messages[0];
  require(message.starts_with("store: "));
  require(std::all_of(message.begin(), message.end(),
                      [](char c) { return c >= 0x20 && c < 0x7f; }));
}

std::string encode(std::string_view text) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string encoded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    encoded += {'%', kHex[byte >> 4], kHex[byte & 15]};
  }
  return encoded;
}

std::string write(const Url& url) {
  const bool socket = !url.endpoints[0].socket.empty();
  std::string text = url.tls ? "valkeys" : "valkey";
  if (socket) text += "+unix";
  if (url.topology == Topology::kSentinel) text += "+sentinel";
  if (url.topology == Topology::kCluster) text += "+cluster";
  text += "://";
  if (!url.password.empty()) {
    text += encode(url.user) + ":" + encode(url.password) + "@";
  } else if (!url.user.empty()) {
    text += encode(url.user) + "@";
  }
  const std::string db = std::to_string(url.db);
  if (socket) {
    return text + "/" + encode(url.endpoints[0].socket.substr(1)) + "?db=" + db;
  }
  for (const Endpoint& endpoint : url.endpoints) text += endpoint.text() + ",";
  text.back() = '/';
  if (!url.service.empty()) text += url.service + "/";
  return text + db;
}

void check_url(const Url& url) {
  require(!url.endpoints.empty() && url.endpoints.size() <= 64);
  require(url.db >= 0);
  require(url.service.empty() == (url.topology != Topology::kSentinel));
  for (const Endpoint& endpoint : url.endpoints) {
    require(endpoint.host.empty() != endpoint.socket.empty());
    require(endpoint.socket.empty() == (endpoint.port > 0));
  }
  const Result<Url> again = limitree::redis::parse_url(write(url));
  require(again.ok());
  require(again.value().topology == url.topology);
  require(again.value().tls == url.tls);
  require(again.value().endpoints == url.endpoints);
  require(again.value().service == url.service);
  require(again.value().user == url.user);
  require(again.value().password == url.password);
  require(again.value().db == url.db);
}

void check(const std::string& text) {
  Result<Url> url = limitree::redis::parse_url(text);
  require(!url.ok() || limitree::redis::is_redis_url(text));
  if (url.ok()) {
    check_url(url.value());
  } else {
    check_message(url.status().error());
  }
}

// With a password where one belongs, whatever follows.
void check_secret(std::string text) {
  const std::string secret = "Zq7xK2vW";
  const std::size_t slashes = text.find("://");
  if (slashes == text.npos) return;
  text.insert(slashes + 3, secret + ":" + secret);
  Result<Url> url = limitree::redis::parse_url(text);
  if (url.ok()) return;
  require(url.status().error().messages[0].find(secret) == std::string::npos);
}

void check_redirect(std::string text) {
  redisReply reply{};
  reply.type = REDIS_REPLY_ERROR;
  reply.str = text.data();
  reply.len = text.size();
  const auto redirect = limitree::redis::parse_redirect(reply);
  require(!redirect || (redirect->slot >= 0 && redirect->endpoint.port > 0));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  check(text);
  check_secret(text);
  check_redirect(text);
  const std::int32_t slot = limitree::redis::slot_of(text);
  require(slot >= 0 && slot < limitree::redis::kSlots);
  return 0;
}
