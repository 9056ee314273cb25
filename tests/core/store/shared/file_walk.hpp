// A walk over a file of shm:// that nobody else uses, for what cannot be.

#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "store/buckets/hold_block.hpp"
#include "store/shared/mapped_cells.hpp"
#include "store/shared/shared_store.hpp"

namespace limitree {

class FileWalk {
 public:
  explicit FileWalk(SharedStore* store) : memory_(store->memory()) {}

  // A line for each fault.
  std::vector<std::string> run() {
    for (std::uint32_t i = 0; i < memory_.shard_count(); ++i) {
      name_ = "shard " + std::to_string(i) + ": ";
      shared::SharedMemory::Waiter waiter;
      // Repairs it first if its owner was killed.
      if (memory_.lock(i, false, &waiter)) {
        look_at(i);
        memory_.unlock(i);
      } else {
        fault("is locked");
      }
    }
    return std::move(faults_);
  }

 private:
  void fault(const std::string& what) { faults_.push_back(name_ + what); }

  void look_at(std::uint32_t shard) {
    shared::MappedPlace place = memory_.place(shard);
    look_at(&place.buckets);
    look_at(&place.cells);
    look_at_logs(shard, &place.cells);
    if (memory_.words(shard).journal.steps != 0) fault("an unfinished change");
  }

  template <typename Table>
  void look_at(Table* table) {
    std::uint32_t used = 0;
    const auto lines = table->lines();
    lines.each([&](const auto* slot) {
      ++used;
      if (lines.find(slot->tag) != slot) {
        fault("a bucket is there twice, or where nobody looks");
      }
    });
    if (used != table->memory().counts().used) fault("miscounted buckets");
  }

  // The cells have exactly the units that are taken, each of them once.
  void look_at_logs(std::uint32_t shard, shared::MappedCellTable* cells) {
    const shared::MappedFile& file = memory_.file();
    std::vector<bool> taken(file.sizes().log_units);
    cells->lines().each([&](const Cell* cell) {
      if (cell->has_log == 0) return;
      LogBlock* const log = cells->memory().block(cell->log);
      if (log == nullptr) return fault("a cell has no log where it says");
      const std::uint64_t end =
          cell->log - 1 + (static_cast<std::uint64_t>(log->bytes()) + 63) / 64;
      for (std::uint64_t unit = cell->log - 1; unit < end; ++unit) {
        if (taken[unit]) fault("two logs have the same memory");
        taken[unit] = true;
      }
      cell->has_holds() ? look_at_holds(log) : look_at_log(*log);
    });
    const auto* const map = reinterpret_cast<const std::uint64_t*>(
        file.at(file.layout().map_of(shard)));
    for (std::size_t unit = 0; unit < taken.size(); ++unit) {
      if ((map[unit / 64] >> unit % 64 & 1) != (taken[unit] ? 1 : 0)) {
        return fault("memory of logs is lost, or given twice");
      }
    }
  }

  void look_at_log(const LogBlock& log) {
    std::int64_t sum = 0;
    for (std::uint32_t i = 0; i < log.head().size; ++i) {
      sum += log.entry(log.head().first + i).units();
    }
    if (sum != log.head().sum) fault("a log has another sum");
  }

  void look_at_holds(LogBlock* block) {
    const HoldBlock holds(block);
    if (!holds) return fault("a block of holds is damaged");
    const HoldView view = holds.view({});
    std::int64_t sum = 0;
    std::uint32_t count = 0;
    for (std::uint32_t i = view.first; i < view.end; ++i) {
      sum += view.holds[i].units;
      count += view.holds[i].units > 0 ? 1 : 0;
      if (i > view.first && ends_before(view.holds[i], view.holds[i - 1])) {
        fault("holds are out of order");
      }
    }
    if (sum != view.units || count != view.count) {
      fault("a block of holds has another sum");
    }
  }

  shared::SharedMemory& memory_;
  std::string name_;
  std::vector<std::string> faults_;
};

inline std::vector<std::string> faults_in(SharedStore* store) {
  return FileWalk(store).run();
}

}  // namespace limitree
