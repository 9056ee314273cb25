// Looks up the names of hosts.

#include <netdb.h>
#include <netinet/in.h>

#include <charconv>
#include <memory>

#include "io/address.hpp"
#include "io/failure.hpp"

namespace limitree {

namespace {

struct AddressesEnd {
  void operator()(addrinfo* addresses) const noexcept {
    freeaddrinfo(addresses);
  }
};

using Addresses = std::unique_ptr<addrinfo, AddressesEnd>;

Addresses look_up(const std::string& host) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), nullptr, &wanted, &found);
  if (error != 0) throw Failure("'" + host + "': " + gai_strerror(error));
  return Addresses(found);
}

}  // namespace

std::string address_of(const std::string& host, int port) {
  std::string end = ':' + std::to_string(port);
  if (host.empty()) return end;
  const Addresses found = look_up(host);
  char text[INET6_ADDRSTRLEN] = "";
  getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  const bool v6 = found->ai_family == AF_INET6;
  return (v6 ? '[' + std::string(text) + ']' : std::string(text)) + end;
}

Endpoint parse_endpoint(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  Endpoint endpoint{text.substr(0, colon)};
  std::string& host = endpoint.host;
  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) host = host.substr(1, host.size() - 2);
  const char* const end = text.data() + text.size();
  if (colon != text.npos && !host.empty() &&
      (bracketed || host.find(':') == host.npos)) {
    const auto [rest, error] =
        std::from_chars(text.data() + colon + 1, end, endpoint.port);
    if (error == std::errc() && rest == end) return endpoint;
  }
  throw Failure("'" + text + "' is no place such as localhost:18000");
}

}  // namespace limitree
