#include "store/memcached/item.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <random>
#include <string>

namespace limitree::memcached {
namespace {

using std::chrono::seconds;

constexpr Instant kThen = Instant(seconds(1'750'000'000));

std::string bytes_of(const Item& item) {
  std::string bytes;
  encode(item, &bytes);
  return bytes;
}

Field field(const std::string& name, Field::Kind kind) {
  Field one;
  one.name = name;
  one.kind = kind;
  one.over = kThen + seconds(7);
  return one;
}

// One field of each kind.
Item some_item() {
  Item item;
  item.latest = kThen;
  item.writer = 0xfedc'ba98'7654'3210;
  item.fields.push_back(field("", Field::Kind::kTat));
  item.fields.back().over = kThen + Duration(123'456'789);
  item.fields.push_back(field("a!fw", Field::Kind::kCounts));
  item.fields.back().start = -5;
  item.fields.back().current = 4'000'000'000;
  item.fields.push_back(field("b!st", Field::Kind::kTail));
  item.fields.back().current = 1;
  item.fields.back().previous = 2;
  item.fields.push_back(field("c!sl", Field::Kind::kLog));
  item.fields.back().entries = {{kThen - seconds(3), 1}, {kThen, 70'000}};
  item.fields.push_back(field("d", Field::Kind::kHolds));
  item.fields.back().start = INT64_MAX;
  item.fields.back().current = 9;
  item.fields.back().holds = {{{1, 2}, kThen + seconds(1), 3},
                              {{~std::uint64_t{}, 0}, kThen + seconds(2), 4}};
  return item;
}

void expect_equal(const Item& a, const Item& b) {
  EXPECT_EQ(a.latest, b.latest);
  EXPECT_EQ(a.writer, b.writer);
  ASSERT_EQ(a.fields.size(), b.fields.size());
  for (std::size_t i = 0; i < a.fields.size(); ++i) {
    const Field& one = a.fields[i];
    const Field& other = b.fields[i];
    SCOPED_TRACE(one.name);
    EXPECT_EQ(one.name, other.name);
    EXPECT_EQ(one.kind, other.kind);
    EXPECT_EQ(one.over, other.over);
    EXPECT_EQ(one.start, other.start);
    EXPECT_EQ(one.current, other.current);
    EXPECT_EQ(one.previous, other.previous);
    ASSERT_EQ(one.entries.size(), other.entries.size());
    for (std::size_t j = 0; j < one.entries.size(); ++j) {
      EXPECT_EQ(one.entries[j].at(), other.entries[j].at());
      EXPECT_EQ(one.entries[j].units(), other.entries[j].units());
    }
    ASSERT_EQ(one.holds.size(), other.holds.size());
    for (std::size_t j = 0; j < one.holds.size(); ++j) {
      EXPECT_EQ(one.holds[j].id, other.holds[j].id);
      EXPECT_EQ(one.holds[j].end, other.holds[j].end);
      EXPECT_EQ(one.holds[j].units, other.holds[j].units);
    }
  }
}

TEST(Item, ComesBackAsItWas) {
  const Item item = some_item();
  Item back;
  ASSERT_EQ(decode(bytes_of(item), &back), nullptr);
  expect_equal(item, back);
  EXPECT_EQ(back.over(), kThen + seconds(7));
  EXPECT_EQ(back.find("b!st"), 2U);
  EXPECT_EQ(back.find("b"), Item::kNone);
}

// The bytes are the format: processes of several releases share items.
TEST(Item, HasTheBytesOfVersion1) {
  Item item;
  item.latest = Instant(Duration(300));
  item.fields.push_back(field("a", Field::Kind::kTat));
  item.fields.back().over = Instant(Duration(299));
  using std::string_literals::operator""s;
  EXPECT_EQ(bytes_of(item),
            "LT\x01\xd8\x04\x00\x01\x01"
            "a\x00\x01"s);
}

TEST(Item, IsNotReadIfItIsNotOurs) {
  Item item;
  EXPECT_STREQ(decode("", &item), "an item that is not limitree's");
  EXPECT_STREQ(decode("LT", &item), "an item that is not limitree's");
  EXPECT_STREQ(decode("12", &item), "an item that is not limitree's");
  EXPECT_STREQ(decode("LT\x02whatever", &item), "an item of another version");
}

TEST(Item, OfEveryShorterLengthIsDamaged) {
  const std::string bytes = bytes_of(some_item());
  for (std::size_t size = 3; size < bytes.size(); ++size) {
    Item item;
    EXPECT_STREQ(decode(bytes.substr(0, size), &item), "a damaged item")
        << size;
  }
  Item item;
  EXPECT_STREQ(decode(bytes + "x", &item), "a damaged item");
}

TEST(Item, WithFieldsOrHoldsInAnotherOrderIsDamaged) {
  Item item = some_item();
  std::swap(item.fields[1], item.fields[2]);
  Item back;
  EXPECT_STREQ(decode(bytes_of(item), &back), "a damaged item");
  item = some_item();
  item.fields[2].name = item.fields[1].name;
  EXPECT_STREQ(decode(bytes_of(item), &back), "a damaged item");
  item = some_item();
  std::swap(item.fields[4].holds[0], item.fields[4].holds[1]);
  EXPECT_STREQ(decode(bytes_of(item), &back), "a damaged item");
}

// Whatever a server sends ends with an item or with what is wrong; and an item
// that was read is written so that it can be read again.
TEST(Item, WithAnyBytesChangedIsReadOrRefused) {
  const std::string whole = bytes_of(some_item());
  std::mt19937 random(1);
  int read = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::string bytes = whole;
    for (int j = 0; j < 1 + i % 3; ++j) {
      bytes[3 + random() % (bytes.size() - 3)] = static_cast<char>(random());
    }
    Item item;
    if (decode(bytes, &item) != nullptr) continue;
    ++read;
    Item again;
    ASSERT_EQ(decode(bytes_of(item), &again), nullptr);
  }
  EXPECT_GT(read, 1000);
}

// A count that is larger than the bytes takes no memory.
TEST(Item, AnnouncesNoMoreThanItHas) {
  std::string bytes = "LT\x01";
  bytes.append({0, 0});
  bytes.append("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
  Item item;
  EXPECT_STREQ(decode(bytes, &item), "a damaged item");
  EXPECT_EQ(item.fields.capacity(), 0U);
}

}  // namespace
}  // namespace limitree::memcached
