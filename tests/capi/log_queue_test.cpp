#include "log_queue.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace limitree {
namespace {

void add(LogQueue* queue, int event, const std::string& text = "text") {
  LogQueue::add(event, {text.data(), text.size()}, queue);
}

TEST(LogQueue, GivesMessagesOnceAndInOrder) {
  LogQueue queue;
  EXPECT_TRUE(queue.is_empty());
  add(&queue, 1, "one");
  add(&queue, 2, "two");
  EXPECT_FALSE(queue.is_empty());
  const std::vector<LogQueue::Message> messages = queue.take();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].event, 1);
  EXPECT_EQ(messages[0].text, "one");
  EXPECT_EQ(messages[1].event, 2);
  EXPECT_EQ(messages[1].text, "two");
  EXPECT_TRUE(queue.is_empty());
  EXPECT_TRUE(queue.take().empty());
}

TEST(LogQueue, IsBoundedWhereNobodyTakesThem) {
  LogQueue queue;
  for (int round = 0; round < 2; ++round) {
    for (int i = 0; i < 1000; ++i) add(&queue, i);
    const std::vector<LogQueue::Message> messages = queue.take();
    ASSERT_EQ(messages.size(), std::size_t{LogQueue::kMost});
    EXPECT_EQ(messages.back().event, LogQueue::kMost - 1);
  }
  for (int i = 0; i < 10; ++i) add(&queue, i);  // the destructor has them
}

TEST(LogQueue, TakesMessagesOfManyThreads) {
  LogQueue queue;
  std::atomic<int> left = 4;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < 1000; ++n) add(&queue, n);
      --left;
    });
  }
  std::size_t taken = 0;
  while (left > 0) {
    const std::size_t count = queue.take().size();
    EXPECT_LE(count, std::size_t{LogQueue::kMost});
    taken += count;
  }
  for (std::thread& thread : threads) thread.join();
  taken += queue.take().size();  // all, if the threads were faster
  EXPECT_GT(taken, 0u);
  // None was counted and is not there.
  for (int i = 0; i < 1000; ++i) add(&queue, i);
  EXPECT_EQ(queue.take().size(), std::size_t{LogQueue::kMost});
}

}  // namespace
}  // namespace limitree
