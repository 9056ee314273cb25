#include "store/shared/shared_store.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "store/buckets/decide.hpp"
#include "store/shared/files.hpp"
#include "store/shared/mapped_cells.hpp"
#include "store/shared/shared_loop.hpp"

namespace limitree {

template class BucketShards<shared::SharedMemory>;

namespace {

using shared::MappedFile;
using shared::OwnProcessSlot;

SipKey key_of(MappedFile* file) {
  return {file->header().key[0], file->header().key[1]};
}

// Sets the clock of a file that no process uses to the wall clock, unless it is
// right: it must not go back just because two readings differ.
void set_clock(shared::Header* header) {
  constexpr Duration kTolerance = std::chrono::seconds(1);
  const Duration right = Clock().offset();
  const Duration error =
      saturating_sub(Instant(Duration(header->clock_offset)), Instant(right));
  if (error > kTolerance || error < -kTolerance) {
    header->clock_offset = right.count();
  }
}

// A damaged file may contain anything.
Clock clock_of(const shared::Header& header) {
  constexpr std::int64_t kMost = std::int64_t{1} << 62;
  return Clock(Duration(std::clamp(header.clock_offset, -kMost, kMost)));
}

// After a restart of the machine, or on another machine, a file on a disk may
// have cells that are newer than its tables of what is in use: each page
// reached the disk at a different time.
void mend(MappedFile* file) {
  const std::uint64_t boot = shared::this_boot();
  std::uint64_t& written = file->header().boot;
  if (boot == 0 || written == boot) return;
  for (std::uint32_t i = 0; i < file->sizes().shard_count; ++i) {
    shared::repair(file, i);
  }
  written = boot;
}

// No other process has the file open, so its time is reset: the clocks of
// earlier processes may have been ahead.
void set_time(MappedFile* file) {
  set_clock(&file->header());
  auto* const shards =
      reinterpret_cast<shared::ShardWords*>(file->at(file->layout().shards));
  for (std::uint32_t i = 0; i < file->sizes().shard_count; ++i) {
    shards[i].latest = {kLongAgo, 0};
  }
}

Status no_slot(const std::string& path, int failed) {
  return failed == OwnProcessSlot::kNone
             ? shared::file_error(path, "has no slot for this process")
             : shared::file_error(path, "cannot be opened again", failed);
}

// Takes a process slot.  A process that is alone sets the clock of the file: so
// the clocks of all processes that use it at the same time agree, and run on
// even if the clock of the machine is set.
Status enter(MappedFile* file, OwnProcessSlot* slot) {
  const int opening = shared::open_again(file->file(), file->path());
  if (opening < 0) return no_slot(file->path(), errno);
  bool alone = false;
  Status status = shared::lock_to_enter(opening, file->layout().slots,
                                        file->path(), &alone);
  if (status.ok() && !slot->take()) {
    status = no_slot(file->path(), slot->failed());
  }
  if (status.ok() && alone) {
    set_time(file);
    mend(file);
  }
  shared::unlock_opening(opening);
  close(opening);
  return status;
}

}  // namespace

Result<std::unique_ptr<Store>> SharedStore::open(const Settings& settings) {
  if (!shared::has_record_locks()) {
    return shared::file_error(
        settings.url.path,
        "needs record locks (F_OFD_SETLK), which this system does not have");
  }
  const std::int64_t max_buckets = settings.url.max_buckets != 0
                                       ? settings.url.max_buckets
                                       : settings.max_buckets;
  Result<std::unique_ptr<MappedFile>> opened = MappedFile::open(
      settings.url, shared::sizes_for(max_buckets, settings.max_bytes));
  if (!opened.ok()) return std::move(opened.status());
  MappedFile* const file = opened.value().get();
  auto slot = std::make_unique<OwnProcessSlot>(
      reinterpret_cast<shared::ProcessSlot*>(file->at(file->layout().slots)),
      file->layout().slots, file->file(), file->path());
  Status status = enter(file, slot.get());
  if (!status.ok()) return status;
  const Clock clock =
      settings.clock.is_callers() ? settings.clock : clock_of(file->header());
  return std::unique_ptr<Store>(std::make_unique<SharedStore>(
      std::move(opened.value()), std::move(slot), settings, clock));
}

SharedStore::SharedStore(std::unique_ptr<MappedFile> file,
                         std::unique_ptr<OwnProcessSlot> slot,
                         const Settings& settings, Clock clock)
    : shards_(clock, key_of(file.get()), std::move(file), std::move(slot),
              settings.timeout) {}

Status SharedStore::decide(Plan* plan) {
  Status status = shards_.decide(plan);
  if (shards_.memory().file().is_lost()) [[unlikely]]
    return lost();
  return status;
}

Status SharedStore::reset(const Plan& plan) {
  Status status = shards_.forget(plan);
  if (shards_.memory().file().is_lost()) return lost();
  return status;
}

std::unique_ptr<StoreLoop> SharedStore::new_loop() {
  return std::make_unique<SharedLoop>(
      [this](Pending* pending, bool is_late, Status* status) {
        if (try_at_once(pending, status)) return true;
        if (!is_late) return false;
        Error error = status->error();
        error.code = Code::kStoreUnavailable;
        *status = Status(std::move(error));
        return true;
      });
}

bool SharedStore::start(Pending* pending, Status* status) {
  if (try_at_once(pending, status)) return true;
  auto* const loop = static_cast<SharedLoop*>(pending->loop());
  if (loop->fd() < 0) {
    *status = shared::file_error(shards_.memory().file().path(),
                                 "has no descriptor for an event loop to watch",
                                 errno);
    return true;
  }
  loop->add(pending);
  return false;
}

bool SharedStore::try_at_once(Pending* pending, Status* status) {
  pending->plan().at_once = true;
  *status = run(pending);
  pending->plan().at_once = false;
  return status->code() != Code::kPending;
}

Status SharedStore::lost() {
  return Status(Error{Code::kStoreUnavailable,
                      {shards_.memory().file().path() +
                       ": was cut off, or its disk has failed, while it was in "
                       "use; restart to open it again"},
                      "shm_lost"});
}

// Tries every lock once.
Status SharedStore::ping() {
  shared::SharedMemory& memory = shards_.memory();
  shared::SharedMemory::Waiter waiter;
  for (std::uint32_t i = 0; i < memory.shard_count(); ++i) {
    if (!memory.lock(i, false, &waiter)) return memory.failure(waiter);
    memory.unlock(i);
  }
  return memory.file().is_lost() ? lost() : Status();
}

StoreStats SharedStore::stats() {
  StoreStats stats;
  MappedFile& file = shards_.memory().file();
  stats.max_buckets = static_cast<std::int64_t>(file.sizes().max_buckets);
  shards_.add_stats(&stats);
  stats.bytes = file.bytes_taken();
  return stats;
}

std::optional<StoreFile> SharedStore::file() {
  MappedFile& file = shards_.memory().file();
  return StoreFile{file.path(), shared::kVersion,
                   static_cast<std::int64_t>(file.layout().file_bytes),
                   shards_.memory().slot().count()};
}

}  // namespace limitree
