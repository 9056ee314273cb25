#include "trace/settings.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/digits.hpp"
#include "io/failure.hpp"
#include "io/secret_file.hpp"
#include "net/text.hpp"

namespace limitree::server {

namespace {

// The beginning of variables.
constexpr const char* kOtlp = "OTEL_EXPORTER_OTLP_";

// Nothing if there is a wrong %XX, or a byte that no field may have.
std::optional<std::string> decode(std::string_view text) {
  std::string decoded;
  for (std::size_t i = 0; i < text.size(); ++i) {
    auto byte = static_cast<unsigned char>(text[i]);
    if (byte == '%') {
      const std::string_view digits = text.substr(i + 1, 2);
      if (digits.size() != 2 || !read_digits(digits, &byte, 16)) {
        return std::nullopt;
      }
      i += 2;
    }
    if (byte < ' ' || byte == 0x7F) return std::nullopt;
    decoded += static_cast<char>(byte);
  }
  return decoded;
}

std::pair<std::string, std::string> otlp_pair(const std::string& variable,
                                              std::string_view text,
                                              std::size_t number) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == text.npos || !is_field_name(name)) {
    // The text of the field may be a secret.
    throw Failure(variable + ": field " + std::to_string(number) +
                  " is not NAME=VALUE");
  }
  const auto value = decode(trimmed(text.substr(equals + 1)));
  if (!value) {
    throw Failure(variable + ": the value of '" + std::string(name) +
                  "' is not URL-encoded");
  }
  return {std::string(name), *value};
}

}  // namespace

void check_otlp(const OtlpSettings& settings) {
  if (settings.timeout < kMillisecond) {
    throw Failure(std::string(kOtlp) + "TIMEOUT must be greater than 0");
  }
  const std::string url = signal_url(settings);
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    const bool is_whole = !settings.own_endpoint.empty();
    throw Failure(
        kOtlp + std::string(is_whole ? upper(settings.signal) + '_' : "") +
        "ENDPOINT must begin with http:// or https://, is " +
        shown_url(is_whole ? settings.own_endpoint : settings.endpoint));
  }
  header_fields(settings);
}

std::string signal_url(const OtlpSettings& settings) {
  if (!settings.own_endpoint.empty()) return settings.own_endpoint;
  const std::string& all = settings.endpoint;
  const std::size_t end = std::min(all.find_first_of("?#"), all.size());
  std::string url = all.substr(0, end);
  while (url.ends_with('/')) url.pop_back();
  return url + "/v1/" + settings.signal + all.substr(end);
}

std::string shown_url(const std::string& url) {
  std::string shown = url.substr(0, url.find_first_of("?#"));
  const std::size_t scheme = shown.find("://");
  const std::size_t begin = scheme == shown.npos ? 0 : scheme + 3;
  const std::size_t login = shown.rfind('@');
  if (login != shown.npos && login >= begin) {
    shown.erase(begin, login + 1 - begin);
  }
  return shown;
}

OtlpPairs otlp_pairs(const std::string& variable, const std::string& list) {
  OtlpPairs pairs;
  std::string_view text = list;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view field = trimmed(text.substr(0, comma));
    if (!field.empty()) {
      pairs.push_back(otlp_pair(variable, field, pairs.size() + 1));
    }
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  return pairs;
}

OtlpPairs header_fields(const OtlpSettings& settings) {
  std::string all = settings.headers;
  if (!settings.headers_file.empty()) {
    all += ',' + read_secret(settings.headers_file);
  }
  return otlp_pairs(std::string(kOtlp) + "HEADERS", all);
}

}  // namespace limitree::server
