// Blocks of holds whose bytes were changed by hand: whatever they say, requests
// end, and nothing outside the file is touched.

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/store/manual_clock.hpp"
#include "core/store/shared/shared_file.hpp"
#include "core/store/store_cases.hpp"
#include "store/buckets/bucket_shards.hpp"
#include "store/shared/mapped_cells.hpp"

namespace limitree {
namespace {

using std::chrono::seconds;

Limit held_limit(Algorithm algorithm, std::int64_t capacity) {
  Limit limit = limit_of(algorithm, capacity, seconds(1));
  Rules rules;
  rules.hold = seconds(30);
  rules.frees = algorithm == Algorithm::kConcurrent;
  limit.rules = std::make_shared<const Rules>(rules);
  return limit;
}

// A file with one bucket that holds.
class DamagedHolds {
 public:
  explicit DamagedHolds(Algorithm algorithm, std::int64_t capacity = 9)
      : limit_(held_limit(algorithm, capacity)) {
    file_.settings.max_bytes = 100 * kTableBytes + capacity * 1024;
    store_ = file_.open();
    clock_.set(kStart);
    for (const std::uint64_t id : {1u, 2u, 3u}) {
      EXPECT_TRUE(decide(Operation::kReserve, 1, id).ok());
      clock_.advance(seconds(1));
    }
    EXPECT_TRUE(decide(Operation::kSettle, 1, 2).ok());
    whole_.assign(tables().begin(), tables().end());
  }

  // As it was made.
  void restore() {
    clock_.set(kStart + seconds(3));
    std::ranges::copy(whole_, tables().begin());
  }

  Status decide(Operation operation, std::int64_t cost, std::uint64_t id = 0) {
    Plan plan(operation);
    std::vector<FoundHold> found;
    if (plan.only_looks) plan.found = &found;
    plan.reservation = {
        {7, id},
        operation == Operation::kExtend ? Duration(seconds(3)) : Duration()};
    plan.segments.emplace_back("a", Segment::Kind::kCaller);
    plan.add_level(&limit_, 0u, 1u, cost);
    Status status = store_->decide(&plan);
    limited_ = plan.levels[0].verdict.limited;
    listed_ = found.size();
    return status;
  }
  bool limited() const { return limited_; }
  std::size_t listed() const { return listed_; }  // by Operation::kLook
  void advance(Duration time) { clock_.advance(time); }

  Cell* cell() {
    Cell* found = nullptr;
    cells().lines().each([&](Cell* one) { found = one; });
    return found;
  }
  LogBlock* block() {
    const std::uint64_t log = cell()->log;
    return cells().memory().block(log);
  }

  // All that the cell and its block say.
  std::array<std::span<unsigned char>, 2> bytes() {
    return {{{reinterpret_cast<unsigned char*>(cell()) + sizeof cell()->tag,
              sizeof(Cell) - sizeof cell()->tag},
             {reinterpret_cast<unsigned char*>(block()),
              static_cast<std::size_t>(block()->bytes())}}};
  }

 private:
  static constexpr Instant kStart{std::chrono::hours(400'000)};

  // All of the file but its header and its seats.
  std::span<std::byte> tables() {
    const shared::MappedFile& file = store_->memory().file();
    const std::uint64_t first = file.layout().shards;
    return {file.at(first), file.layout().file_bytes - first};
  }
  shared::MappedCellTable& cells() {
    place_.reset(new shared::MappedPlace(store_->memory().place(0)));
    return place_->cells;
  }

  ManualClock clock_;
  const Limit limit_;
  SharedFile file_{100, clock_.clock()};
  std::unique_ptr<SharedStore> store_;
  std::unique_ptr<shared::MappedPlace> place_;
  std::vector<std::byte> whole_;
  bool limited_ = false;
  std::size_t listed_ = 0;
};

constexpr std::array kThatHold = {Algorithm::kGcra, Algorithm::kFixedWindow,
                                  Algorithm::kConcurrent};
constexpr unsigned kChanges[] = {0x01, 0x80, 0xff};

TEST(DamagedHolds, EveryRequestEnds) {
  constexpr std::array kOperations = {
      Operation::kAuthorize, Operation::kReserve, Operation::kSettle,
      Operation::kExtend,    Operation::kPeek,    Operation::kLook,
      Operation::kRefund,    Operation::kSpend};
  for (const Algorithm algorithm : kThatHold) {
    DamagedHolds file(algorithm);
    for (std::size_t part = 0; part < 2; ++part) {
      const std::size_t size = file.bytes()[part].size();
      for (std::size_t change = 0; change < 3 * size; ++change) {
        SCOPED_TRACE(std::string(traits_of(algorithm).name) + " part " +
                     std::to_string(part) + " change " +
                     std::to_string(change));
        file.restore();
        const auto bytes = file.bytes()[part];
        unsigned char& byte = bytes[change / 3];
        byte = static_cast<unsigned char>(byte ^ kChanges[change % 3]);
        for (std::size_t i = 0; i < 3 * kOperations.size(); ++i) {
          const Operation one = kOperations[(i + change) % kOperations.size()];
          const Status status =
              file.decide(one, is_about_hold(one) ? 0 : 1, 1 + i % 3);
          ASSERT_TRUE(status.ok()) << status.message();
          file.advance(seconds(i % 7 == 6 ? 20 : 1));
        }
      }
    }
  }
}

TEST(DamagedHolds, WrongSumsAreForgottenWhenNothingIsHeld) {
  DamagedHolds file(Algorithm::kConcurrent);
  reinterpret_cast<HoldHead*>(&file.block()->entry(0))->count = 4 * kMaxHolds;
  LogBlock::Head head = file.block()->head();
  head.sum = 9;
  file.block()->set_head(head);
  EXPECT_TRUE(file.decide(Operation::kReserve, 1, 4).ok());
  EXPECT_TRUE(file.limited());
  file.advance(seconds(60));
  EXPECT_TRUE(file.decide(Operation::kReserve, 9, 5).ok());
  EXPECT_FALSE(file.limited());
}

// As after a power failure that has kept the head, but no page of the holds.
TEST(DamagedHolds, AHeadThatCountsTooFewLosesNone) {
  DamagedHolds file(Algorithm::kConcurrent, 200);
  for (std::uint64_t id = 10; id < 110; ++id) {
    EXPECT_TRUE(file.decide(Operation::kReserve, 1, id).ok());
  }
  reinterpret_cast<HoldHead*>(&file.block()->entry(0))->count = 1;
  // It ends before others, which makes a new block.
  EXPECT_TRUE(file.decide(Operation::kExtend, 0, 50).ok());
  EXPECT_TRUE(file.decide(Operation::kLook, 1).ok());
  EXPECT_EQ(file.listed(), 102);
}

}  // namespace
}  // namespace limitree
