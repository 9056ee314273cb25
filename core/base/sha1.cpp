#include "base/sha1.hpp"

#include <array>
#include <bit>
#include <cstdint>

namespace limitree {

namespace {

constexpr std::size_t kBlock = 64;  // bytes
constexpr std::size_t kRounds = 80;

using State = std::array<std::uint32_t, 5>;

std::uint32_t big_endian(const char* bytes) {
  std::uint32_t word = 0;
  for (int i = 0; i < 4; ++i) {
    word = word << 8 | static_cast<unsigned char>(bytes[i]);
  }
  return word;
}

// What the rounds of one quarter add.
std::uint32_t mix(std::size_t round, const State& state) {
  const auto [a, b, c, d, e] = state;
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

void compress(const char* block, State* state) {
  std::array<std::uint32_t, kRounds> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < kRounds; ++i) {
    words[i] = std::rotl(
        words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  State now = *state;
  for (std::size_t i = 0; i < kRounds; ++i) {
    const std::uint32_t first =
        std::rotl(now[0], 5) + mix(i, now) + now[4] + words[i];
    now = {first, now[0], std::rotl(now[1], 30), now[2], now[3]};
  }
  for (std::size_t i = 0; i < now.size(); ++i) (*state)[i] += now[i];
}

}  // namespace

std::string sha1_hex(std::string_view text) {
  std::string padded(text);
  padded.push_back('\x80');
  while (padded.size() % kBlock != kBlock - 8) padded.push_back('\0');
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (int shift = 56; shift >= 0; shift -= 8) {
    padded.push_back(static_cast<char>(bits >> shift & 0xff));
  }
  State state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
  for (std::size_t at = 0; at < padded.size(); at += kBlock) {
    compress(padded.data() + at, &state);
  }
  constexpr char kHex[] = "0123456789abcdef";
  std::string digits;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      digits.push_back(kHex[word >> shift & 15]);
    }
  }
  return digits;
}

}  // namespace limitree
