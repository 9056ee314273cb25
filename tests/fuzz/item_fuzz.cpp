// Bytes of an item of memcached, which another program may have written.
//
// They are damaged, or an item; what an item is written as is read as the same
// item, and takes no more memory than a multiple of its bytes.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "store/memcached/item.hpp"

namespace {

void require(bool fact) {
  if (!fact) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  using limitree::memcached::Item;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Item item;
  if (limitree::memcached::decode(bytes, &item) != nullptr) return 0;
  std::size_t parts = item.fields.size();
  for (std::size_t i = 0; i < item.fields.size(); ++i) {
    const auto& field = item.fields[i];
    require(item.find(field.name) == i);
    require(field.over <= item.over());
    parts += field.entries.size() + field.holds.size();
  }
  require(parts <= size);
  std::string once;
  limitree::memcached::encode(item, &once);
  Item again;
  require(limitree::memcached::decode(once, &again) == nullptr);
  std::string twice;
  limitree::memcached::encode(again, &twice);
  require(once == twice);
  return 0;
}
