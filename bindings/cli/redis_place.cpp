#include "redis_place.hpp"

#include <cstdlib>
#include <string_view>
#include <utility>

#include "failure.hpp"

namespace limitree::cli {

namespace {

constexpr int kRedisPort = 6379;
constexpr int kSentinelPort = 26379;

std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      plain += text[i];
      continue;
    }
    const std::string digits(text.substr(i + 1, 2));
    plain += static_cast<char>(std::strtol(digits.c_str(), nullptr, 16));
    i += 2;
  }
  return plain;
}

// Takes what comes before `mark` off the front; all of it without one.
std::string_view take_until(char mark, std::string_view* text) {
  const std::size_t at = text->find(mark);
  const std::string_view taken = text->substr(0, at);
  text->remove_prefix(at == text->npos ? text->size() : at + 1);
  return taken;
}

RedisPlace read_place(std::string_view text, int port) {
  RedisPlace place{"", port, ""};
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.rfind(':');
  if (colon != text.npos && (bracket == text.npos || colon > bracket)) {
    place.port = std::atoi(std::string(text.substr(colon + 1)).c_str());
    text = text.substr(0, colon);
  }
  if (text.starts_with('[')) text = text.substr(1, text.size() - 2);
  place.host = unescaped(text);
  return place;
}

void read_query(std::string_view query, RedisUrl* url) {
  while (!query.empty()) {
    std::string_view value = take_until('&', &query);
    const std::string_view name = take_until('=', &value);
    set_option(name, unescaped(value), url);
  }
}

}  // namespace

std::string RedisPlace::text() const {
  return path.empty() ? host + ':' + std::to_string(port) : path;
}

void set_option(std::string_view name, std::string value, RedisUrl* url) {
  const std::pair<std::string_view, std::string*> fields[] = {
      {"db", &url->login.db},
      {"password_file", &url->password_file},
      {"sentinel_username", &url->sentinel_login.user},
      {"sentinel_password", &url->sentinel_login.password},
      {"sentinel_password_file", &url->sentinel_password_file}};
  for (const auto& [field, to] : fields) {
    if (field != name) continue;
    *to = std::move(value);
    return;
  }
}

RedisUrl read_redis_place(const std::string& url) {
  const std::size_t scheme_end = url.find("://");
  const std::string scheme = url.substr(0, scheme_end);
  std::string kind = scheme;
  if (kind.starts_with("valkey")) kind.replace(0, 6, "redis");
  RedisUrl read;
  if (kind == "redis+sentinel") {
    read.kind = RedisUrl::Kind::kSentinel;
  } else if (kind == "redis+cluster") {
    read.kind = RedisUrl::Kind::kCluster;
  } else if (kind.starts_with("rediss")) {
    throw UsageError("top cannot read " + scheme +
                     ":// yet, only without TLS; --server reads a service");
  } else if (kind != "redis" && kind != "redis+unix") {
    throw UsageError("top reads buckets of Redis, not of " + scheme +
                     "://; --server reads a service");
  }
  std::string_view rest = std::string_view(url).substr(scheme_end + 3);
  // Without hosts, an "@" is one of the path of a socket.
  const std::size_t at = rest.substr(0, rest.find_first_of("/?")).find('@');
  if (at != rest.npos) {
    std::string_view login = rest.substr(0, at);
    rest.remove_prefix(at + 1);
    read.login.user = unescaped(take_until(':', &login));
    read.login.password = unescaped(login);
  }
  const std::size_t query = rest.find('?');
  if (query != rest.npos) {
    read_query(rest.substr(query + 1), &read);
    rest = rest.substr(0, query);
  }
  if (kind == "redis+unix") {
    read.places.push_back({"", 0, unescaped(rest)});
    return read;
  }
  std::string_view hosts = take_until('/', &rest);
  const bool sentinels = read.kind == RedisUrl::Kind::kSentinel;
  while (!hosts.empty()) {
    read.places.push_back(read_place(take_until(',', &hosts),
                                     sentinels ? kSentinelPort : kRedisPort));
  }
  if (read.places.empty()) read.places.push_back({"localhost", kRedisPort, ""});
  if (sentinels) read.service = unescaped(take_until('/', &rest));
  if (!rest.empty()) read.login.db = unescaped(rest);
  return read;
}

}  // namespace limitree::cli
