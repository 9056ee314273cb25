// What the URLs of remote stores have in common.
//
// Messages show text of a URL only where it cannot be part of a password that
// was not encoded correctly.

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digits.hpp"
#include "base/status.hpp"
#include "io/endpoint.hpp"

namespace limitree::remote {

inline constexpr std::string_view kSlashes = "://";

// kInvalidConfig about the option `store`.
Status bad_url(std::string_view problem);

// `text` for a message: nothing but a short number, which is what most mistakes
// with numbers are.
std::string shown_number(std::string_view text);

template <typename Number>
std::optional<Number> read_number(std::string_view text, Number least) {
  if (text.empty() || !is_digit(text[0])) return std::nullopt;
  Number number = 0;
  if (!read_digits(text, &number) || number < least) return std::nullopt;
  return number;
}

// Percent-decoded.
Result<std::string> decode_url(std::string_view text);

// What stands between the slashes, the at sign and the question mark.
struct UrlParts {
  std::string_view userinfo;
  std::string_view hosts;
  std::string_view path;  // with its slash
  std::optional<std::string_view> query;
  bool has_userinfo = false;
};

// Splits what follows the scheme.  `socket`: that of a Unix socket.
Status split_url(std::string_view text, bool socket, UrlParts* parts);

// A user may stand alone.
Status read_userinfo(const UrlParts& parts, std::string* user,
                     std::string* password);

// A list of host[:port], split by commas.
Status read_endpoints(std::string_view text, std::uint16_t default_port,
                      std::vector<Endpoint>* endpoints);

// The path of a Unix socket.
Status read_socket_path(const UrlParts& parts, std::string_view scheme,
                        std::vector<Endpoint>* endpoints);

}  // namespace limitree::remote
