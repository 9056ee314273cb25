#include "tree/id_table.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <unordered_map>

namespace limitree {
namespace {

TEST(IdTable, EmptyHasNothing) {
  IdTable table;
  EXPECT_EQ(table.find(""), IdTable::kNone);
  EXPECT_EQ(table.find("a"), IdTable::kNone);
  table.finish();
  EXPECT_EQ(table.find("a"), IdTable::kNone);
  EXPECT_EQ(table.size(), 0U);
}

TEST(IdTable, RefusesWhatIsThere) {
  IdTable table;
  EXPECT_TRUE(table.insert("a", 1));
  EXPECT_FALSE(table.insert("a", 2));
  EXPECT_EQ(table.find("a"), 1U);
  EXPECT_EQ(table.size(), 1U);
}

// Ids that differ in their last byte, only in their size, or by a zero, around
// every size at which the storage changes.
TEST(IdTable, TellsApartWhatIsNearlyTheSame) {
  IdTable table;
  std::uint32_t value = 0;
  std::vector<std::string> ids;
  for (std::size_t size = 0; size <= 70; ++size) {
    ids.push_back(std::string(size, 'x'));
    if (size == 0) continue;
    ids.push_back(std::string(size - 1, 'x') + 'y');
    ids.push_back(std::string(size - 1, 'x') + '\0');
    if (size > 1) ids.push_back('y' + std::string(size - 1, 'x'));
  }
  for (const std::string& id : ids) ASSERT_TRUE(table.insert(id, value++));
  table.finish();
  for (std::uint32_t i = 0; i < value; ++i) EXPECT_EQ(table.find(ids[i]), i);
  EXPECT_EQ(table.find(std::string(71, 'x')), IdTable::kNone);
}

TEST(IdTable, AgreesWithAMap) {
  std::mt19937 random(7);
  for (const bool reserved : {false, true}) {
    IdTable table;
    if (reserved) table.reserve(30'000);
    std::unordered_map<std::string, std::uint32_t> map;
    for (std::uint32_t i = 0; i < 20'000; ++i) {
      std::string id = std::to_string(random() % 30'000);
      if (random() % 4 == 0) id.insert(0, 30, 'p');
      EXPECT_EQ(table.insert(id, i), map.emplace(id, i).second);
    }
    table.finish();
    EXPECT_EQ(table.size(), map.size());
    for (std::uint32_t i = 0; i < 30'000; ++i) {
      for (const std::string& id :
           {std::to_string(i), std::string(30, 'p') + std::to_string(i)}) {
        const auto found = map.find(id);
        EXPECT_EQ(table.find(id),
                  found == map.end() ? IdTable::kNone : found->second);
      }
    }
    EXPECT_LT(table.bytes(), map.size() * 100);
  }
}

}  // namespace
}  // namespace limitree
