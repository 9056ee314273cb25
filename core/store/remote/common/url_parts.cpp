#include "store/remote/common/url_parts.hpp"

#include <arpa/inet.h>
#include <sys/un.h>

#include <algorithm>
#include <utility>

#include "base/dns_name.hpp"

namespace limitree::remote {

namespace {

constexpr std::size_t kMaxEndpoints = 64;
constexpr std::size_t kMaxSocket = sizeof(sockaddr_un::sun_path) - 1;

bool is_ipv6(const std::string& text) {
  in6_addr address;
  return inet_pton(AF_INET6, text.c_str(), &address) == 1;
}

Status read_port(std::string_view text, Endpoint* endpoint) {
  const std::optional<std::uint16_t> port = read_number<std::uint16_t>(text, 1);
  if (!port) return bad_url("port must be 1 to 65535" + shown_number(text));
  endpoint->port = *port;
  return {};
}

Status read_ipv6(std::string_view text, Endpoint* endpoint) {
  const std::size_t end = text.find(']');
  if (end == text.npos) return bad_url("\"[\" without \"]\"");
  endpoint->host = text.substr(1, end - 1);
  if (!is_ipv6(endpoint->host)) {
    return bad_url("what stands in brackets must be an IPv6 address");
  }
  text.remove_prefix(end + 1);
  if (text.empty()) return {};
  if (text[0] != ':') return bad_url("only a port may follow an IPv6 address");
  return read_port(text.substr(1), endpoint);
}

Status read_endpoint(std::string_view text, Endpoint* endpoint) {
  if (text.starts_with('[')) return read_ipv6(text, endpoint);
  const std::size_t colon = text.find(':');
  if (colon != text.npos && text.find(':', colon + 1) != text.npos) {
    return bad_url("an IPv6 address stands in brackets, as in [::1]:6379");
  }
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return bad_url("host is missing");
  if (!is_dns_name(host)) {
    return bad_url(
        "host must be a name, an IPv4 address, or an IPv6 address in brackets");
  }
  endpoint->host = host;
  if (colon == text.npos) return {};
  return read_port(text.substr(colon + 1), endpoint);
}

}  // namespace

Status bad_url(std::string_view problem) {
  return invalid_config("store: " + std::string(problem));
}

std::string shown_number(std::string_view text) {
  if (text.size() > 5 || !std::all_of(text.begin(), text.end(), is_digit)) {
    return "";
  }
  return ", is \"" + std::string(text) + "\"";
}

Result<std::string> decode_url(std::string_view text) {
  std::string decoded;
  while (!text.empty()) {
    std::size_t taken = 1;
    char c = text[0];
    if (c == '%') {
      unsigned char byte = 0;
      const std::string_view digits = text.substr(1, 2);
      if (digits.size() != 2 || !read_digits(digits, &byte, 16)) {
        return bad_url("\"%\" must be followed by two hex digits");
      }
      c = static_cast<char>(byte);
      taken = 3;
    }
    decoded += c;
    text.remove_prefix(taken);
  }
  return decoded;
}

Status split_url(std::string_view text, bool socket, UrlParts* parts) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) <= ' ' || c == 0x7f) {
      return bad_url("blanks and control characters must be percent-encoded");
    }
  }
  if (text.find('#') != text.npos) return bad_url("\"#\" must be written %23");

  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  std::string_view authority = text.substr(0, end);
  std::string_view rest = text.substr(end);
  const bool is_path_alone = socket && authority.empty();
  if (rest.find('@') != rest.npos && !is_path_alone) {
    return bad_url(
        "\"@\" must be written %40, and \"/\" and \"?\" in a user or password "
        "%2F and %3F");
  }
  const std::size_t at = authority.find('@');
  if (at != authority.npos) {
    parts->has_userinfo = true;
    parts->userinfo = authority.substr(0, at);
    authority.remove_prefix(at + 1);
    if (authority.find('@') != authority.npos) {
      return bad_url("\"@\" in a user or password must be written %40");
    }
  }
  parts->hosts = authority;
  const std::size_t question = rest.find('?');
  parts->path = rest.substr(0, question);
  if (question != rest.npos) parts->query = rest.substr(question + 1);
  return {};
}

Status read_userinfo(const UrlParts& parts, std::string* user,
                     std::string* password) {
  if (!parts.has_userinfo) return {};
  const std::size_t colon = parts.userinfo.find(':');
  Result<std::string> name = decode_url(parts.userinfo.substr(0, colon));
  if (!name.ok()) return std::move(name.status());
  *user = std::move(name.value());
  if (colon == parts.userinfo.npos) {
    return user->empty() ? bad_url("user is empty") : Status();
  }
  Result<std::string> secret = decode_url(parts.userinfo.substr(colon + 1));
  if (!secret.ok()) return std::move(secret.status());
  if (secret.value().empty()) return bad_url("password is empty");
  *password = std::move(secret.value());
  return {};
}

Status read_endpoints(std::string_view text, std::uint16_t default_port,
                      std::vector<Endpoint>* endpoints) {
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    Endpoint endpoint;
    endpoint.port = default_port;
    Status status = read_endpoint(text.substr(0, comma), &endpoint);
    if (!status.ok()) return status;
    endpoints->push_back(std::move(endpoint));
    if (endpoints->size() > kMaxEndpoints) {
      return bad_url("has more than 64 hosts");
    }
    more = comma != text.npos;
    text.remove_prefix(more ? comma + 1 : 0);
  }
  return {};
}

Status read_socket_path(const UrlParts& parts, std::string_view scheme,
                        std::vector<Endpoint>* endpoints) {
  if (!parts.hosts.empty()) {
    return bad_url("a path must follow, as in " + std::string(scheme) +
                   "+unix:///run/" + std::string(scheme) + ".sock");
  }
  Result<std::string> path = decode_url(parts.path);
  if (!path.ok()) return std::move(path.status());
  Endpoint endpoint;
  endpoint.socket = std::move(path.value());
  if (endpoint.socket.size() < 2)
    return bad_url("path of the socket is missing");
  if (endpoint.socket.size() > kMaxSocket) {
    return bad_url("path of the socket must be at most " +
                   std::to_string(kMaxSocket) + " bytes");
  }
  if (endpoint.socket.find('\0') != std::string::npos) {
    return bad_url("path of the socket must not hold a NUL byte");
  }
  endpoints->push_back(std::move(endpoint));
  return {};
}

}  // namespace limitree::remote
