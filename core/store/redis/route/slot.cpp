#include "store/redis/route/slot.hpp"

#include <array>

namespace limitree::redis {

namespace {

constexpr std::uint16_t kPolynomial = 0x1021;

constexpr std::array<std::uint16_t, 256> make_table() {
  std::array<std::uint16_t, 256> table{};
  for (std::uint32_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t crc = byte << 8;
    for (int bit = 0; bit < 8; ++bit) {
      crc = (crc & 0x8000) != 0 ? crc << 1 ^ kPolynomial : crc << 1;
    }
    table[byte] = static_cast<std::uint16_t>(crc);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> kTable = make_table();

std::uint32_t crc16(std::string_view text) {
  std::uint32_t crc = 0;
  for (const char c : text) {
    const std::uint32_t index = crc >> 8 ^ static_cast<unsigned char>(c);
    crc = (crc << 8 & 0xffff) ^ kTable[index];
  }
  return crc;
}

std::string_view hashed_part(std::string_view key) {
  const std::size_t open = key.find('{');
  if (open == key.npos) return key;
  const std::size_t close = key.find('}', open + 1);
  if (close == key.npos || close == open + 1) return key;
  return key.substr(open + 1, close - open - 1);
}

}  // namespace

std::int32_t slot_of(std::string_view key) {
  return static_cast<std::int32_t>(crc16(hashed_part(key)) % kSlots);
}

}  // namespace limitree::redis
