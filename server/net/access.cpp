#include "net/access.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <fstream>
#include <utility>

#include "io/failure.hpp"
#include "io/file_state.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

constexpr std::string_view kBearer = "bearer ";
// Nobody finds this many characters by trying.
constexpr std::size_t kLeastToken = 16;

bool is_visible(char byte) { return byte > ' ' && byte < 0x7f; }

// The time that this takes does not show where they differ.
bool equal(std::string_view given, std::string_view secret) {
  unsigned different = given.size() == secret.size() ? 0 : 1;
  for (std::size_t i = 0; i < given.size(); ++i) {
    different |= static_cast<unsigned>(given[i] ^ secret[i % secret.size()]);
  }
  return different == 0;
}

// "localhost" of "localhost:8080", "[::1]" of "[::1]:8080".
std::string_view host_of(std::string_view authority) {
  const std::size_t bracket = authority.rfind(']');
  const std::size_t colon = authority.rfind(':');
  if (colon == authority.npos) return authority;
  if (bracket != authority.npos && colon < bracket) return authority;
  return authority.substr(0, colon);
}

bool is_loopback(const std::string& host) {
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) {
    return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
  }
  in6_addr v6{};
  return host.starts_with('[') && host.ends_with(']') &&
         inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) ==
             1 &&
         IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

}  // namespace

AdminToken::AdminToken(std::string file)
    : file_(std::move(file)), state_(file_state(file_)) {
  if (!file_.empty()) token_ = read();
}

std::string AdminToken::read() const {
  std::ifstream file(file_);
  std::string line;
  if (!file || (file.peek(), file.bad())) throw Failure(file_, errno);
  std::getline(file, line);
  if (line.ends_with('\r')) line.pop_back();
  if (line.size() < kLeastToken || !std::ranges::all_of(line, is_visible)) {
    throw Failure(file_ + ": the first line must be a token of " +
                  std::to_string(kLeastToken) +
                  " or more letters, digits and signs");
  }
  return line;
}

bool AdminToken::refresh() {
  if (file_.empty()) return false;
  std::string now = file_state(file_);
  if (now == state_) return false;
  std::string token = read();
  state_ = std::move(now);
  const std::lock_guard lock(mutex_);
  return std::exchange(token_, std::move(token)) != token_;
}

bool AdminToken::allows(std::string_view authorization) const {
  if (!is_word(authorization.substr(0, kBearer.size()), kBearer)) return false;
  authorization.remove_prefix(kBearer.size());
  const std::lock_guard lock(mutex_);
  return !token_.empty() && equal(authorization, token_);
}

HostNames::HostNames(std::vector<std::string> others)
    : others_(std::move(others)) {
  for (std::string& name : others_) name = lower(name);
}

bool HostNames::know(std::string_view authority) const {
  std::string host = lower(host_of(authority));
  if (host.size() > 1 && host.ends_with('.')) host.pop_back();
  return host == "localhost" || is_loopback(host) ||
         std::ranges::find(others_, host) != others_.end();
}

}  // namespace limitree::server
