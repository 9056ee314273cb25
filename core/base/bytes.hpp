// Reading short runs of bytes without a loop and without a call.

#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace limitree {

template <typename Word>
inline Word load(const char* at) {
  Word word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// Returns the `size` < 8 bytes at `at`, and reads no others.  On a
// little-endian machine the first byte is the lowest.
inline std::uint64_t load_short(const char* at, std::size_t size) {
  if (size >= 4) {
    const std::uint64_t high = load<std::uint32_t>(at + size - 4);
    return load<std::uint32_t>(at) | high << (8 * (size - 4));
  }
  if (size == 0) return 0;
  const auto byte = [at](std::size_t i) {
    return std::uint64_t{static_cast<unsigned char>(at[i])};
  };
  return byte(0) | byte(size / 2) << (8 * (size / 2)) |
         byte(size - 1) << (8 * (size - 1));
}

// Returns what follows the whole words of `text`, as load_short() does.  That
// of a longer text without a branch on its size: callers have names of all
// sizes, which no processor predicts.
inline std::uint64_t load_rest(std::string_view text) {
  const std::size_t size = text.size() & 7;
  const char* const end = text.data() + text.size();
  if (text.size() < 8 || std::endian::native != std::endian::little) {
    return load_short(end - size, size);
  }
  return load<std::uint64_t>(end - 8) >> 1 >> (63 - 8 * size);
}

// Whether `size` bytes are the same: for names of a word or two, for which a
// call to memcmp costs more than the comparison.
inline bool same_bytes(const char* a, const char* b, std::size_t size) {
  if (size < 8) return load_short(a, size) == load_short(b, size);
  for (std::size_t i = 0; i + 8 < size; i += 8) {
    if (load<std::uint64_t>(a + i) != load<std::uint64_t>(b + i)) return false;
  }
  return load<std::uint64_t>(a + size - 8) == load<std::uint64_t>(b + size - 8);
}

}  // namespace limitree
