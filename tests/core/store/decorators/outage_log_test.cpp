#include "store/decorators/outage_log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "core/store/manual_clock.hpp"

namespace limitree {
namespace {

using std::chrono::seconds;

const std::string kHere = " in process " + std::to_string(getpid());

class OutageLogTest : public testing::Test {
 protected:
  OutageLog& make(const std::string& store, OnStoreError policy) {
    return log_.emplace(
        store, policy,
        [this](LogEvent event, std::string_view text) {
          events.push_back(event);
          lines.emplace_back(text);
        },
        clock.clock());
  }

  void fail(const char* reason, bool limited = false) {
    log_->errors().count(reason);
    log_->failed(limited);
  }

  // As a store that is asked: only while it is away.
  void answer() {
    if (log_->is_away()) log_->answered();
  }

  ManualClock clock;
  std::vector<LogEvent> events;
  std::vector<std::string> lines;

 private:
  std::optional<OutageLog> log_;
};

TEST_F(OutageLogTest, SaysWhenItBeginsAndWhenItEnds) {
  make("127.0.0.1:1", OnStoreError::kLocal);
  answer();
  EXPECT_TRUE(lines.empty());
  fail("refused");
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_EQ(lines[0],
            "the store 127.0.0.1:1 fails" + kHere +
                " (refused), on_store_error=local: limits are decided in this "
                "process until it is back");
  clock.advance(seconds(1));
  for (int i = 0; i < 7; ++i) fail("refused");
  fail("timeout", true);
  clock.advance(seconds(2));
  answer();
  clock.advance(seconds(4));
  answer();
  EXPECT_EQ(lines.size(), 1U);
  clock.advance(seconds(1));
  answer();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1],
            "the store 127.0.0.1:1 is back" + kHere +
                " after 3.0 s, on_store_error=local: 9 requests were decided "
                "in this process, 1 of them limited (refused 8, timeout 1)");
  answer();
  EXPECT_EQ(lines.size(), 2U);
  EXPECT_EQ(events[0], LogEvent::kStoreAway);
  EXPECT_EQ(events[1], LogEvent::kStoreBack);
}

TEST_F(OutageLogTest, CountsEachByItself) {
  make("s", OnStoreError::kDeny);
  for (int i = 0; i < 5; ++i) fail("refused", true);
  answer();
  clock.advance(seconds(5));
  answer();
  ASSERT_EQ(lines.size(), 2U);
  clock.advance(seconds(1));
  fail("timeout", true);
  fail("timeout", true);
  EXPECT_EQ(lines[2], "the store s fails" + kHere +
                          " (timeout), on_store_error=deny: requests are "
                          "denied unchecked until it is back");
  clock.advance(seconds(1));
  answer();
  clock.advance(seconds(5));
  answer();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[3],
            "the store s is back" + kHere +
                " after 1.0 s, on_store_error=deny: 2 requests were denied "
                "unchecked, 2 of them limited (timeout 2)");
}

// One that fails now and then is one outage, and one that nobody asks is none
// that is over.
TEST_F(OutageLogTest, IsNotOverBeforeItIsQuiet) {
  make("s", OnStoreError::kRaise);
  for (int i = 0; i < 10; ++i) {
    fail("refused");
    clock.advance(seconds(3));
    answer();
  }
  ASSERT_EQ(lines.size(), 1U);
  EXPECT_NE(lines[0].find("=raise: requests fail until"), std::string::npos);
  fail("refused");
  clock.advance(seconds(60));
  answer();
  EXPECT_EQ(lines.size(), 1U);
  clock.advance(OutageLog::kQuiet);
  answer();
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_NE(lines[1].find("11 requests were not decided (refused 11)"),
            std::string::npos);
}

TEST_F(OutageLogTest, SaysWhatClientsSeeByPolicy) {
  make("s", OnStoreError::kAllow);
  fail("refused");
  EXPECT_NE(
      lines[0].find("on_store_error=allow: requests are let through unchecked"),
      std::string::npos);
}

}  // namespace
}  // namespace limitree
