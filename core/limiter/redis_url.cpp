#include "limiter/redis_url.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "store/remote/common/url_parts.hpp"
#include "text/problems.hpp"

namespace limitree {

namespace {

// The options that may follow "?".
constexpr std::string_view kOfServer[] = {
    "password_file",          "sentinel_username", "sentinel_password",
    "sentinel_password_file", "tls_ca_file",       "tls_cert_file",
    "tls_key_file",           "tls_server_name",   "tls_verify",
    "connect_timeout"};

// "store: host is missing" as a message about another option.
Status renamed(const Setting& setting, const Status& status) {
  constexpr std::string_view kStore = "store: ";
  std::string_view why = status.message();
  if (why.starts_with(kStore)) why.remove_prefix(kStore.size());
  return refuse(setting, why);
}

Status read_option(const Setting& setting, std::string_view name,
                   std::string_view value, const SetOption& set) {
  if (std::ranges::find(kOfServer, name) == std::end(kOfServer)) {
    return refuse(setting, "only " + join(kOfServer) + " may follow \"?\"");
  }
  const Result<std::string> decoded = remote::decode_url(value);
  if (!decoded.ok()) {
    return refuse(setting, std::string(name) +
                               ": \"%\" must be followed by two hex digits");
  }
  const Status status = set(name, decoded.value());
  return status.ok() ? Status() : renamed(setting, status);
}

}  // namespace

Status read_redis_url(const Setting& setting, const SetOption& set,
                      redis::Settings* settings) {
  std::string_view rest = setting.value;
  const std::size_t question = rest.find('?');
  std::string url(rest.substr(0, question));
  if (question == rest.npos || rest.find('@', question) != rest.npos) {
    url = rest;  // with an "@" it is a password that is not encoded
  } else {
    for (rest.remove_prefix(question); !rest.empty();) {
      rest.remove_prefix(1);
      const std::string_view part = rest.substr(0, rest.find('&'));
      rest.remove_prefix(part.size());
      const std::size_t equals = std::min(part.find('='), part.size());
      const std::string_view name = part.substr(0, equals);
      if (name == "db") {  // of a Unix socket
        url.append(url.find('?') == url.npos ? "?" : "&").append(part);
        continue;
      }
      Status status = read_option(
          setting, name, part.substr(std::min(equals + 1, part.size())), set);
      if (!status.ok()) return status;
    }
  }
  Result<redis::Url> parsed = redis::parse_url(url);
  if (!parsed.ok()) return renamed(setting, parsed.status());
  settings->url = std::move(parsed.value());
  settings->login.user = settings->url.user;
  settings->login.password = settings->url.password;
  settings->login.db = settings->url.db;
  return {};
}

}  // namespace limitree
