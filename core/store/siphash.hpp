// SipHash-1-3 over path segments: the name of a bucket in memory.  And over
// other texts, in tables that requests add to.
//
// Callers choose segments, so the hash must withstand chosen input: it is
// keyed with 128 random bits per process.  Source: Aumasson and Bernstein,
// "SipHash: a fast short-input PRF"; 1-3 is the variant that CPython, Ruby and
// Rust use for their tables.

#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "base/bytes.hpp"

namespace limitree {

struct SipKey {
  std::uint64_t k0;
  std::uint64_t k1;

  // The key of this process, drawn from the system's random source on first
  // use.  Children of fork() keep it.
  static const SipKey& of_process();
};

// The state after any number of words. finish() does not change it, so one pass
// hashes every prefix of a path.
//
// Always inlined: the four words must stay in registers.  Written to memory one
// by one and read back as a whole, they cost as much as the hash.
class SipHash {
 public:
  explicit SipHash(const SipKey& key)
      : state_{key.k0 ^ 0x736f6d6570736575, key.k1 ^ 0x646f72616e646f6d,
               key.k0 ^ 0x6c7967656e657261, key.k1 ^ 0x7465646279746573} {}

  [[gnu::always_inline]] void absorb(std::uint64_t word) {
    state_.v3 ^= word;
    state_.round();
    state_.v0 ^= word;
  }

  // Absorbs `text` so that no other sequence of (text, tag) gives the same
  // words.  The top byte of the last word holds tag and length, or says that
  // the length fills the rest of the word; so it also says where the words
  // before it begin.
  //
  // REQUIRES: text.size() < 2^56, tag < 4.
  [[gnu::always_inline]] void absorb(std::string_view text, std::uint64_t tag) {
    const char* at = text.data();
    const char* const end = at + (text.size() & ~std::size_t{7});
    for (; at != end; at += 8) absorb(load<std::uint64_t>(at));
    const std::uint64_t rest = load_rest(text);
    if (text.size() < kLong) [[likely]] {
      absorb(rest | (text.size() << 2 | tag) << 56);
    } else {
      absorb(rest);
      absorb(text.size() | (kLong << 2 | tag) << 56);
    }
  }

  // The hash of what was absorbed so far; more may follow.
  [[gnu::always_inline]] std::uint64_t finish() const {
    State end = state_;
    end.v2 ^= 0xff;
    end.round();
    end.round();
    end.round();
    return end.v0 ^ end.v1 ^ end.v2 ^ end.v3;
  }

 private:
  static constexpr std::uint64_t kLong = 63;  // sizes from here take a word

  struct State {
    std::uint64_t v0;
    std::uint64_t v1;
    std::uint64_t v2;
    std::uint64_t v3;

    [[gnu::always_inline]] void round() {
      v0 += v1;
      v2 += v3;
      v1 = std::rotl(v1, 13) ^ v0;
      v3 = std::rotl(v3, 16) ^ v2;
      v0 = std::rotl(v0, 32) + v3;
      v2 += v1;
      v3 = std::rotl(v3, 21) ^ v0;
      v1 = std::rotl(v1, 17) ^ v2;
      v2 = std::rotl(v2, 32);
    }
  };

  State state_;
};

// The hash of one text under the key of this process.  For every table whose
// content callers choose: with a hash that they know, they could fill it with
// texts of one hash.
std::uint64_t keyed_hash(std::string_view text);

}  // namespace limitree
