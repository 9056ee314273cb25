#include "store/remote/wire/outbox.hpp"

#include <gtest/gtest.h>

#include "store/redis/common/remote.hpp"

namespace limitree::redis {
namespace {

TEST(Outbox, GivesWhatWasPutIn) {
  Outbox box;
  EXPECT_TRUE(box.empty());
  *box.tail() += "abc";
  EXPECT_FALSE(box.empty());
  EXPECT_EQ(box.size(), 3U);
  EXPECT_EQ(box.view(), "abc");
  box.remove_front(2);
  EXPECT_EQ(box.view(), "c");
  *box.tail() += "d";
  EXPECT_EQ(box.view(), "cd");
  box.remove_front(2);
  EXPECT_TRUE(box.empty());
  EXPECT_EQ(box.view(), "");
}

TEST(Outbox, PositionsGoOnWhenItWasEmpty) {
  Outbox box;
  *box.tail() += "abc";
  box.remove_front(3);
  EXPECT_EQ(box.sent(), 3U);
  EXPECT_EQ(box.end(), 3U);
  *box.tail() += "de";
  EXPECT_EQ(box.sent(), 3U);
  EXPECT_EQ(box.end(), 5U);
  box.remove_front(1);
  EXPECT_EQ(box.sent(), 4U);
}

TEST(Outbox, TakesBackWhatWasNotSent) {
  Outbox box;
  *box.tail() += "first";
  box.remove_front(5);
  *box.tail() += "abcdefg";
  box.remove_front(1);
  box.take_back(7, 9);  // "cd"
  EXPECT_EQ(box.view(), "befg");
  EXPECT_EQ(box.sent(), 6U);
  EXPECT_EQ(box.end(), 10U);
  box.take_back(6, 10);
  EXPECT_TRUE(box.empty());
  EXPECT_EQ(box.sent(), 6U);
  EXPECT_EQ(box.end(), 6U);
  *box.tail() += "h";
  EXPECT_EQ(box.view(), "h");
}

}  // namespace
}  // namespace limitree::redis
