#include "base/recycled.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>
#include <thread>

#include "core/sanitizers.hpp"

namespace limitree {
namespace {

constexpr std::size_t kMost = 2;

// A size that nothing else has.
struct Thing : Recycled<Thing, kMost> {
  std::array<char, 2222> content{};
};

// Larger than recycled blocks.
struct More : Thing {
  std::array<char, 1111> further{};
};

// The number of blocks of a Thing that the program has now.
std::atomic<int> blocks{0};

// The size is stored before each block.
constexpr std::size_t kHead = alignof(std::max_align_t);

void* allocate(std::size_t size) {
  void* const place = std::malloc(kHead + size);
  if (place == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(place) = size;
  blocks += size == sizeof(Thing) ? 1 : 0;
  return static_cast<std::byte*>(place) + kHead;
}

void release(void* block) {
  if (block == nullptr) return;
  void* const place = static_cast<std::byte*>(block) - kHead;
  blocks -= *static_cast<std::size_t*>(place) == sizeof(Thing) ? 1 : 0;
  std::free(place);
}

}  // namespace
}  // namespace limitree

// Inlined, new and delete look mismatched to gcc.
__attribute__((noinline)) void* operator new(std::size_t size) {
  return limitree::allocate(size);
}
// std::stable_sort() takes memory with this one, and AddressSanitizer has its
// own.
__attribute__((noinline)) void* operator new(std::size_t size,
                                             const std::nothrow_t&) noexcept {
  return limitree::allocate(size);
}
__attribute__((noinline)) void operator delete(void* block) noexcept {
  limitree::release(block);
}
__attribute__((noinline)) void operator delete(void* block,
                                               std::size_t) noexcept {
  limitree::release(block);
}

namespace limitree {
namespace {

// The blocks that threads keep; a sanitizer would not see a use after free.
constexpr int kKept = kAddressSanitized ? 0 : kMost;

// Runs in a separate thread, which has no blocks at first.
template <typename Body>
void in_thread(Body body) {
  std::thread(body).join();
}

TEST(Recycled, GivesOutWhatWasFreedLast) {
  if (kAddressSanitized) GTEST_SKIP() << "where nothing is recycled";
  in_thread([] {
    auto one = std::make_unique<Thing>();
    auto two = std::make_unique<Thing>();
    const Thing* const first = one.get();
    const Thing* const second = two.get();
    one.reset();
    two.reset();
    one = std::make_unique<Thing>();
    two = std::make_unique<Thing>();
    EXPECT_EQ(one.get(), second);
    EXPECT_EQ(two.get(), first);
    EXPECT_EQ(blocks, 2);
  });
}

TEST(Recycled, KeepsAFewOfEachThreadUntilItEnds) {
  in_thread([] {
    std::array<std::unique_ptr<Thing>, 3 * kMost> many;
    for (int round = 0; round < 3; ++round) {
      for (auto& one : many) one = std::make_unique<Thing>();
      EXPECT_EQ(blocks, static_cast<int>(many.size()));
      for (auto& one : many) one.reset();
      EXPECT_EQ(blocks, kKept);
    }
  });
  EXPECT_EQ(blocks, 0);
}

TEST(Recycled, LeavesWhatIsOfAnotherSize) {
  in_thread([] {
    std::make_unique<Thing>().reset();
    const int before = blocks;
    auto more = std::make_unique<More>();
    more->further.fill('x');
    more.reset();
    EXPECT_EQ(blocks, before);
  });
}

TEST(Recycled, BelongsToTheThreadThatFrees) {
  auto mine = std::make_unique<Thing>();
  in_thread([&mine] {
    mine.reset();
    EXPECT_EQ(blocks, kKept == 0 ? 0 : 1);
  });
  EXPECT_EQ(blocks, 0);
}

// Ends after the spare blocks were freed, as static objects do.
TEST(Recycled, KeepsNothingAtTheEndOfAThread) {
  struct Late {
    std::unique_ptr<Thing> kept;
  };
  in_thread([] {
    static thread_local Late late;  // made first, ends last
    late.kept = std::make_unique<Thing>();
    std::make_unique<Thing>().reset();
  });
  EXPECT_EQ(blocks, 0);
}

}  // namespace
}  // namespace limitree
