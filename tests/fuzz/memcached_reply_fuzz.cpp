// Bytes that a memcached server might send, or whatever else listens on its
// port.
//
// Whole or byte by byte, they make the same responses, within bounds; and the
// items in them are read as item_fuzz reads them.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "store/memcached/item.hpp"
#include "store/memcached/reader.hpp"

namespace {

using limitree::memcached::Item;
using limitree::memcached::Reader;

void require(bool fact) {
  if (!fact) std::abort();
}

// What the reader makes of `bytes`, taken `step` at a time.
std::string read(std::string_view bytes, std::size_t step) {
  Reader reader;
  std::string text;
  for (; !bytes.empty(); bytes.remove_prefix(std::min(step, bytes.size()))) {
    reader.feed(bytes.substr(0, step));
    while (const auto response = reader.next()) {
      require(response->text.size() <= Reader::kMaxValue);
      text += std::to_string(static_cast<int>(response->kind)) + ' ' +
              std::to_string(response->cas) + ' ' + response->text + '\n';
      Item item;
      (void)limitree::memcached::decode(response->text, &item);
    }
    if (reader.failed()) {
      require(!reader.next());  // for good
      return text + reader.detail();
    }
  }
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  if (size < 2) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  require(read(bytes, size) == read(bytes, 1));
  return 0;
}
