// The protocol on one connection, without one.

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "store/memcached/memcached_dialog.hpp"

namespace limitree::memcached {
namespace {

using remote::Outcome;
using Event = remote::Dialog::Event;

class Lines final : public remote::Command {
 public:
  Lines(std::string bytes, std::size_t replies)
      : bytes_(std::move(bytes)), replies_(replies) {}

  std::string_view bytes() const override { return bytes_; }
  std::size_t replies() const override { return replies_; }
  void complete(Outcome result) noexcept override {
    outcome = std::move(result);
  }

  std::optional<Outcome> outcome;

 private:
  const std::string bytes_;
  const std::size_t replies_;
};

class DialogOfMemcached : public testing::Test {
 protected:
  Event hear(std::string_view bytes) {
    dialog_.feed(bytes);
    return dialog_.next();
  }
  void send(std::size_t bytes) { dialog_.outbox()->remove_front(bytes); }

  const Url url_{};
  MemcachedDialog dialog_{url_};
};

// The value of the first line looks like a line.
constexpr std::string_view kFirst = "ms a 5 T1\r\nmg a\r\r\n";
constexpr std::string_view kSecond = "mg b v\r\n";

TEST_F(DialogOfMemcached, ALineIsAnsweredOnceItIsSent) {
  Lines lines(std::string(kFirst) + std::string(kSecond), 2);
  dialog_.push(&lines, false);
  send(kFirst.size());
  EXPECT_EQ(hear("HD\r\n"), Event::kAnswered);
  EXPECT_FALSE(lines.outcome.has_value());
  send(kSecond.size());
  EXPECT_EQ(hear("EN\r\n"), Event::kAnswered);
  ASSERT_TRUE(lines.outcome.has_value());
  const Responses& responses = responses_of(*lines.outcome);
  ASSERT_EQ(responses.size(), 2u);
  EXPECT_EQ(responses[0].kind, Response::Kind::kDone);
  EXPECT_EQ(responses[1].kind, Response::Kind::kMiss);
}

TEST_F(DialogOfMemcached, ALineIsNotAnsweredBefore) {
  Lines lines(std::string(kFirst) + std::string(kSecond), 2);
  dialog_.push(&lines, false);
  send(kFirst.size() - 1);
  EXPECT_EQ(hear("HD\r\n"), Event::kFailed);
  dialog_.fail(dialog_.failure(), dialog_.detail());
}

TEST_F(DialogOfMemcached, NorIsTheNextOne) {
  Lines lines(std::string(kFirst) + std::string(kSecond), 2);
  dialog_.push(&lines, false);
  send(kFirst.size() + kSecond.size() - 1);
  EXPECT_EQ(hear("HD\r\n"), Event::kAnswered);
  EXPECT_EQ(hear("EN\r\n"), Event::kFailed);
  dialog_.fail(dialog_.failure(), dialog_.detail());
}

// Servers say so before its value has come.
TEST_F(DialogOfMemcached, AnItemMayBeRefusedAsSoonAsItIsAnnounced) {
  Lines lines(std::string(kFirst) + std::string(kSecond), 2);
  Lines later(std::string(kSecond), 1);
  dialog_.push(&lines, false);
  dialog_.push(&later, false);
  send(11);
  EXPECT_EQ(hear("SERVER_ERROR object too large for cache\r\n"),
            Event::kAnswered);
  send(kFirst.size() - 11 + 2 * kSecond.size());
  EXPECT_EQ(hear("EN\r\n"), Event::kAnswered);
  ASSERT_TRUE(lines.outcome.has_value());
  EXPECT_EQ(lines.outcome->failure, remote::Failure::kTooLarge);
  EXPECT_EQ(hear("HD\r\n"), Event::kAnswered);
  ASSERT_TRUE(later.outcome.has_value());
  EXPECT_EQ(later.outcome->failure, remote::Failure::kNone);
}

}  // namespace
}  // namespace limitree::memcached
