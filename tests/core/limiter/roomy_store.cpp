#include "core/limiter/roomy_store.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <string>

#include "base/judge.hpp"
#include "base/key.hpp"
#include "store/memory/private_cells.hpp"

namespace limitree {

namespace {

class RoomyStore final : public Store {
 public:
  explicit RoomyStore(Clock clock) : clock_(clock) {}

  Status decide(Plan* plan) override {
    const Instant now = clock_.now();
    const MixedRequest path_cost{plan, now, {}};
    std::deque<Mixed> mixed(plan->levels.size());
    for (std::size_t i = 0; i < mixed.size(); ++i) {
      Level& level = plan->levels[i];
      Status status =
          mixed[i].evaluate(path_cost, &level, kTag, place_of(*plan, level));
      if (!status.ok()) return status;
    }
    judge(plan->operation, plan->levels.data(), plan->levels.size());
    for (std::size_t i = 0; i < mixed.size(); ++i) {
      const Level& level = plan->levels[i];
      const PrivatePlace place = place_of(*plan, level);
      if (!level.verdict.charged) {
        mixed[i].release(place);
        mixed[i].keep(*plan, level, now, place);
      } else if (mixed[i].exists()) {
        mixed[i].update(level, now, place);
      } else {
        mixed[i].insert(path_cost, level, place);
      }
    }
    return {};
  }

  Status reset(const Plan& plan) override {
    for (const Level& level : plan.levels) rooms_.erase(name_of(plan, level));
    return {};
  }
  StoreStats stats() override { return {}; }

 private:
  using Mixed = MixedLevel<PrivatePlace>;

  static constexpr std::uint64_t kTag = std::uint64_t{1} << 32;

  struct Room {
    BucketTable buckets{1};
    CellShard cells;
  };

  // As in Redis, where the suffix tells the algorithm.
  static std::string name_of(const Plan& plan, const Level& level) {
    return bucket_name(plan, level) + level.limit->suffix.str();
  }
  PrivatePlace place_of(const Plan& plan, const Level& level) {
    Room& room = rooms_[name_of(plan, level)];
    room.cells.table.memory().count_logs_in(&log_bytes_);
    return {room.buckets, room.cells.table};
  }

  const Clock clock_;
  LogBytes log_bytes_{0};  // outlives the logs
  std::map<std::string, Room> rooms_;
};

}  // namespace

std::unique_ptr<Store> make_roomy_store(Clock clock) {
  return std::make_unique<RoomyStore>(clock);
}

}  // namespace limitree
