// A map of ids to numbers, for a million and more ids: filled once, then only
// read.
//
// An id of up to 24 bytes is in its slot, which is half a cache line.  A lookup
// reads one line, or two adjacent ones.

#ifndef LIMITREE_TREE_ID_TABLE_HPP
#define LIMITREE_TREE_ID_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tree/huge_pages.hpp"

namespace limitree {

class IdTable {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Makes room for `ids` ids.
  void reserve(std::size_t ids);

  // Adds `id`; false if it is there already.  REQUIRES: value != kNone.
  bool insert(std::string_view id, std::uint32_t value);

  // Frees unused room.  Do not call insert() afterwards.
  void finish();

  // The value of `id`; kNone if `id` is not in the table.
  std::uint32_t find(std::string_view id) const;

  std::size_t size() const { return size_; }
  std::size_t bytes() const;

 private:
  static constexpr std::size_t kInline = 24;

  // Longer ids are in text_.  The slot then holds their position and hash.
  struct Elsewhere {
    std::uint64_t first;
    std::uint32_t hash;
  };
  struct alignas(32) Slot {
    std::uint32_t value = kNone;  // kNone: free
    std::uint32_t size = 0;
    union {
      char bytes[kInline];
      Elsewhere elsewhere;
    };

    Slot() : bytes{} {}
  };
  static_assert(sizeof(Slot) == 32);

  std::size_t home(std::uint32_t hash) const {
    return static_cast<std::size_t>(std::uint64_t{hash} * slots_.size() >> 32);
  }
  bool holds(const Slot& slot, std::string_view id, std::uint32_t hash) const;
  void resize(std::size_t slots);

  using Slots = std::vector<Slot, HugePages<Slot>>;

  Slots slots_;
  std::string text_;
  std::size_t size_ = 0;
};

}  // namespace limitree

#endif  // LIMITREE_TREE_ID_TABLE_HPP
