#include "store/redis/common/url.hpp"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "base/digits.hpp"

namespace limitree::redis {

namespace {

constexpr std::uint16_t kPort = 6379;
constexpr std::uint16_t kSentinelPort = 26379;
constexpr std::size_t kMaxEndpoints = 64;
constexpr std::size_t kMaxHost = 253;  // of a name in DNS
constexpr std::size_t kMaxSocket = sizeof(sockaddr_un::sun_path) - 1;

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

constexpr std::string_view kSlashes = "://";

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

// Messages show text of the URL only where it cannot be part of a password that
// was not encoded correctly: see shown().
Status bad(std::string_view problem) {
  return invalid_config("store: " + std::string(problem));
}

// Nothing but a short number, which is what most mistakes with numbers are.
std::string shown(std::string_view text) {
  if (text.size() > 5 || !std::all_of(text.begin(), text.end(), is_digit)) {
    return "";
  }
  return ", is \"" + std::string(text) + "\"";
}

template <typename Number>
std::optional<Number> read_number(std::string_view text, Number least) {
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  Number number = 0;
  if (!read_digits(text, &number) || number < least) return std::nullopt;
  return number;
}

Status read_db(std::string_view text, Url* url) {
  const std::optional<std::int32_t> db = read_number<std::int32_t>(text, 0);
  if (!db) return bad("database must be 0 to 2147483647" + shown(text));
  url->db = *db;
  return {};
}

// What stands between the slashes, the at sign and the question mark.
struct Parts {
  std::string_view userinfo;
  std::string_view hosts;
  std::string_view path;  // with its slash
  std::optional<std::string_view> query;
  bool has_userinfo = false;
};

Status split(std::string_view text, const Scheme& scheme, Parts* parts) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) {
      return bad("blanks and control characters must be percent-encoded");
    }
  }
  if (text.find('#') != text.npos) return bad("\"#\" must be written %23");

  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, end);
  std::string_view rest = text.substr(end);
  const bool is_path_alone = scheme.socket && authority.empty();
  if (rest.find('@') != rest.npos && !is_path_alone) {
    return bad(
        "\"@\" must be written %40, and \"/\" and \"?\" in a user or password "
        "%2F and %3F");
  }
  const std::size_t at = authority.find('@');
  if (at != authority.npos) {
    parts->has_userinfo = true;
    parts->userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    if (authority.find('@') != authority.npos) {
      return bad("\"@\" in a user or password must be written %40");
    }
  }
  parts->hosts = authority;
  const std::size_t question = rest.find('?');
  parts->path = rest.substr(0, question);
  if (question != rest.npos) parts->query = rest.substr(question + 1);
  return {};
}

Status read_userinfo(const Parts& parts, Url* url) {
  if (!parts.has_userinfo) return {};
  const std::size_t colon = parts.userinfo.find(':');
  Result<std::string> user = percent_decoded(parts.userinfo.substr(0, colon));
  if (!user.ok()) return std::move(user.status());
  url->user = std::move(user.value());
  if (colon == parts.userinfo.npos) {
    return url->user.empty() ? bad("user is empty") : Status();
  }
  Result<std::string> password =
      percent_decoded(parts.userinfo.substr(colon + 1));
  if (!password.ok()) return std::move(password.status());
  if (password.value().empty()) return bad("password is empty");
  url->password = std::move(password.value());
  return {};
}

bool is_name(std::string_view host) {
  return host.size() <= kMaxHost &&
         std::all_of(host.begin(), host.end(), [](char c) {
           return is_letter(c) || is_digit(c) || c == '.' || c == '-' ||
                  c == '_';
         });
}

bool is_ipv6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

Status read_port(std::string_view text, Endpoint* endpoint) {
  const std::optional<std::uint16_t> port = read_number<std::uint16_t>(text, 1);
  if (!port) return bad("port must be 1 to 65535" + shown(text));
  endpoint->port = *port;
  return {};
}

Status read_ipv6(std::string_view text, Endpoint* endpoint) {
  const std::size_t end = text.find(']');
  if (end == text.npos) return bad("\"[\" without \"]\"");
  endpoint->host = text.substr(1, end - 1);
  if (!is_ipv6(endpoint->host)) {
    return bad("what stands in brackets must be an IPv6 address");
  }
  text.remove_prefix(end + 1);
  if (text.empty()) return {};
  if (text[0] != ':') return bad("only a port may follow an IPv6 address");
  return read_port(text.substr(1), endpoint);
}

Status read_endpoint(std::string_view text, Endpoint* endpoint) {
  if (text.starts_with('[')) return read_ipv6(text, endpoint);
  const std::size_t colon = text.find(':');
  if (colon != text.npos && text.find(':', colon + 1) != text.npos) {
    return bad("an IPv6 address stands in brackets, as in [::1]:6379");
  }
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return bad("host is missing");
  if (!is_name(host)) {
    return bad(
        "host must be a name, an IPv4 address, or an IPv6 address in brackets");
  }
  endpoint->host = host;
  if (colon == text.npos) return {};
  return read_port(text.substr(colon + 1), endpoint);
}

Status read_hosts(std::string_view text, Url* url) {
  if (url->topology == Topology::kSingle && text.find(',') != text.npos) {
    return bad("several hosts need redis+sentinel:// or redis+cluster://");
  }
  const bool sentinel = url->topology == Topology::kSentinel;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    Endpoint endpoint;
    endpoint.port = sentinel ? kSentinelPort : kPort;
    Status status = read_endpoint(text.substr(0, comma), &endpoint);
    if (!status.ok()) return status;
    url->endpoints.push_back(std::move(endpoint));
    if (url->endpoints.size() > kMaxEndpoints) {
      return bad("has more than 64 hosts");
    }
    more = comma != text.npos;
    text.remove_prefix(more ? comma + 1 : 0);
  }
  return {};
}

Status read_db_path(std::string_view path, Url* url) {
  if (path.empty() || path == "/") return {};
  return read_db(path.substr(1), url);
}

Status read_service(std::string_view path, Url* url) {
  const std::size_t end = path.find('/', 1);
  Result<std::string> service =
      percent_decoded(path.empty() ? path : path.substr(1, end - 1));
  if (!service.ok()) return std::move(service.status());
  url->service = std::move(service.value());
  if (url->service.empty()) {
    return bad("service is missing, as in redis+sentinel://host/mymaster");
  }
  // What redis-sentinel itself accepts as a name.
  if (!is_name(url->service)) {
    return bad("service may hold letters, digits, \".\", \"-\" and \"_\" only");
  }
  return read_db_path(end == path.npos ? "" : path.substr(end), url);
}

Status read_socket(const Parts& parts, Url* url) {
  if (!parts.hosts.empty()) {
    return bad("a path must follow, as in redis+unix:///run/redis.sock");
  }
  Result<std::string> path = percent_decoded(parts.path);
  if (!path.ok()) return std::move(path.status());
  Endpoint endpoint;
  endpoint.socket = std::move(path.value());
  if (endpoint.socket.size() < 2) return bad("path of the socket is missing");
  if (endpoint.socket.size() > kMaxSocket) {
    return bad("path of the socket must be at most " +
               std::to_string(kMaxSocket) + " bytes");
  }
  if (endpoint.socket.find('\0') != std::string::npos) {
    return bad("path of the socket must not hold a NUL byte");
  }
  url->endpoints.push_back(std::move(endpoint));
  if (!parts.query) return {};
  if (!parts.query->starts_with("db=")) {
    return bad("only db may follow \"?\", as in ?db=1");
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
  return bad("a cluster has database 0 only");
}

}  // namespace

Result<std::string> percent_decoded(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    std::size_t taken = 1;
    char c = text[0];
    if (c == '%') {
      unsigned char byte = 0;
      const std::string_view digits = text.substr(1, 2);
      if (digits.size() != 2 || !read_digits(digits, &byte, 16)) {
        return bad("\"%\" must be followed by two hex digits");
      }
      c = static_cast<char>(byte);
      taken = 3;
    }
    decoded += c;
    text.remove_prefix(taken);
  }
  return decoded;
}

bool is_redis_url(std::string_view text) { return scheme_of(text) != nullptr; }

Result<Url> parse_url(std::string_view text) {
  const Scheme* const scheme = scheme_of(text);
  if (scheme == nullptr) {
    std::string known;
    for (const Scheme& s : kSchemes) {
      known += (known.empty() ? "redis" : ", redis") + std::string(s.name);
    }
    return bad("scheme must be one of " + known);
  }
  Url url;
  url.topology = scheme->topology;
  url.tls = scheme->tls;
  text.remove_prefix(text.find(kSlashes) + kSlashes.size());
  Parts parts;
  Status status = split(text, *scheme, &parts);
  if (status.ok()) status = read_userinfo(parts, &url);
  if (!status.ok()) return status;
  if (scheme->socket) {
    status = read_socket(parts, &url);
  } else {
    status = read_hosts(parts.hosts, &url);
    if (status.ok() && parts.query) {
      status = bad("nothing may follow \"?\"");
    }
    if (status.ok()) status = read_path(parts.path, &url);
  }
  if (!status.ok()) return status;
  return url;
}

}  // namespace limitree::redis
