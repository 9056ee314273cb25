#include "outage_log.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <string>

#include "limitree.hpp"

namespace limitree::server {
namespace {

const std::string kHere = " in process " + std::to_string(getpid());

StoreCounts counts(std::int64_t answers, std::int64_t refused,
                   std::int64_t timeout = 0, std::int64_t replacements = 0) {
  StoreCounts made;
  made.answers = answers;
  made.replacements = replacements;
  if (refused > 0) made.failures["refused"] = refused;
  if (timeout > 0) made.failures["timeout"] = timeout;
  return made;
}

TEST(Outage, SaysWhenItBeginsAndWhenItEnds) {
  Outage outage("127.0.0.1:1", "local");
  EXPECT_EQ(outage.note(counts(10, 0), 1 * kSecond), "");
  EXPECT_EQ(outage.note(counts(12, 2), 2 * kSecond),
            "the store 127.0.0.1:1 fails" + kHere +
                " (refused), on_store_error=local: limits are decided in this "
                "process until it is back");
  EXPECT_EQ(outage.note(counts(12, 9, 1, 10), 3 * kSecond), "");
  EXPECT_EQ(outage.note(counts(20, 9, 1, 10), 5 * kSecond), "");
  EXPECT_EQ(outage.note(counts(30, 9, 1, 10), 9 * kSecond), "");
  EXPECT_EQ(outage.note(counts(40, 9, 1, 10), 10 * kSecond),
            "the store 127.0.0.1:1 is back" + kHere +
                " after 3.0 s, on_store_error=local: 10 requests were decided "
                "in this process (refused 9, timeout 1)");
  EXPECT_EQ(outage.note(counts(50, 9, 1, 10), 11 * kSecond), "");
}

TEST(Outage, CountsEachByItself) {
  Outage outage("s", "deny");
  EXPECT_NE(outage.note(counts(0, 5, 0, 5), 0), "");
  EXPECT_EQ(outage.note(counts(1, 5, 0, 5), kSecond), "");
  EXPECT_NE(outage.note(counts(1, 5, 0, 5), 6 * kSecond), "");
  EXPECT_EQ(outage.note(counts(1, 5, 2, 7), 7 * kSecond),
            "the store s fails" + kHere +
                " (timeout), on_store_error=deny: requests are denied "
                "unchecked until it is back");
  EXPECT_EQ(outage.note(counts(2, 5, 2, 7), 8 * kSecond), "");
  EXPECT_EQ(outage.note(counts(2, 5, 2, 7), 13 * kSecond),
            "the store s is back" + kHere +
                " after 1.0 s, on_store_error=deny: 2 requests were denied "
                "unchecked (timeout 2)");
}

// One that fails now and then is one outage, and one that nobody asks is none
// that is over.
TEST(Outage, IsNotOverBeforeItIsQuiet) {
  Outage outage("s", "raise");
  EXPECT_NE(outage.note(counts(0, 1), 0).find("requests fail until"),
            std::string::npos);
  for (int i = 1; i < 20; ++i) {
    EXPECT_EQ(outage.note(counts(i, 1 + i / 4), i * kSecond), "");
  }
  EXPECT_EQ(outage.note(counts(19, 6), 20 * kSecond), "");
  EXPECT_EQ(outage.note(counts(19, 6), 60 * kSecond), "");
  EXPECT_EQ(outage.note(counts(20, 6, 0, 6), 61 * kSecond), "");
  EXPECT_NE(outage.note(counts(20, 6, 0, 6), 66 * kSecond)
                .find("6 requests were not decided (refused 6)"),
            std::string::npos);
}

TEST(Outage, SaysWhatClientsSeeByPolicy) {
  Outage outage("s", "allow");
  EXPECT_NE(
      outage.note(counts(0, 1), 0)
          .find("on_store_error=allow: requests are let through unchecked"),
      std::string::npos);
}

ServeSettings with(const std::string& url, const Pairs& options = {}) {
  ServeSettings settings;
  settings.store.url = url;
  settings.options = options;
  return settings;
}

TEST(Outage, NamesTheStoreWithoutItsPassword) {
  EXPECT_EQ(shown_store(with("redis://me:p@ss@host:1/2")), "host:1/2");
  EXPECT_EQ(shown_store(with("redis://host:1")), "redis://host:1");
  EXPECT_EQ(shown_store(with("shm:///a@b")), "shm:///a@b");
}

TEST(Outage, KnowsThePolicy) {
  EXPECT_EQ(policy_of(with("")), "raise");
  EXPECT_EQ(policy_of(with(
                "", {{"on_store_error", "deny"}, {"on_store_error", "local"}})),
            "local");
}

TEST(Outage, ReadsWhatALimiterCounts) {
  Config config;
  config.set("store", "redis://127.0.0.1:1");
  config.set("on_store_error", "local");
  config.set_limits("schema: {user: {limits: 5/hour}}", "limits.yaml");
  Limiter limiter(config);
  const StoreCounts before = read_store_counts(limiter.get(), "local");
  EXPECT_EQ(before.replacements, 0);
  EXPECT_TRUE(before.failures.empty());
  limiter.authorize(to_path(std::array{"user"}));
  const StoreCounts after = read_store_counts(limiter.get(), "local");
  EXPECT_EQ(after.answers, before.answers);
  EXPECT_EQ(after.replacements, 1);
  EXPECT_EQ(after.failures.size(), 1U);
}

}  // namespace
}  // namespace limitree::server
