// SipHash-1-3, fed with path segments: what names a bucket in memory.
//
// Callers choose segments, so the hash must withstand chosen input: it is
// keyed with 128 random bits per process.  Source: Aumasson and Bernstein,
// "SipHash: a fast short-input PRF"; 1-3 is the variant that CPython, Ruby and
// Rust use for their tables.

#ifndef LIMITREE_STORE_SIPHASH_HPP
#define LIMITREE_STORE_SIPHASH_HPP

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace limitree {

struct SipKey {
  std::uint64_t k0;
  std::uint64_t k1;

  // The key of this process, drawn from the system's random source on first
  // use.  Children of fork() keep their parent's.
  static const SipKey& of_process();
};

// The state after any number of words.  Copy it to hash every prefix of a path
// in one pass.
class SipHash {
 public:
  explicit SipHash(const SipKey& key)
      : v0_(key.k0 ^ 0x736f6d6570736575),
        v1_(key.k1 ^ 0x646f72616e646f6d),
        v2_(key.k0 ^ 0x6c7967656e657261),
        v3_(key.k1 ^ 0x7465646279746573) {}

  void absorb(std::uint64_t word) {
    v3_ ^= word;
    round();
    v0_ ^= word;
  }

  // Absorbs `text` so that no other sequence of (text, tag) gives the same
  // words: the last word of each holds its length, from which the words before
  // it can be told apart, read from the end.
  //
  // REQUIRES: text.size() < 2^28, tag < 16.
  void absorb(std::string_view text, std::uint64_t tag) {
    const char* at = text.data();
    const char* const end = at + (text.size() & ~std::size_t{7});
    for (; at != end; at += 8) absorb(load<std::uint64_t>(at));
    std::uint64_t rest = load_rest(at, text.size() & 7);
    if ((text.size() & 7) > 4) {
      absorb(rest);
      rest = 0;
    }
    absorb(rest | (std::uint64_t{text.size()} << 4 | tag) << 32);
  }

  std::uint64_t finish() const {
    SipHash end = *this;
    end.v2_ ^= 0xff;
    end.round();
    end.round();
    end.round();
    return end.v0_ ^ end.v1_ ^ end.v2_ ^ end.v3_;
  }

 private:
  template <typename Word>
  static Word load(const char* at) {
    Word word;
    std::memcpy(&word, at, sizeof word);
    return word;
  }

  // The last `size` < 8 bytes, the first of them lowest, without reading past
  // the end and without a loop.
  static std::uint64_t load_rest(const char* at, std::size_t size) {
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

  void round() {
    v0_ += v1_;
    v2_ += v3_;
    v1_ = std::rotl(v1_, 13) ^ v0_;
    v3_ = std::rotl(v3_, 16) ^ v2_;
    v0_ = std::rotl(v0_, 32) + v3_;
    v2_ += v1_;
    v3_ = std::rotl(v3_, 21) ^ v0_;
    v1_ = std::rotl(v1_, 17) ^ v2_;
    v2_ = std::rotl(v2_, 32);
  }

  std::uint64_t v0_;
  std::uint64_t v1_;
  std::uint64_t v2_;
  std::uint64_t v3_;
};

}  // namespace limitree

#endif  // LIMITREE_STORE_SIPHASH_HPP
