// The formats of access logs by name.

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "failure.hpp"
#include "log_values.hpp"

namespace limitree::cli {

namespace {

struct Preset {
  std::string_view key;
  std::string_view name;  // for known_slot()
};

// Variables of nginx, as people call members of its JSON.
constexpr auto kJson = std::to_array<Preset>({
    {"time", "time"},
    {"time_iso8601", "time"},
    {"time_local", "time"},
    {"msec", "time"},
    {"remote_addr", "remote_addr"},
    {"remote_user", "remote_user"},
    {"request", "request"},
    {"request_method", "method"},
    {"method", "method"},
    {"request_uri", "target"},
    {"target", "target"},
    {"uri", "path"},
    {"path", "path"},
    {"args", "query"},
    {"query_string", "query"},
    {"query", "query"},
    {"server_protocol", "protocol"},
    {"protocol", "protocol"},
    {"status", "status"},
    {"body_bytes_sent", "bytes"},
    {"bytes_sent", "bytes"},
    {"bytes", "bytes"},
    {"http_referer", "referer"},
    {"referer", "referer"},
    {"http_user_agent", "user_agent"},
    {"user_agent", "user_agent"},
});

// The names that Envoy Gateway and Istio give.
constexpr auto kEnvoy = std::to_array<Preset>({
    {"start_time", "time"},
    {"downstream_remote_address", "remote_addr"},
    {"method", "method"},
    {"path", "target"},
    {"x-envoy-origin-path", "target"},
    {"protocol", "protocol"},
    {"response_code", "status"},
    {"bytes_sent", "bytes"},
    {"user_agent", "user_agent"},
    {"user-agent", "user_agent"},
});

constexpr auto kCaddy = std::to_array<Preset>({
    {"ts", "time"},
    {"request.client_ip", "remote_addr"},
    {"request.remote_ip", "remote_addr"},
    {"request.remote_addr", "remote_addr"},
    {"user_id", "remote_user"},
    {"request.method", "method"},
    {"request.uri", "target"},
    {"request.proto", "protocol"},
    {"status", "status"},
    {"size", "bytes"},
    {"request.headers.Referer", "referer"},
    {"request.headers.User-Agent", "user_agent"},
});

// Lines of the Application Load Balancer of AWS.
constexpr std::string_view kAlbPattern =
    "$type $time $elb $remote_addr_port $target_addr $t1 $t2 $t3 $status "
    "$target_status $received_bytes $bytes \"$url_request\" "
    "\"$http_user_agent\" ";

template <typename Presets>
std::vector<JsonKey> keys_of(const Presets& presets) {
  std::vector<JsonKey> keys;
  for (const Preset& preset : presets) {
    keys.push_back({std::string(preset.key), *known_slot(preset.name)});
  }
  return keys;
}

bool is_field_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
}

// Reads "remote_addr=client.ip".  What --field says replaces the other keys of
// its field.
JsonKey read_key(const std::string& text, LogFields* fields) {
  const std::size_t equals = text.find('=');
  const std::string name = text.substr(0, equals);
  if (equals == text.npos || equals + 1 == text.size() ||
      !is_field_name(name)) {
    throw UsageError("--field '" + text +
                     "': must be like remote_addr=client.ip");
  }
  std::optional<Slot> slot = known_slot(name);
  if (!slot) {
    const auto field = fields->add(name);
    if (!field) {
      throw UsageError("--field '" + text + "': more than " +
                       std::to_string(kMaxFields) + " fields");
    }
    slot = slot_of(*field);
  }
  return {text.substr(equals + 1), *slot};
}

std::unique_ptr<LogFormat> json_log(std::vector<JsonKey> presets,
                                    const std::vector<std::string>& texts,
                                    LogFields* fields) {
  std::vector<JsonKey> keys;
  for (const std::string& text : texts) {
    JsonKey read = read_key(text, fields);
    if (std::any_of(keys.begin(), keys.end(),
                    [&](const JsonKey& key) { return key.key == read.key; })) {
      throw UsageError("--field '" + text + "': '" + read.key +
                       "' is another field already");
    }
    keys.push_back(std::move(read));
  }
  const std::vector<JsonKey> given = keys;
  for (JsonKey& preset : presets) {
    if (std::none_of(given.begin(), given.end(), [&](const JsonKey& key) {
          return key.slot == preset.slot || key.key == preset.key;
        })) {
      keys.push_back(std::move(preset));
    }
  }
  for (const JsonKey& key : keys) add_fields(key.slot, fields);
  return make_json_log(std::move(keys));
}

}  // namespace

std::unique_ptr<LogFormat> make_log_format(const std::string& name,
                                           const std::vector<std::string>& keys,
                                           LogFields* fields) {
  *fields = {};
  if (name == "json") return json_log(keys_of(kJson), keys, fields);
  if (name == "envoy") return json_log(keys_of(kEnvoy), keys, fields);
  if (name == "caddy") return json_log(keys_of(kCaddy), keys, fields);
  if (!keys.empty()) {
    throw UsageError("--field needs --format json, envoy or caddy");
  }
  if (name == "alb") return make_pattern_log(kAlbPattern, true, fields);
  if (name == "common" || name == "combined") {
    *fields = LogFields::common();
    return make_access_log();
  }
  if (name.find('$') != name.npos) return make_pattern_log(name, false, fields);
  throw UsageError(
      "--format '" + name +
      "': must be combined, common, json, envoy, caddy, alb, or a log_format "
      "of nginx such as '$remote_addr [$time_local] \"$request\"'");
}

}  // namespace limitree::cli
