#include "store/memcached/family_item.hpp"

#include <algorithm>
#include <chrono>

#include "base/sha.hpp"

namespace limitree::memcached {

namespace {

constexpr std::size_t kMaxKey = 250;  // what memcached takes

// Longer times are instants for memcached, by its own clock.
constexpr std::int64_t kLongestTtl = std::int64_t{30} * 24 * 60 * 60;
// It counts seconds since 1970 in 32 bits.
constexpr std::int64_t kLastSecond = INT32_MAX;

bool is_good(std::string_view text) {
  return std::ranges::none_of(text, [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7f;
  });
}

void append_set(const std::string& key, const std::string& bytes,
                std::int64_t ttl, std::string* out) {
  out->append("ms ").append(key).append(" ").append(
      std::to_string(bytes.size()));
  out->append(" T").append(std::to_string(ttl));
}

void append_cas(std::uint64_t cas, std::string* out) {
  out->append(" C").append(std::to_string(cas));
}

}  // namespace

std::string item_key(std::string key, std::string_view prefix) {
  if (key.size() <= kMaxKey && is_good(key)) return key;
  return std::string(is_good(prefix) ? prefix : "") + "~" + sha256_hex(key);
}

// memcached counts whole seconds, and the first of them may be short.
std::int64_t ttl_for(Duration time) {
  using std::chrono::seconds;
  const std::int64_t ttl = std::chrono::ceil<seconds>(time).count() + 1;
  if (ttl <= kLongestTtl) return std::max(ttl, std::int64_t{1});
  const std::int64_t now =
      std::chrono::duration_cast<seconds>(
          std::chrono::system_clock::now().time_since_epoch())
          .count();
  return ttl < kLastSecond - now ? now + ttl : 0;  // 0: for ever
}

void FamilyItem::append_get(std::string* out) const {
  out->append("mg ").append(key).append(" v c\r\n");
}

void FamilyItem::append_write(bool wants_cas, std::string* out) const {
  if (write == Write::kDelete) {
    out->append("md ").append(key);
    append_cas(cas, out);
    out->append("\r\n");
    return;
  }
  append_set(key, next, ttl, out);
  exists ? append_cas(cas, out) : void(out->append(" ME"));
  out->append(wants_cas ? " c\r\n" : "\r\n");
  out->append(next).append("\r\n");
}

void FamilyItem::append_undo(std::string* out) const {
  if (!exists) {
    out->append("md ").append(key);
    append_cas(written_cas, out);
    out->append("\r\n");
    return;
  }
  append_set(key, bytes, old_ttl, out);
  append_cas(written_cas, out);
  out->append("\r\n").append(bytes).append("\r\n");
}

}  // namespace limitree::memcached
