#include "io/background.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <string>

#include "io/loop.hpp"
#include "io/trouble.hpp"

namespace limitree {
namespace {

TEST(Background, EndsAtOnceWhenItWaits) {
  bool last = true;
  const Monotonic begun = steady_now();
  {
    const Background thread([&](Background::Signal& signal) {
      last = signal.wait_until(after(steady_now(), 3'600 * kOneSecond));
    });
  }
  EXPECT_FALSE(last);
  EXPECT_LT(steady_now() - begun, 3 * kOneSecond);
}

TEST(Background, WaitsUntilAnInstant) {
  std::promise<Duration> waited;
  const Background thread([&](Background::Signal& signal) {
    const Monotonic begun = steady_now();
    EXPECT_TRUE(signal.wait_until(after(begun, 10 * kMillisecond)));
    waited.set_value(steady_now() - begun);
  });
  EXPECT_GE(waited.get_future().get(), 10 * kMillisecond);
}

TEST(Background, CanBeWoken) {
  std::promise<bool> woken;
  Background thread([&](Background::Signal& signal) {
    woken.set_value(signal.wait_until(after(steady_now(), 3'600 * kOneSecond)));
  });
  thread.wake();
  EXPECT_TRUE(woken.get_future().get());
}

TEST(Background, WorkThatThrowsBeginsAgain) {
  std::promise<void> again;
  int runs = 0;
  const Background thread([&](Background::Signal& /*signal*/) {
    if (++runs == 1) throw std::runtime_error("the first time");
    again.set_value();
  });
  again.get_future().get();
}

TEST(Background, WhatTheThreadOwnsIsGoneBeforeTheOwnerGoesOn) {
  auto owned = std::make_shared<int>(1);
  const std::weak_ptr<int> left = owned;
  {
    const Background thread(
        [owned = std::move(owned)](Background::Signal& signal) {
          while (signal.wait_until(Monotonic::max())) {
          }
        });
  }
  EXPECT_TRUE(left.expired());
}

TEST(Background, AnExceptionEndsTheThreadOnly) {
  static std::promise<std::string> told;
  listen_to_trouble([](std::string_view what, std::string_view why) {
    told.set_value(std::string(what).append(": ").append(why));
  });
  const Monotonic begun = steady_now();
  {
    const Background thread(
        [](Background::Signal&) { throw std::length_error("x"); });
    EXPECT_EQ(told.get_future().get(), "some work is lost: x");
  }
  listen_to_trouble(nullptr);
  EXPECT_LT(steady_now() - begun, 3 * kOneSecond);
}

TEST(Background, AThreadThatDoesNotEndIsLeftToItself) {
  auto stuck = std::make_shared<std::promise<void>>();
  auto ended = std::make_shared<std::promise<void>>();
  const Monotonic begun = steady_now();
  {
    const Background thread([stuck, ended](Background::Signal& signal) {
      stuck->get_future().wait();
      if (signal.is_ending()) ended->set_value();
    });
  }
  EXPECT_GE(steady_now() - begun, 2 * kOneSecond);
  stuck->set_value();
  ended->get_future().wait();  // it learns of the end
}

}  // namespace
}  // namespace limitree
