#include "tree/key_kind.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "text/number.hpp"
#include "text/problems.hpp"
#include "tree/address.hpp"
#include "tree/pattern.hpp"

#ifdef LIMITREE_HAS_PSL
#include <libpsl.h>
#endif

namespace limitree {

namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 9> kKinds = {
    "text",   "ip",       "cidr4/N", "cidr6/N", "integer",
    "domain", "fqdn_set", "hex",     "tier"};
static_assert(kKinds[static_cast<std::size_t>(KeyKind::kTier)] == "tier");
constexpr int kHostPrefix6 = 64;  // mostly one site
constexpr std::size_t kMaxDigits = 20;
constexpr std::size_t kMaxSet = 65536;  // bytes

// Reads the N of "cidr4/N".
Result<Key> parse_cidr(std::string_view text) {
  const bool v6 = text.starts_with("cidr6");
  const int bits = v6 ? 128 : 32;
  Key key{v6 ? KeyKind::kCidr6 : KeyKind::kCidr4,
          static_cast<std::uint8_t>(v6 ? kHostPrefix6 : bits)};
  if (text.size() == 5) return key;
  Result<std::int64_t> prefix = parse_integer(text.substr(6));
  if (!prefix.ok() || prefix.value() < 1 || prefix.value() > bits) {
    return invalid_config("key " + printable(text) +
                          " must have a prefix of 1 to " +
                          std::to_string(bits));
  }
  key.prefix = static_cast<std::uint8_t>(prefix.value());
  return key;
}

bool is_hex(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

constexpr std::size_t kMaxHostName = 253;  // bytes
constexpr std::size_t kMaxLabel = 63;

bool is_allowed(char c) {
  return (c >= 'a' && c <= 'z') || is_digit(c) || c == '-' || c == '_';
}

// Whether `label`, in lower case, is valid between two dots.
bool is_label(std::string_view label) {
  return !label.empty() && label.size() <= kMaxLabel && label.front() != '-' &&
         label.back() != '-' &&
         std::all_of(label.begin(), label.end(), is_allowed);
}

// Writes `name` to `out`, in lower case and without a dot at its end.  `out`
// has room for kMaxHostName bytes and a terminator.  Returns the bytes written,
// or 0 if `name` is not a host name: letters, digits, - and _ in labels of 1 to
// 63 bytes, and a last label that is not a number.
std::size_t lower_host_name(std::string_view name, char* out) {
  if (name.ends_with('.')) name.remove_suffix(1);
  if (name.empty() || name.size() > kMaxHostName) return 0;
  std::ranges::transform(name, out, [](char c) { return lower_case(c); });
  out[name.size()] = '\0';

  std::string_view rest(out, name.size());
  for (;;) {
    const std::size_t dot = rest.find('.');
    const std::string_view label = rest.substr(0, dot);
    if (!is_label(label)) return 0;
    if (dot == rest.npos) {
      const bool number = std::all_of(label.begin(), label.end(), is_digit);
      return number ? 0 : name.size();
    }
    rest.remove_prefix(dot + 1);
  }
}

#ifdef LIMITREE_HAS_PSL

// The newer of the list in libpsl and the list of the system.  Read once and
// never freed, because limiters may outlive static objects.
const psl_ctx_t* public_suffixes() {
  static const psl_ctx_t* const list = [] {
    const psl_ctx_t* const newest = psl_latest(nullptr);
    return newest == nullptr ? psl_builtin() : newest;
  }();
  return list;
}

bool knows_public_suffixes() { return public_suffixes() != nullptr; }

// The registrable domain: "example.co.uk" for "www.example.co.uk".  That is a
// suffix of the Public Suffix List and one label more.  A name that is a suffix
// is its own domain.
// REQUIRES: knows_public_suffixes(), and lower_host_name() made `name`.
std::string_view registrable_domain(const char* name) {
  const char* const domain = psl_registrable_domain(public_suffixes(), name);
  return domain == nullptr ? name : domain;
}

#else

bool knows_public_suffixes() { return false; }
std::string_view registrable_domain(const char* name) { return name; }

#endif

// Appends `name` of a set to *out in its canonical form.  False if it is not a
// host name, "*." and a host name, or an address.
bool append_member(std::string_view name, std::string* out) {
  if (const std::optional<Address> address = parse_address(name)) {
    *out += AddressText(*address).view();
    return true;
  }
  if (name.starts_with("*.")) {
    *out += "*.";
    name.remove_prefix(2);
  }
  char host[kMaxHostName + 1];
  const std::size_t size = lower_host_name(name, host);
  out->append(host, size);
  return size != 0;
}

}  // namespace

Result<Key> parse_key(std::string_view text) {
  const std::string_view head = text.substr(0, text.find('/'));
  if (head == "cidr4" || head == "cidr6") return parse_cidr(text);
  const auto found = std::ranges::find(kKinds, text);
  if (found == kKinds.end()) {
    return invalid_config(unknown_word("key", text, kKinds));
  }
  const auto kind = static_cast<KeyKind>(found - kKinds.begin());
  if (kind == KeyKind::kDomain && !knows_public_suffixes()) {
    return invalid_config(
        "key domain needs libpsl, and this build of limitree has none");
  }
  return Key{kind, 0};
}

std::string key_text(Key key) {
  std::string text(kKinds[static_cast<std::size_t>(key.kind)]);
  if (text.ends_with('N')) {
    text.pop_back();
    text += std::to_string(key.prefix);
  }
  return text;
}

const char* CanonicalId::set(Key key, std::string_view id) {
  view_ = id;
  switch (key.kind) {
    case KeyKind::kText:
    case KeyKind::kTier:
      return nullptr;
    case KeyKind::kIp:
      return set_ip(id);
    case KeyKind::kCidr4:
    case KeyKind::kCidr6:
      return set_network(key, id);
    case KeyKind::kInteger:
      return set_integer(id);
    case KeyKind::kDomain:
      return set_domain(id);
    case KeyKind::kFqdnSet:
      return set_fqdn_set(id);
    case KeyKind::kHex:
      return set_hex(id);
  }
  return nullptr;
}

// Room for `size` bytes, which view_ may then show.
char* CanonicalId::room(std::size_t size) {
  if (size <= room_.size()) return room_.data();
  long_.resize(size);
  return long_.data();
}

void CanonicalId::keep(std::string_view text) {
  if (text == view_) return;
  char* const place = room(text.size());
  text.copy(place, text.size());
  view_ = {place, text.size()};
}

const char* CanonicalId::set_ip(std::string_view id) {
  const std::optional<Address> address = parse_address(id);
  if (!address) return "is not an IP address";
  keep(AddressText(*address).view());
  return nullptr;
}

const char* CanonicalId::set_network(Key key, std::string_view id) {
  const bool v6 = key.kind == KeyKind::kCidr6;
  const char* const wrong =
      v6 ? "is not an IPv6 address" : "is not an IPv4 address";
  if (pattern_kind(id) == PatternKind::kNetwork) {
    const Result<Network> network = parse_network(id);
    if (!network.ok()) return "is not a network: bits are set after its prefix";
    if (network.value().address.v6 != v6) return wrong;
    if (network.value().prefix != key.prefix) {
      return "is a network of another size than its key says";
    }
    keep(AddressText(network.value()).view());
    return nullptr;
  }
  const std::optional<Address> address = parse_address(id);
  if (!address || address->v6 != v6) return wrong;
  keep(AddressText(Network{masked(*address, key.prefix), key.prefix}).view());
  return nullptr;
}

const char* CanonicalId::set_integer(std::string_view id) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 63;
  const bool negative = id.starts_with('-');
  const std::string_view digits = id.substr(negative ? 1 : 0);
  std::uint64_t value = 0;
  const auto read = std::from_chars(digits.begin(), digits.end(), value);
  if (digits.empty() || read.ptr != digits.end()) {
    return "is not a whole number";
  }
  if (read.ec != std::errc() || (negative && value > kMost)) {
    return "is a number of more than 64 bits";
  }
  std::array<char, kMaxDigits + 1> text;
  char* const first = text.data() + 1;
  text[0] = '-';
  const char* const end =
      std::to_chars(first, text.data() + text.size(), value).ptr;
  const char* const begin = negative && value > 0 ? text.data() : first;
  keep({begin, static_cast<std::size_t>(end - begin)});
  return nullptr;
}

// The domain of an address is the address itself, or the network of its site.
bool CanonicalId::set_host_address(std::string_view id) {
  const std::optional<Address> address = parse_address(id);
  if (!address) {
    return pattern_kind(id) == PatternKind::kNetwork &&
           set_network({KeyKind::kCidr6, kHostPrefix6}, id) == nullptr;
  }
  if (!address->v6) {
    keep(AddressText(*address).view());
    return true;
  }
  return set_network({KeyKind::kCidr6, kHostPrefix6}, id) == nullptr;
}

const char* CanonicalId::set_domain(std::string_view id) {
  static_assert(sizeof room_ > kMaxHostName);
  if (set_host_address(id)) return nullptr;
  if (lower_host_name(id, room_.data()) == 0) {
    return "is not a host name or an IP address";
  }
  const std::string_view domain = registrable_domain(room_.data());
  // The caller's text lives longer.
  if (domain != id) view_ = domain;
  return nullptr;
}

const char* CanonicalId::set_fqdn_set(std::string_view id) {
  if (id.size() > kMaxSet) return "is longer than 65536 bytes";
  std::vector<std::string> names;
  for (std::string_view rest = id;;) {
    const std::size_t comma = rest.find(',');
    if (!append_member(rest.substr(0, comma), &names.emplace_back())) {
      return "is not a list of host names with commas between them";
    }
    if (comma == rest.npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string all;
  for (const std::string& name : names) {
    if (!all.empty()) all += ',';
    all += name;
  }
  keep(all);
  return nullptr;
}

const char* CanonicalId::set_hex(std::string_view id) {
  if (id.empty() || !std::all_of(id.begin(), id.end(), is_hex)) {
    return "is not hexadecimal";
  }
  if (std::none_of(id.begin(), id.end(),
                   [](char c) { return c >= 'A' && c <= 'F'; })) {
    return nullptr;
  }
  char* const place = room(id.size());
  std::ranges::transform(id, place, [](char c) { return lower_case(c); });
  view_ = {place, id.size()};
  return nullptr;
}

}  // namespace limitree
