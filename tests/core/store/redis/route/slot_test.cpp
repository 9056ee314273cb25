#include "store/redis/route/slot.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace limitree::redis {
namespace {

TEST(SlotOf, IsTheChecksumOfTheKey) {
  // 0x31c3 is the check value of CRC-16/XMODEM.
  EXPECT_EQ(slot_of("123456789"), 0x31c3);
  EXPECT_EQ(slot_of(""), 0);
  EXPECT_EQ(slot_of("foo"), 12182);
  EXPECT_EQ(slot_of("bar"), 5061);
  EXPECT_EQ(slot_of("a"), 15495);
  EXPECT_EQ(slot_of("x"), 16287);
}

// The slots are the answers of CLUSTER KEYSLOT of Redis 7.0.
TEST(SlotOf, TakesTheFirstTag) {
  const std::vector<std::pair<std::string, int>> slots = {
      {"user:alex", 8291},
      {"limitree:{user:alex}", 8291},
      {"limitree:{user:alex}trade", 8291},
      {"foo{bar}{zap}", 5061},
      {"foo{{bar}}zap", 4015},
      {"{bar", 4015},  // no tag: the whole key counts, equal to the tag above
      {"a}b{c", 13587},
      {"{}x", 10595},  // an empty tag does not count
      {"{}{a}", 13650},
      {"}{x}", 16287},
  };
  for (const auto& [key, slot] : slots) EXPECT_EQ(slot_of(key), slot) << key;
}

TEST(SlotOf, TakesAnyByte) {
  std::string every;
  for (int byte = 0; byte < 256; ++byte) every += static_cast<char>(byte);
  const std::int32_t slot = slot_of(every);
  EXPECT_GE(slot, 0);
  EXPECT_LT(slot, kSlots);
  EXPECT_NE(slot_of(std::string("\0", 1)), slot_of(std::string("\xff", 1)));
}

}  // namespace
}  // namespace limitree::redis
