// The holds of a bucket, in the room of a LogBlock, and a change of them.
//
//   LogBlock::Head   sum: units held; first, size: places in use
//   HoldHead
//   holds            in the order of their ends; those without units are gone
//   summaries        one for kPageHolds of them
//
// A hold that ends after all others is appended, and one that is settled loses
// its units, in place.  Everything else makes a new block.

#pragma once

#include <cstdint>
#include <span>

#include "base/held_bucket.hpp"
#include "base/hold.hpp"
#include "base/limit.hpp"
#include "store/buckets/log_block.hpp"

namespace limitree {

struct HoldHead {
  std::uint32_t used = 0;   // units charged in the window, of fixed_window
  std::uint32_t count = 0;  // holds with units
  // The rate of the summaries; an interval of 0: they are unknown.
  Duration emission_interval{};
  std::int64_t capacity = 0;
};

// A change of a block in place, to be written at once.
struct HoldEdit {
  LogBlock::Head head;
  std::uint32_t used = 0;
  std::uint32_t count = 0;
  std::uint32_t place = HoldView::kNone;  // of the hold that changes
  bool keeps_summaries = true;            // of what does not change
  Hold hold;
};

// A view of a LogBlock, or of none.
class HoldBlock {
 public:
  HoldBlock() = default;
  // None if it is damaged.
  explicit HoldBlock(LogBlock* block);

  explicit operator bool() const { return block_ != nullptr; }

  // The room of a LogBlock for that many holds.
  static std::uint32_t room_for(std::uint32_t holds);

  // How many fit.
  std::uint32_t room() const { return places_of(block_->head().room); }
  HoldView view(const Rate& rate) const;
  std::uint32_t used() const { return head().used; }

  // The change from what is stored to `bucket`, which has `used` units charged
  // in its window.  REQUIRES: can_edit().
  HoldEdit edit(const HeldBucket& bucket, std::uint32_t used) const;
  // Whether it can be made in place.
  bool can_edit(const HeldBucket& bucket) const;
  void apply(const HoldEdit& edit, const Rate& rate);
  // The same for a block that was being changed when its process was killed.
  void redo(const HoldEdit& edit);

  // Makes an empty block one of these holds, which have units and are in the
  // order of their ends.  REQUIRES: there is room.
  void load(std::span<const Hold> holds, std::uint32_t used);
  // Makes an empty block that of `bucket`.  REQUIRES: there is room.
  void fill(const HeldBucket& bucket, std::uint32_t used, const Rate& rate);

 private:
  static std::uint32_t places_of(std::uint32_t room);
  HoldHead& head() const {
    return *reinterpret_cast<HoldHead*>(&block_->entry(0));
  }
  Hold* holds() const { return reinterpret_cast<Hold*>(&head() + 1); }
  HoldSummary* pages() const {
    return reinterpret_cast<HoldSummary*>(holds() + room());
  }
  bool has_summaries_of(const Rate& rate) const {
    return head().emission_interval == rate.emission_interval &&
           head().capacity == rate.capacity;
  }
  void sum_up(std::uint32_t page, std::uint32_t end, const Rate& rate);

  LogBlock* block_ = nullptr;
};

}  // namespace limitree
