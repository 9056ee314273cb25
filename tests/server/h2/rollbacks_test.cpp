#include "h2/rollbacks.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <vector>

namespace limitree::server {
namespace {

class Noted final : public Rollback {
 public:
  Noted(int number, std::vector<int>* run, std::size_t bytes = 100)
      : number_(number), run_(*run), bytes_(bytes) {}

  void run() override {
    run_.push_back(number_);
    if (number_ < 0) throw std::runtime_error("no");
  }
  std::size_t bytes() const override { return bytes_; }

 private:
  int number_;
  std::vector<int>& run_;
  std::size_t bytes_;
};

class RollbacksTest : public testing::Test {
 protected:
  void add(std::int32_t stream, int number, std::size_t bytes = 100) {
    rollbacks_.add(stream, std::make_unique<Noted>(number, &run_, bytes));
  }

  std::vector<int> run_;
  MemoryBudget budget_;
  MemoryShare memory_{&budget_};
  Rollbacks rollbacks_{&memory_};
};

TEST_F(RollbacksTest, OneIsRunOnce) {
  add(1, 10);
  add(3, 30);
  rollbacks_.run(5);
  EXPECT_TRUE(run_.empty());
  rollbacks_.run(3);
  rollbacks_.run(3);
  EXPECT_EQ(run_, std::vector<int>{30});
  rollbacks_.run(1);
  EXPECT_EQ(run_, (std::vector<int>{30, 10}));
  EXPECT_EQ(budget_.used(), 0U);
}

TEST_F(RollbacksTest, OnlyTheLatestAreKept) {
  for (int i = 0; i < 1000; ++i) add(i, i);
  EXPECT_EQ(budget_.used(), 128U * 100);
  rollbacks_.run(871);
  EXPECT_TRUE(run_.empty());
  rollbacks_.run(872);
  EXPECT_EQ(run_, std::vector<int>{872});
}

TEST_F(RollbacksTest, LargeOnesAreNotKept) {
  add(1, 1, 4097);
  EXPECT_EQ(budget_.used(), 0U);
  rollbacks_.run(1);
  EXPECT_TRUE(run_.empty());
}

TEST_F(RollbacksTest, ExceptionsEndHere) {
  add(1, -1);
  rollbacks_.run(1);
  EXPECT_EQ(run_, std::vector<int>{-1});
}

}  // namespace
}  // namespace limitree::server
