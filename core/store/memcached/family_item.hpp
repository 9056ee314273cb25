// One family of a request on its way through memcached: its item as it was
// read, and as it is to be written.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.hpp"
#include "store/memcached/item.hpp"
#include "store/remote/common/node.hpp"

namespace limitree::memcached {

struct FamilyItem {
  enum class Write : std::uint8_t { kNone, kSet, kDelete };

  std::string key;
  remote::Node* node = nullptr;
  std::uint32_t first = 0;   // its levels, in the order of the families
  std::uint32_t levels = 0;  // how many

  // As it was read.
  bool exists = false;
  std::uint64_t cas = 0;
  std::string bytes;
  Item item;

  Write write = Write::kNone;
  std::string next;      // the new bytes
  std::int64_t ttl = 0;  // of these, for the server; of the old ones if undone
  std::int64_t old_ttl = 0;
  bool written = false;
  std::uint64_t written_cas = 0;
  bool lost = false;  // others changed it before it could be taken back

  // Lines of the meta protocol.  The last two are conditional on `cas`, or on
  // there being no item.
  void append_get(std::string* out) const;
  void append_write(bool wants_cas, std::string* out) const;
  // What undoes append_write() of new bytes.
  void append_undo(std::string* out) const;
};

// The key in memcached for a key of any bytes and length: the same, or its
// prefix and the hash of the whole if memcached does not take it.
std::string item_key(std::string key, std::string_view prefix);

// How long an item lives whose last field is over after that time, in the form
// that memcached reads.
std::int64_t ttl_for(Duration time);

}  // namespace limitree::memcached
