#include "store/buckets/hold_block.hpp"

#include <algorithm>
#include <new>

namespace limitree {

namespace {

static_assert(sizeof(LogBlock) % alignof(Hold) == 0);
static_assert(sizeof(HoldHead) % alignof(Hold) == 0);

constexpr std::uint32_t pages_for(std::uint32_t holds) {
  return (holds + kPageHolds - 1) / kPageHolds;
}

constexpr std::uint64_t bytes_for(std::uint32_t holds) {
  return sizeof(HoldHead) + std::uint64_t{holds} * sizeof(Hold) +
         std::uint64_t{pages_for(holds)} * sizeof(HoldSummary);
}

}  // namespace

std::uint32_t HoldBlock::room_for(std::uint32_t holds) {
  return static_cast<std::uint32_t>((bytes_for(holds) + sizeof(LogEntry) - 1) /
                                    sizeof(LogEntry));
}

// The inverse of room_for().
std::uint32_t HoldBlock::places_of(std::uint32_t room) {
  const std::uint64_t bytes = std::uint64_t{room} * sizeof(LogEntry);
  constexpr std::uint64_t kPage =
      kPageHolds * sizeof(Hold) + sizeof(HoldSummary);
  if (bytes < sizeof(HoldHead)) return 0;
  const std::uint64_t left = bytes - sizeof(HoldHead);
  const std::uint64_t whole = left / kPage * kPageHolds;
  const std::uint64_t rest = left % kPage;
  const std::uint64_t more = rest < sizeof(HoldSummary)
                                 ? 0
                                 : (rest - sizeof(HoldSummary)) / sizeof(Hold);
  return static_cast<std::uint32_t>(whole + more);
}

HoldBlock::HoldBlock(LogBlock* block) : block_(block) {
  if (block == nullptr) return;
  const LogBlock::Head& log = block->head();
  const std::uint64_t end = std::uint64_t{log.first} + log.size;
  const bool is_sound =
      std::uint64_t{log.room} * sizeof(LogEntry) >= sizeof(HoldHead) &&
      end <= places_of(log.room);
  if (!is_sound) block_ = nullptr;
}

HoldView HoldBlock::view(const Rate& rate) const {
  const LogBlock::Head& log = block_->head();
  // In a damaged file the head may count more than there are.
  return {holds(),
          has_summaries_of(rate) ? pages() : nullptr,
          log.first,
          log.first + log.size,
          std::min(head().count, log.size),
          log.sum};
}

bool HoldBlock::can_edit(const HeldBucket& bucket) const {
  const bool adds = bucket.added().units > 0;
  if (!adds) return true;
  const HoldView& view = bucket.view();
  return bucket.gone() == HoldView::kNone && view.pages != nullptr &&
         view.end < room() &&
         (view.first == view.end ||
          !ends_before(bucket.added(), view.holds[view.end - 1]));
}

HoldEdit HoldBlock::edit(const HeldBucket& bucket, std::uint32_t used) const {
  const HoldView& view = bucket.view();
  HoldEdit edit;
  edit.used = used;
  edit.count = view.count;
  edit.keeps_summaries = view.pages != nullptr;
  std::uint32_t first = view.first;
  std::uint32_t end = view.end;
  if (bucket.added().units > 0) {
    edit.place = end++;
    edit.hold = bucket.added();
    ++edit.count;
  } else if (bucket.gone() != HoldView::kNone) {
    edit.place = bucket.gone();
    edit.hold = view.holds[edit.place];
    edit.hold.units = 0;
    --edit.count;
  }
  const auto is_gone = [&](std::uint32_t i) {
    return (i == edit.place ? edit.hold : view.holds[i]).units == 0;
  };
  while (first < end && is_gone(first)) ++first;
  while (first < end && is_gone(end - 1)) --end;
  if (first == end) first = end = 0;
  edit.head = block_->head();
  edit.head.sum = bucket.held();
  edit.head.first = first;
  edit.head.size = end - first;
  return edit;
}

void HoldBlock::sum_up(std::uint32_t page, std::uint32_t end,
                       const Rate& rate) {
  HoldSummary& summary = pages()[page];
  summary = {};
  const std::uint32_t begin = page * kPageHolds;
  for (std::uint32_t i = begin; i < std::min(begin + kPageHolds, end); ++i) {
    if (holds()[i].units > 0) summary.add(holds()[i], rate);
  }
}

void HoldBlock::redo(const HoldEdit& edit) {
  if (edit.place < room()) holds()[edit.place] = edit.hold;
  head().used = edit.used;
  head().count = edit.count;
  head().emission_interval = {};
  block_->set_head(edit.head);
}

void HoldBlock::apply(const HoldEdit& edit, const Rate& rate) {
  const std::uint32_t end = edit.head.first + edit.head.size;
  if (edit.place != HoldView::kNone) {
    const bool is_page = edit.place % kPageHolds == 0;
    holds()[edit.place] = edit.hold;
    if (!edit.keeps_summaries) {
      // Nothing to keep up.
    } else if (edit.hold.units == 0 || edit.place + 1 != end) {
      sum_up(edit.place / kPageHolds, std::max(end, edit.place + 1), rate);
    } else {
      HoldSummary& summary = pages()[edit.place / kPageHolds];
      if (is_page) summary = {};
      summary.add(edit.hold, rate);
    }
  }
  if (!edit.keeps_summaries) head().emission_interval = {};
  head().used = edit.used;
  head().count = edit.count;
  block_->set_head(edit.head);
}

void HoldBlock::load(std::span<const Hold> all, std::uint32_t used) {
  const auto count = static_cast<std::uint32_t>(all.size());
  new (&head()) HoldHead{used, count, {}, 0};
  LogBlock::Head log = block_->head();
  log.first = 0;
  log.size = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    new (holds() + i) Hold(all[i]);
    log.sum += all[i].units;
  }
  block_->set_head(log);
}

void HoldBlock::fill(const HeldBucket& bucket, std::uint32_t used,
                     const Rate& rate) {
  const HoldView& view = bucket.view();
  new (&head()) HoldHead{used, 0, rate.emission_interval, rate.capacity};
  LogBlock::Head log = block_->head();
  log.sum = bucket.held();
  std::uint32_t size = 0;
  // In a damaged file both blocks may overlap, and holds change on the way.
  const auto put = [this, &size, most = room()](const Hold& hold) {
    if (size < most) new (holds() + size++) Hold(hold);
  };
  bool adds = bucket.added().units > 0;
  for (std::uint32_t i = view.first; i < view.end; ++i) {
    if (adds && ends_before(bucket.added(), view.holds[i])) {
      put(bucket.added());
      adds = false;
    }
    if (view.holds[i].units > 0 && i != bucket.gone()) put(view.holds[i]);
  }
  if (adds) put(bucket.added());
  for (std::uint32_t page = 0; page < pages_for(size); ++page) {
    sum_up(page, size, rate);
  }
  head().count = size;
  log.first = 0;
  log.size = size;
  block_->set_head(log);
}

}  // namespace limitree
