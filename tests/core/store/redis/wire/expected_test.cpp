#include "store/redis/wire/expected.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace limitree::redis {
namespace {

// The place of a reply serves as its mark.
Expected mark(std::uint64_t number) {
  return {nullptr, false, number, 0, nullptr};
}

std::vector<std::uint64_t> marks_of(ExpectedQueue* queue) {
  std::vector<std::uint64_t> marks;
  for (const Expected& one : *queue) marks.push_back(one.begin);
  return marks;
}

// Against what it stands for, at any length.
TEST(ExpectedQueue, IsAQueue) {
  std::mt19937 random(1);  // NOLINT: the same each time
  ExpectedQueue queue;
  std::deque<std::uint64_t> model;
  for (std::uint64_t i = 0; i < 20'000; ++i) {
    // Grows for a while, and then shrinks.
    const bool grows = random() % 10 < (i / 3000 % 2 == 0 ? 6 : 4);
    if (grows || model.empty()) {
      queue.push(mark(i));
      model.push_back(i);
    } else {
      ASSERT_EQ(queue.front().begin, model.front());
      queue.pop();
      model.pop_front();
    }
    ASSERT_EQ(queue.empty(), model.empty());
    ASSERT_EQ(queue.end() - queue.begin(),
              static_cast<std::ptrdiff_t>(model.size()));
  }
  EXPECT_EQ(marks_of(&queue),
            std::vector<std::uint64_t>(model.begin(), model.end()));
}

TEST(ExpectedQueue, LosesSomeFromTheMiddle) {
  ExpectedQueue queue;
  for (std::uint64_t i = 0; i < 6; ++i) queue.push(mark(i));
  queue.pop();
  queue.erase(queue.begin() + 1, queue.begin() + 3);
  EXPECT_EQ(marks_of(&queue), (std::vector<std::uint64_t>{1, 4, 5}));
  queue.erase(queue.begin(), queue.end());
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace limitree::redis
