#include "base/shared_text.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace limitree {
namespace {

TEST(SharedText, SaysWhatItWasGiven) {
  const SharedText text("user:*/trade");
  EXPECT_FALSE(text.empty());
  EXPECT_EQ(text.view(), "user:*/trade");
  EXPECT_EQ(text.str(), "user:*/trade");
  EXPECT_EQ(text, std::string_view("user:*/trade"));
}

TEST(SharedText, EmptyOnesAreEqual) {
  const SharedText none;
  EXPECT_TRUE(none.empty());
  EXPECT_EQ(none.view(), "");
  EXPECT_EQ(none, SharedText(""));
  EXPECT_FALSE(none == SharedText("a"));
}

TEST(SharedText, CopiesShareAndOutliveTheFirst) {
  auto first = std::make_unique<SharedText>("longer than any short string is");
  const SharedText second = *first;
  EXPECT_EQ(first->view().data(), second.view().data());
  first.reset();
  EXPECT_EQ(second.view(), "longer than any short string is");
}

TEST(SharedText, IsAssigned) {
  SharedText text;
  text = "a";
  SharedText other(std::move(text));
  EXPECT_EQ(other, std::string_view("a"));
  text = std::string("b");
  other = text;
  other = *&other;  // to itself
  EXPECT_EQ(other, std::string_view("b"));
  other = SharedText();
  EXPECT_TRUE(other.empty());
  EXPECT_EQ(text, std::string_view("b"));
}

TEST(SharedText, IsFreedOnceByWhicheverThread) {
  const SharedText text("of several threads");
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = text] {
      for (int k = 0; k < 10'000; ++k) SharedText(copy).view();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(text, std::string_view("of several threads"));
}

}  // namespace
}  // namespace limitree
