#include "h2/session_memory.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace limitree::server {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // else ASan would miss a use after free
#elif defined(__has_feature)
constexpr bool kKeeps = !__has_feature(address_sanitizer);
#else
constexpr bool kKeeps = true;
#endif

}  // namespace

SessionMemory::~SessionMemory() {
  for (Kept& kept : kept_) {
    while (kept.first != nullptr) {
      std::free(std::exchange(kept.first, kept.first->next));
    }
  }
}

void* SessionMemory::take(std::size_t size) noexcept {
  if (size > SIZE_MAX - sizeof(Block) - kUnit) return nullptr;
  const std::size_t units = (sizeof(Block) + size + kUnit - 1) / kUnit;
  Block* block = nullptr;
  if (units <= kKinds && kept_[units].first != nullptr) {
    Kept& kept = kept_[units];
    block = std::exchange(kept.first, kept.first->next);
    --kept.count;
  } else {
    block = static_cast<Block*>(std::malloc(units * kUnit));
    if (block == nullptr) return nullptr;
    block->units = units;
  }
  return block + 1;
}

void* SessionMemory::take_zeros(std::size_t count, std::size_t size) noexcept {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* const memory = take(count * size);
  if (memory != nullptr) std::memset(memory, 0, count * size);
  return memory;
}

void* SessionMemory::change(void* memory, std::size_t size) noexcept {
  if (memory == nullptr) return take(size);
  const std::size_t room =
      (static_cast<Block*>(memory) - 1)->units * kUnit - sizeof(Block);
  if (size <= room) return memory;
  void* const more = take(size);
  if (more == nullptr) return nullptr;
  std::memcpy(more, memory, room);
  give(memory);
  return more;
}

void SessionMemory::give(void* memory) noexcept {
  if (memory == nullptr) return;
  Block* const block = static_cast<Block*>(memory) - 1;
  if (!kKeeps || block->units > kKinds || kept_[block->units].count == kMost) {
    std::free(block);
    return;
  }
  Kept& kept = kept_[block->units];
  block->next = std::exchange(kept.first, block);
  ++kept.count;
}

}  // namespace limitree::server
