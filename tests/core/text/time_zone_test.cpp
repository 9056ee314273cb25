#include "text/time_zone.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <sstream>
#include <string>

namespace limitree {
namespace {

std::string file_of(const std::string& zone) {
  std::ifstream file("/usr/share/zoneinfo/" + zone, std::ios::binary);
  EXPECT_TRUE(file) << "tzdata is missing";
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::int32_t offset_at(const std::vector<ZoneOffset>& offsets,
                       std::int64_t second) {
  std::int32_t seconds = offsets.front().seconds;
  for (const ZoneOffset& one : offsets) {
    if (one.from <= second) seconds = one.seconds;
  }
  return seconds;
}

std::vector<ZoneOffset> zone(const std::string& name) {
  Result<std::vector<ZoneOffset>> offsets = load_time_zone(name);
  EXPECT_TRUE(offsets.ok()) << name;
  return offsets.ok() ? offsets.value() : std::vector<ZoneOffset>{{0, 0}};
}

TEST(TimeZone, KnowsSummerTime) {
  const auto berlin = zone("Europe/Berlin");
  EXPECT_EQ(offset_at(berlin, 1'750'000'000), 7200);  // June 2025
  EXPECT_EQ(offset_at(berlin, 1'735'700'000), 3600);  // January 2025
  EXPECT_EQ(offset_at(berlin, 1'774'745'999), 3600);  // the last second of
  EXPECT_EQ(offset_at(berlin, 1'774'746'000), 7200);  // winter, March 2026
  EXPECT_EQ(offset_at(berlin, 3'200'000'000), 7200);  // May 2071, by the rule
  EXPECT_EQ(offset_at(zone("Asia/Kathmandu"), 1'750'000'000), 20'700);
  EXPECT_EQ(offset_at(zone("Australia/Sydney"), 1'735'700'000), 39'600);
  EXPECT_EQ(offset_at(zone("UTC"), 1'750'000'000), 0);
}

// Days of the year instead of weekdays: J60 is March 1 in every year, 59 is
// February 29 in a leap year.
TEST(TimeZone, KnowsRulesByDayOfTheYear) {
  const std::string file = file_of("Europe/Berlin");
  const auto offsets_by = [&file](const std::string& rule) {
    const std::size_t footer = file.rfind('\n', file.size() - 2);
    Result<std::vector<ZoneOffset>> read =
        parse_time_zone(file.substr(0, footer + 1) + rule + '\n');
    EXPECT_TRUE(read.ok()) << rule;
    return read.ok() ? read.value() : std::vector<ZoneOffset>{{0, 0}};
  };
  const auto julian = offsets_by("CET-1CEST,J60,J300");
  EXPECT_EQ(offset_at(julian, 3'192'397'199), 3600);
  EXPECT_EQ(offset_at(julian, 3'192'397'200), 7200);  // March 1, 2071
  EXPECT_EQ(offset_at(julian, 3'224'019'599), 3600);
  EXPECT_EQ(offset_at(julian, 3'224'019'600), 7200);  // March 1, 2072
  const auto plain = offsets_by("CET-1CEST,59,299");
  EXPECT_EQ(offset_at(plain, 3'192'397'199), 3600);
  EXPECT_EQ(offset_at(plain, 3'192'397'200), 7200);  // March 1, 2071
  EXPECT_EQ(offset_at(plain, 3'223'933'199), 3600);
  EXPECT_EQ(offset_at(plain, 3'223'933'200), 7200);  // February 29
}

TEST(TimeZone, Ascends) {
  for (const char* name : {"Europe/Berlin", "America/New_York", "Asia/Beirut",
                           "Africa/Casablanca", "Etc/GMT+3"}) {
    const auto offsets = zone(name);
    EXPECT_TRUE(std::is_sorted(
        offsets.begin(), offsets.end(),
        [](const auto& a, const auto& b) { return a.from < b.from; }))
        << name;
  }
}

TEST(TimeZone, RefusesWhatIsNone) {
  for (const char* name : {"", "Europe", "Europe/Berln", "../etc/passwd",
                           "/etc/passwd", "Europe/", "Euro pe", "zone.tab"}) {
    EXPECT_FALSE(load_time_zone(name).ok()) << name;
  }
}

// Many limits of one zone take one file and one copy, until the file changes.
TEST(TimeZone, IsReadOnceUntilItChanges) {
  namespace fs = std::filesystem;
  const ZoneOffsets berlin = shared_time_zone("Europe/Berlin").value();
  EXPECT_EQ(shared_time_zone("Europe/Berlin").value(), berlin);
  EXPECT_EQ(berlin->size(), zone("Europe/Berlin").size());
  EXPECT_FALSE(shared_time_zone("Europe//Berlin").ok());
  EXPECT_FALSE(shared_time_zone("Europe/Berln").ok());

  const fs::path folder = fs::path(testing::TempDir()) / "limitree-zones";
  fs::create_directories(folder);
  const auto write = [&](const std::string& name, int age) {
    std::ofstream(folder / "Here", std::ios::binary) << file_of(name);
    fs::last_write_time(folder / "Here", fs::file_time_type::clock::now() -
                                             std::chrono::hours(age));
  };
  ASSERT_EQ(setenv("TZDIR", folder.c_str(), 1), 0);
  write("Asia/Kathmandu", 2);
  const ZoneOffsets old = shared_time_zone("Here").value();
  EXPECT_EQ(offset_at(*old, 1'750'000'000), 20'700);
  EXPECT_EQ(shared_time_zone("Here").value(), old);
  write("Europe/Berlin", 1);
  EXPECT_EQ(offset_at(*shared_time_zone("Here").value(), 1'750'000'000), 7200);
  ASSERT_EQ(unsetenv("TZDIR"), 0);
  fs::remove_all(folder);
}

TEST(TimeZone, RefusesBrokenFiles) {
  const std::string good = file_of("Europe/Berlin");
  ASSERT_TRUE(parse_time_zone(good).ok());
  for (std::size_t size = 0; size < good.size(); ++size) {
    EXPECT_FALSE(parse_time_zone(good.substr(0, size)).ok()) << size;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 5'000; ++i) {
    std::string bad = good;
    for (int k = 0; k < 3; ++k) {
      bad[random() % bad.size()] = static_cast<char>(random());
    }
    (void)parse_time_zone(bad).ok();  // whatever it says, it does not crash
  }
}

}  // namespace
}  // namespace limitree
