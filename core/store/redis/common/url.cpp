#include "store/redis/common/url.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/dns_name.hpp"
#include "store/redis/common/remote.hpp"
#include "store/remote/common/url_parts.hpp"

namespace limitree::redis {

namespace {

constexpr std::uint16_t kPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;

struct Scheme {
  std::string_view name;  // after "redis" or "valkey"
  Topology topology;
  bool tls = false;
  bool socket = false;
};

constexpr Scheme kSchemes[] = {
    {.name = "", .topology = Topology::kSingle},
    {.name = "s", .topology = Topology::kSingle, .tls = true},
    {.name = "+unix", .topology = Topology::kSingle, .socket = true},
    {.name = "+sentinel", .topology = Topology::kSentinel},
    {.name = "s+sentinel", .topology = Topology::kSentinel, .tls = true},
    {.name = "+cluster", .topology = Topology::kCluster},
    {.name = "s+cluster", .topology = Topology::kCluster, .tls = true},
};

const Scheme* scheme_of(std::string_view text) {
  const std::size_t end = text.find(kSlashes);
  if (end == text.npos) return nullptr;
  std::string_view name = text.substr(0, end);
  if (name.starts_with("redis")) {
    name.remove_prefix(5);
  } else if (name.starts_with("valkey")) {
    name.remove_prefix(6);
  } else {
    return nullptr;
  }
  const Scheme* const found =
      std::find_if(std::begin(kSchemes), std::end(kSchemes),
                   [name](const Scheme& s) { return s.name == name; });
  return found == std::end(kSchemes) ? nullptr : found;
}

Status read_db(std::string_view text, Url* url) {
  const std::optional<std::int32_t> db = read_number<std::int32_t>(text, 0);
  if (!db)
    return bad_url("database must be 0 to 2147483647" + shown_number(text));
  url->db = *db;
  return {};
}

Status read_hosts(std::string_view text, Url* url) {
  if (url->topology == Topology::kSingle && text.find(',') != text.npos) {
    return bad_url("several hosts need redis+sentinel:// or redis+cluster://");
  }
  const bool sentinel = url->topology == Topology::kSentinel;
  return read_endpoints(text, sentinel ? kSentinelPort : kPort,
                        &url->endpoints);
}

Status read_db_path(std::string_view path, Url* url) {
  if (path.empty() || path == "/") return {};
  return read_db(path.substr(1), url);
}

Status read_service(std::string_view path, Url* url) {
  const std::size_t end = path.find('/', 1);
  Result<std::string> service =
      decode_url(path.empty() ? path : path.substr(1, end - 1));
  if (!service.ok()) return std::move(service.status());
  url->service = std::move(service.value());
  if (url->service.empty()) {
    return bad_url("service is missing, as in redis+sentinel://host/mymaster");
  }
  // What redis-sentinel itself accepts as a name.
  if (!is_dns_name(url->service)) {
    return bad_url(
        "service may hold letters, digits, \".\", \"-\" and \"_\" only");
  }
  return read_db_path(end == path.npos ? "" : path.substr(end), url);
}

Status read_socket(const UrlParts& parts, Url* url) {
  Status status = read_socket_path(parts, "redis", &url->endpoints);
  if (!status.ok() || !parts.query) return status;
  if (!parts.query->starts_with("db=")) {
    return bad_url("only db may follow \"?\", as in ?db=1");
  }
  return read_db(parts.query->substr(3), url);
}

Status read_path(std::string_view path, Url* url) {
  switch (url->topology) {
    case Topology::kSingle:
      return read_db_path(path, url);
    case Topology::kSentinel:
      return read_service(path, url);
    case Topology::kCluster:
      break;
  }
  if (path.empty() || path == "/" || path == "/0") return {};
  return bad_url("a cluster has database 0 only");
}

}  // namespace

// Messages name the endpoint as the place of what went wrong.
Url client_url(bool is_cluster) {
  Url url;
  url.topology = is_cluster ? Topology::kCluster : Topology::kSingle;
  url.endpoints.push_back({.host = {}, .socket = "the client"});
  url.is_client = true;
  return url;
}

bool is_redis_url(std::string_view text) { return scheme_of(text) != nullptr; }

Result<Url> parse_url(std::string_view text) {
  const Scheme* const scheme = scheme_of(text);
  if (scheme == nullptr) {
    std::string known;
    for (const Scheme& s : kSchemes) {
      known += (known.empty() ? "redis" : ", redis") + std::string(s.name);
    }
    return bad_url("scheme must be one of " + known);
  }
  Url url;
  url.topology = scheme->topology;
  url.tls = scheme->tls;
  text.remove_prefix(text.find(kSlashes) + kSlashes.size());
  UrlParts parts;
  Status status = split_url(text, scheme->socket, &parts);
  if (status.ok()) status = read_userinfo(parts, &url.user, &url.password);
  if (!status.ok()) return status;
  if (scheme->socket) {
    status = read_socket(parts, &url);
  } else {
    status = read_hosts(parts.hosts, &url);
    if (status.ok() && parts.query) {
      status = bad_url("nothing may follow \"?\"");
    }
    if (status.ok()) status = read_path(parts.path, &url);
  }
  if (!status.ok()) return status;
  return url;
}

}  // namespace limitree::redis
