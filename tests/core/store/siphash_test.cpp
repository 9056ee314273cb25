#include "store/siphash.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

namespace limitree {
namespace {

// Absorbs the whole words of `text`, byte by byte, and returns the bytes that
// are left.
std::uint64_t absorb_words(std::string_view text, SipHash* hash) {
  std::uint64_t word = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    word |= std::uint64_t{static_cast<unsigned char>(text[i])} << (8 * (i % 8));
    if (i % 8 == 7) {
      hash->absorb(word);
      word = 0;
    }
  }
  return word;
}

// SipHash-1-3 as it is published, over bytes: the last word holds the bytes
// that are left and, highest, the length modulo 256.
std::uint64_t standard(const SipKey& key, std::string_view text) {
  SipHash hash(key);
  const std::uint64_t rest = absorb_words(text, &hash);
  hash.absorb(rest | std::uint64_t{text.size()} << 56);
  return hash.finish();
}

// CPython hashes bytes by SipHash-1-3, with a key of zeros under
// PYTHONHASHSEED=0:  python3 -c 'print(hash(b"...") % 2**64)'
TEST(SipHash, AgreesWithCPython) {
  const SipKey zero{0, 0};
  EXPECT_EQ(standard(zero, "a"), 0x407448d2b89b1813);
  EXPECT_EQ(standard(zero, "limitree"), 0x8540b41688fd75cb);
  EXPECT_EQ(standard(zero, "user:alex:trade"), 0x26976faf41c22a3b);
}

std::uint64_t of_path(const std::vector<std::string>& path,
                      std::uint64_t tag = 0) {
  SipHash hash(SipKey{1, 2});
  for (const std::string& segment : path) {
    hash.absorb(std::string_view(segment), tag);
  }
  return hash.finish();
}

// Programs of several versions find buckets by these words in one file.
TEST(SipHash, AbsorbsTheWordsOfFilesThatExist) {
  std::string text;
  for (char last = '!'; text.size() < 90; text += last++) {
    SipHash hash(SipKey{1, 2});
    const std::uint64_t rest = absorb_words(text, &hash);
    const bool fits = text.size() < 63;
    if (!fits) hash.absorb(rest);
    hash.absorb(fits ? rest | (text.size() << 2 | 1) << 56
                     : text.size() | std::uint64_t{63 << 2 | 1} << 56);
    EXPECT_EQ(of_path({text}, 1), hash.finish()) << text.size();
  }
}

TEST(SipHash, TellsPathsApart) {
  std::set<std::uint64_t> seen;
  std::size_t paths = 0;
  // All ways to cut a text into segments, with every remainder modulo 8.
  const std::string text = "abcdefghijklmnopqr";
  for (std::size_t cut = 0; cut < 1u << (text.size() - 1); cut += 97) {
    std::vector<std::string> path(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
      path.back() += text[i];
      if (cut >> i & 1) path.emplace_back();
    }
    seen.insert(of_path(path));
    ++paths;
  }
  // Runs of zero bytes, which a padded word would hide.
  for (std::size_t size = 0; size < 200; ++size) {
    seen.insert(of_path({std::string(size, '\0')}));
    seen.insert(of_path({std::string(size, '\0'), ""}));
    paths += 2;
  }
  EXPECT_EQ(seen.size(), paths);
}

TEST(SipHash, TellsTagsApart) {
  EXPECT_NE(of_path({"files*"}, 0), of_path({"files*"}, 1));
}

TEST(SipHash, ReadsEveryByte) {
  for (std::size_t size = 1; size < 100; ++size) {
    const std::string text(size, 'x');
    for (std::size_t i = 0; i < size; ++i) {
      std::string other = text;
      other[i] = 'y';
      EXPECT_NE(of_path({text}), of_path({other})) << size << " " << i;
    }
  }
}

TEST(SipHash, PrefixesHashAsTheyStand) {
  SipHash hash(SipKey{1, 2});
  hash.absorb(std::string_view("user"), 0);
  const std::uint64_t user = hash.finish();
  hash.absorb(std::string_view("alex"), 0);
  EXPECT_EQ(user, of_path({"user"}));
  EXPECT_EQ(hash.finish(), of_path({"user", "alex"}));
}

TEST(SipKey, OfTheProcessIsOneAndRandom) {
  const SipKey& key = SipKey::of_process();
  EXPECT_EQ(&key, &SipKey::of_process());
  EXPECT_NE(key.k0, key.k1);
  EXPECT_NE(key.k0, 0u);
}

}  // namespace
}  // namespace limitree
