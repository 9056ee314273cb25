#include "log_values.hpp"

#include <algorithm>
#include <utility>

namespace limitree::cli {

namespace {

struct KnownName {
  std::string_view name;
  Slot slot;
};

// Names that are not those of fields: variables of nginx.
constexpr auto kKnown = std::to_array<KnownName>({
    {"time", Slot::kTime},
    {"time_local", Slot::kTime},
    {"time_iso8601", Slot::kTime},
    {"msec", Slot::kTime},
    {"request", Slot::kRequest},
    {"request_method", slot_of(Field::kMethod)},
    {"request_uri", slot_of(Field::kTarget)},
    {"uri", slot_of(Field::kPath)},
    {"args", slot_of(Field::kQuery)},
    {"query_string", slot_of(Field::kQuery)},
    {"server_protocol", slot_of(Field::kProtocol)},
    {"body_bytes_sent", slot_of(Field::kBytes)},
    {"bytes_sent", slot_of(Field::kBytes)},
    {"http_referer", slot_of(Field::kReferer)},
    {"http_user_agent", slot_of(Field::kUserAgent)},
});

std::string_view without_brackets(std::string_view address) {
  if (address.starts_with('[') && address.ends_with(']')) {
    address.remove_prefix(1);
    address.remove_suffix(1);
  }
  return address;
}

// The address in "192.0.2.7:443" and "[2001:db8::1]:443", or in text that
// surely has a port.
std::string_view without_port(std::string_view text, bool surely) {
  const std::size_t colon = text.rfind(':');
  const bool port =
      colon != text.npos &&
      (surely || (text.front() == '[' && text[colon - 1] == ']') ||
       (text.find(':') == colon && text.find('.') < colon));
  return without_brackets(port ? text.substr(0, colon) : text);
}

// "/a?b=c" of "https://host:443/a?b=c".
std::string_view without_host(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return url;
  const std::size_t path = url.find('/', scheme + 3);
  return path == url.npos ? "/" : url.substr(path);
}

}  // namespace

std::optional<Slot> known_slot(std::string_view name) {
  if (const auto field = field_of(name)) return slot_of(*field);
  const auto found =
      std::find_if(kKnown.begin(), kKnown.end(),
                   [&](const KnownName& known) { return known.name == name; });
  if (found == kKnown.end()) return std::nullopt;
  return found->slot;
}

void add_fields(Slot slot, LogFields* fields) {
  const bool is_request = slot == Slot::kRequest || slot == Slot::kUrlRequest;
  if (is_request) {
    fields->add("method");
    fields->add("protocol");
  }
  if (is_request || slot == slot_of(Field::kTarget)) {
    for (const char* const name : {"path", "query", "target"}) {
      fields->add(name);
    }
  } else if (slot == Slot::kPeer) {
    fields->add("remote_addr");
  } else if (static_cast<std::size_t>(slot) < kFieldCount) {
    fields->add(field_name(static_cast<Field>(slot)));
  }
}

std::optional<Slot> LogValues::finish(LogRequest* request) {
  if (!time_.parse(text(Slot::kTime), request)) return Slot::kTime;
  for (std::string_view& value : request->fields) value = "-";
  if (const auto line = text(Slot::kRequest); !line.empty()) {
    split_request(line, request);
  } else if (const auto url = text(Slot::kUrlRequest); !url.empty()) {
    split_request(url, request);
    if ((*request)[Field::kMethod] != "-") {
      split_target(without_host((*request)[Field::kTarget]), request);
    }
  }
  if (const auto target = text(slot_of(Field::kTarget)); !target.empty()) {
    split_target(target, request);
  }
  if (const auto peer = text(Slot::kPeer); !peer.empty()) {
    (*request)[Field::kRemoteAddr] = without_port(peer, true);
  }
  for (std::size_t i = 0; i < kMaxFields; ++i) {
    const auto field = static_cast<Field>(i);
    if (!set_[i] || field == Field::kTarget) continue;
    (*request)[field] = field == Field::kRemoteAddr
                            ? without_port(texts_[i], false)
                            : texts_[i];
  }
  return std::nullopt;
}

}  // namespace limitree::cli
