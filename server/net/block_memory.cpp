#include "net/block_memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace limitree::server {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kKeeps = false;  // otherwise ASan would miss a use after free
#elif defined(__has_feature)
constexpr bool kKeeps = !__has_feature(address_sanitizer);
#else
constexpr bool kKeeps = true;
#endif

}  // namespace

BlockMemory& BlockMemory::of_thread() {
  static thread_local BlockMemory memory;
  return memory;
}

BlockMemory::~BlockMemory() {
  for (Block* block : kept_) {
    while (block != nullptr) std::free(std::exchange(block, block->next));
  }
}

void* BlockMemory::take(std::size_t size) noexcept {
  if (size > SIZE_MAX - sizeof(Block) - kUnit) return nullptr;
  const std::size_t units = (sizeof(Block) + size + kUnit - 1) / kUnit;
  Block* block = nullptr;
  if (units <= kMostUnits && kept_[units] != nullptr) {
    block = std::exchange(kept_[units], kept_[units]->next);
    kept_units_ -= units;
    // The next block may have left the cache since it was given back.
    __builtin_prefetch(kept_[units]);
  } else {
    block = static_cast<Block*>(std::malloc(units * kUnit));
    if (block == nullptr) return nullptr;
    block->units = units;
  }
  return block + 1;
}

void* BlockMemory::take_zeros(std::size_t count, std::size_t size) noexcept {
  if (size != 0 && count > SIZE_MAX / size) return nullptr;
  void* const memory = take(count * size);
  if (memory != nullptr) std::memset(memory, 0, count * size);
  return memory;
}

void* BlockMemory::change(void* memory, std::size_t size) noexcept {
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

void BlockMemory::give(void* memory) noexcept {
  if (memory == nullptr) return;
  Block* const block = static_cast<Block*>(memory) - 1;
  const std::size_t units = block->units;
  if (!kKeeps || units > kMostUnits || kept_units_ + units > kMostKept) {
    std::free(block);
    return;
  }
  block->next = std::exchange(kept_[units], block);
  kept_units_ += units;
}

}  // namespace limitree::server
