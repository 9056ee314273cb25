#include "store/memcached/url.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>

#include "base/dns_name.hpp"
#include "store/remote/common/url_parts.hpp"

namespace limitree::memcached {

namespace {

constexpr std::uint16_t kPort = 11211;
constexpr std::string_view kName = "memcached";

enum class Form : std::uint8_t { kHosts, kSocket, kSrv };

struct Scheme {
  std::string_view name;
  Form form;
  bool tls;
};

constexpr Scheme kSchemes[] = {
    {"memcached", Form::kHosts, false},
    {"memcacheds", Form::kHosts, true},
    {"memcached+unix", Form::kSocket, false},
    {"memcached+srv", Form::kSrv, false},
    {"memcacheds+srv", Form::kSrv, true},
};

const Scheme* scheme_of(std::string_view text) {
  const std::string_view name = text.substr(0, text.find(remote::kSlashes));
  if (name.size() == text.size()) return nullptr;
  const Scheme* const found =
      std::find_if(std::begin(kSchemes), std::end(kSchemes),
                   [name](const Scheme& s) { return s.name == name; });
  return found == std::end(kSchemes) ? nullptr : found;
}

Status read_srv(const remote::UrlParts& parts, Url* url) {
  constexpr std::int64_t kMostSeconds = std::int64_t{24} * 60 * 60;
  constexpr std::string_view kRefresh = "refresh=";
  if (!is_srv_name(parts.hosts)) {
    return remote::bad_url(
        "a name must follow, as in "
        "memcached+srv://_memcached._tcp.example.org");
  }
  url->srv = parts.hosts;
  if (!parts.query) return {};
  const auto seconds = parts.query->starts_with(kRefresh)
                           ? remote::read_number<std::int64_t>(
                                 parts.query->substr(kRefresh.size()), 1)
                           : std::nullopt;
  if (!seconds || *seconds > kMostSeconds) {
    return remote::bad_url("only refresh=SECONDS may follow \"?\", 1 to 86400");
  }
  url->refresh = std::chrono::seconds(*seconds);
  return {};
}

Status read_place(const remote::UrlParts& parts, Form form, Url* url) {
  if (form == Form::kSocket) {
    return remote::read_socket_path(parts, kName, &url->endpoints);
  }
  if (!parts.path.empty() && parts.path != "/") {
    return remote::bad_url("nothing may follow the hosts");
  }
  if (form == Form::kSrv) return read_srv(parts, url);
  Status status = remote::read_endpoints(parts.hosts, kPort, &url->endpoints);
  if (!status.ok()) return status;
  for (auto one = url->endpoints.begin(); one != url->endpoints.end(); ++one) {
    if (std::find(url->endpoints.begin(), one, *one) != one) {
      return remote::bad_url("has the same host twice: " + one->text());
    }
  }
  return {};
}

// The login of memcached is one line: a user, a blank and a password.
bool is_word(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return c > ' ' && c != 0x7f; });
}

}  // namespace

bool is_memcached_url(std::string_view text) {
  return scheme_of(text) != nullptr;
}

Result<Url> parse_url(std::string_view text) {
  const Scheme* const scheme = scheme_of(text);
  if (scheme == nullptr) {
    std::string known;
    for (const Scheme& s : kSchemes) {
      known += (known.empty() ? "" : ", ") + std::string(s.name);
    }
    return remote::bad_url("scheme must be one of " + known);
  }
  Url url;
  url.tls = scheme->tls;
  text.remove_prefix(scheme->name.size() + remote::kSlashes.size());
  remote::UrlParts parts;
  Status status =
      remote::split_url(text, scheme->form == Form::kSocket, &parts);
  if (status.ok()) {
    status = remote::read_userinfo(parts, &url.user, &url.password);
  }
  if (status.ok() && !url.user.empty() && url.password.empty()) {
    status = remote::bad_url(
        "a user needs a password, as in memcached://user:password@host");
  }
  if (status.ok() && parts.has_userinfo &&
      (url.user.empty() || !is_word(url.user) || !is_word(url.password))) {
    status = remote::bad_url("user and password must be words without blanks");
  }
  if (status.ok() && parts.query && scheme->form != Form::kSrv) {
    status = remote::bad_url("nothing may follow \"?\"");
  }
  if (status.ok()) status = read_place(parts, scheme->form, &url);
  if (!status.ok()) return status;
  return url;
}

}  // namespace limitree::memcached
