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

constexpr std::string_view kHeaders = "OTEL_EXPORTER_OTLP_HEADERS";

bool is_name(std::string_view text) {
  constexpr std::string_view kOthers = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char one) {
    return is_letter(one) || is_digit(one) || kOthers.find(one) != kOthers.npos;
  });
}

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

std::pair<std::string, std::string> header_field(std::string_view text,
                                                 std::size_t number) {
  const std::size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == text.npos || !is_name(name)) {
    // The text of the field may be a secret.
    throw Failure(std::string(kHeaders) + ": field " + std::to_string(number) +
                  " is not NAME=VALUE");
  }
  const auto value = decode(trimmed(text.substr(equals + 1)));
  if (!value) {
    throw Failure(std::string(kHeaders) + ": the value of '" +
                  std::string(name) + "' is not URL-encoded");
  }
  return {std::string(name), *value};
}

}  // namespace

void check_trace(const TraceSettings& settings) {
  if (settings.timeout < kMillisecond) {
    throw Failure("OTEL_EXPORTER_OTLP_TIMEOUT must be greater than 0");
  }
  const std::string url = traces_url(settings);
  if (!url.starts_with("http://") && !url.starts_with("https://")) {
    const bool is_whole = !settings.traces_endpoint.empty();
    throw Failure(
        std::string("OTEL_EXPORTER_OTLP_") + (is_whole ? "TRACES_" : "") +
        "ENDPOINT must begin with http:// or https://, is " +
        shown_url(is_whole ? settings.traces_endpoint : settings.endpoint));
  }
  header_fields(settings);
}

std::string traces_url(const TraceSettings& settings) {
  if (!settings.traces_endpoint.empty()) return settings.traces_endpoint;
  const std::string& all = settings.endpoint;
  const std::size_t end = std::min(all.find_first_of("?#"), all.size());
  std::string url = all.substr(0, end);
  while (url.ends_with('/')) url.pop_back();
  return url + "/v1/traces" + all.substr(end);
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

std::vector<std::pair<std::string, std::string>> header_fields(
    const TraceSettings& settings) {
  std::vector<std::pair<std::string, std::string>> fields;
  std::string all = settings.headers;
  if (!settings.headers_file.empty()) {
    all += ',' + read_secret(settings.headers_file);
  }
  std::string_view text = all;
  while (!text.empty()) {
    const std::size_t comma = text.find(',');
    const std::string_view field = trimmed(text.substr(0, comma));
    if (!field.empty()) {
      fields.push_back(header_field(field, fields.size() + 1));
    }
    if (comma == text.npos) break;
    text.remove_prefix(comma + 1);
  }
  return fields;
}

}  // namespace limitree::server
