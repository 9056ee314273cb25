#include "base/sha.hpp"

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

namespace limitree {

namespace {

constexpr std::size_t kBlock = 64;  // bytes
constexpr std::size_t kRounds1 = 80;
constexpr std::size_t kRounds256 = 64;

using State1 = std::array<std::uint32_t, 5>;
using State256 = std::array<std::uint32_t, 8>;

std::uint32_t big_endian(const unsigned char* bytes) {
  return std::uint32_t{bytes[0]} << 24 | std::uint32_t{bytes[1]} << 16 |
         std::uint32_t{bytes[2]} << 8 | std::uint32_t{bytes[3]};
}

// What the rounds of one quarter add.
std::uint32_t mix(std::size_t round, const State1& state) {
  const auto [a, b, c, d, e] = state;
  if (round < 20) return ((b & c) | (~b & d)) + 0x5a827999;
  if (round < 40) return (b ^ c ^ d) + 0x6ed9eba1;
  if (round < 60) return ((b & c) | (b & d) | (c & d)) + 0x8f1bbcdc;
  return (b ^ c ^ d) + 0xca62c1d6;
}

void compress(const unsigned char* block, State1* state) {
  std::array<std::uint32_t, kRounds1> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < kRounds1; ++i) {
    words[i] = std::rotl(
        words[i - 3] ^ words[i - 8] ^ words[i - 14] ^ words[i - 16], 1);
  }
  State1 now = *state;
  for (std::size_t i = 0; i < kRounds1; ++i) {
    const std::uint32_t first =
        std::rotl(now[0], 5) + mix(i, now) + now[4] + words[i];
    now = {first, now[0], std::rotl(now[1], 30), now[2], now[3]};
  }
  for (std::size_t i = 0; i < now.size(); ++i) (*state)[i] += now[i];
}

// The fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, kRounds256> kConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

// The message schedule: the block's 16 words and 48 made from them.
std::array<std::uint32_t, kRounds256> schedule(const unsigned char* block) {
  std::array<std::uint32_t, kRounds256> words;
  for (std::size_t i = 0; i < 16; ++i) words[i] = big_endian(block + 4 * i);
  for (std::size_t i = 16; i < kRounds256; ++i) {
    const std::uint32_t a = words[i - 15];
    const std::uint32_t b = words[i - 2];
    const std::uint32_t s0 = std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3);
    const std::uint32_t s1 = std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10);
    words[i] = words[i - 16] + s0 + words[i - 7] + s1;
  }
  return words;
}

void compress(const unsigned char* block, State256* state) {
  const std::array<std::uint32_t, kRounds256> words = schedule(block);
  auto [a, b, c, d, e, f, g, h] = *state;
  for (std::size_t i = 0; i < kRounds256; ++i) {
    const std::uint32_t s1 =
        std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
    const std::uint32_t choice = (e & f) ^ (~e & g);
    const std::uint32_t t1 = h + s1 + choice + kConstants[i] + words[i];
    const std::uint32_t s0 =
        std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
    const std::uint32_t majority = (a & b) ^ (a & c) ^ (b & c);
    h = g;
    g = f;
    f = e;
    e = d + t1;
    d = c;
    c = b;
    b = a;
    a = t1 + s0 + majority;
  }
  const State256 next = {a, b, c, d, e, f, g, h};
  for (std::size_t i = 0; i < next.size(); ++i) (*state)[i] += next[i];
}

template <typename State>
void digest(std::string_view text, State* state) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  std::size_t left = text.size();
  for (; left >= kBlock; left -= kBlock, bytes += kBlock) {
    compress(bytes, state);
  }

  // The remaining bytes, a one bit, zeros, and the size in bits: 1 or 2 blocks.
  std::array<unsigned char, 2 * kBlock> last{};
  if (left > 0) std::memcpy(last.data(), bytes, left);
  last[left] = 0x80;
  const std::size_t size = left < kBlock - 8 ? kBlock : 2 * kBlock;
  const std::uint64_t bits = std::uint64_t{text.size()} * 8;
  for (std::size_t i = 0; i < 8; ++i) {
    last[size - 1 - i] = static_cast<unsigned char>(bits >> (8 * i));
  }
  for (std::size_t at = 0; at < size; at += kBlock) {
    compress(last.data() + at, state);
  }
}

template <typename State>
std::string digest_hex(State state, std::string_view text) {
  digest(text, &state);
  constexpr char kHex[] = "0123456789abcdef";
  std::string digits;
  for (const std::uint32_t word : state) {
    for (int shift = 28; shift >= 0; shift -= 4) {
      digits.push_back(kHex[word >> shift & 15]);
    }
  }
  return digits;
}

}  // namespace

std::string sha1_hex(std::string_view text) {
  return digest_hex<State1>(
      {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0}, text);
}

std::string sha256_hex(std::string_view text) {
  return digest_hex<State256>({0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                               0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19},
                              text);
}

}  // namespace limitree
