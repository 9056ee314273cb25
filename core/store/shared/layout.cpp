#include "store/shared/layout.hpp"

#include <algorithm>

#include "store/buckets/bucket_shards.hpp"

namespace limitree::shared {

namespace {

constexpr std::uint64_t whole_pages(std::uint64_t bytes) {
  return (bytes + kPage - 1) / kPage * kPage;
}

}  // namespace

Sizes sizes_for(std::int64_t max_buckets, std::int64_t max_bytes) {
  Sizes sizes{};
  sizes.max_buckets = static_cast<std::uint64_t>(max_buckets);
  sizes.max_bytes = static_cast<std::uint64_t>(max_bytes);
  sizes.shard_count = shard_count_for(max_buckets);
  sizes.bucket_lines =
      SlotLines<Bucket>::lines_for(max_buckets, sizes.shard_count);
  sizes.cell_lines = SlotLines<Cell>::lines_for(max_buckets, sizes.shard_count);
  const std::int64_t units = log_bytes_of(max_buckets, max_bytes) /
                             static_cast<std::int64_t>(kLogUnit) /
                             sizes.shard_count;
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  sizes.log_units =
      static_cast<std::uint32_t>(std::clamp(units, std::int64_t{0}, kMost));
  return sizes;
}

// FNV-1a: it detects accidental changes, which is enough.
std::uint64_t check_sum_of(const Header& header) {
  const auto* at = reinterpret_cast<const unsigned char*>(&header);
  std::uint64_t sum = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < offsetof(Header, check_sum); ++i) {
    sum = (sum ^ at[i]) * 0x100000001b3;
  }
  return sum;
}

Layout::Layout(const Sizes& sizes)
    : slots(kPage),
      shards(slots + whole_pages(kProcessSlots * sizeof(ProcessSlot))),
      tables(shards + whole_pages(sizes.shard_count * std::uint64_t{256})),
      bucket_bytes(whole_pages(std::uint64_t{sizes.bucket_lines} * 64)),
      cell_bytes(whole_pages(std::uint64_t{sizes.cell_lines} * 64)),
      map_bytes(whole_pages((std::uint64_t{sizes.log_units} + 63) / 64 * 8)),
      slab_bytes(whole_pages(std::uint64_t{sizes.log_units} * kLogUnit)),
      shard_bytes(2 * bucket_bytes + 2 * cell_bytes + map_bytes + slab_bytes),
      file_bytes(tables + sizes.shard_count * shard_bytes) {}

}  // namespace limitree::shared
