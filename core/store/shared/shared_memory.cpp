#include "store/shared/shared_memory.hpp"

#include <sched.h>

#include <algorithm>
#include <ctime>
#include <system_error>
#include <thread>
#include <utility>

#include "store/late_clock.hpp"
#include "store/shared/mapped_cells.hpp"
#include "store/spin_lock.hpp"

namespace limitree::shared {

namespace {

// A round of waiting is a few looks at the lock, and a rest.  A request may
// give up only after the first few rounds, because its own process may be the
// one that did not run.
constexpr int kLeastRounds = 4;
constexpr int kYieldingRounds = 64;  // later ones sleep
constexpr auto kSleep = std::chrono::microseconds(200);

// How long to wait for an owner that others have waited for in vain, and how
// long that is remembered after the last of them.
constexpr Duration kStalledWait = std::chrono::microseconds(100);
constexpr Duration kStalledFor = std::chrono::seconds(1);

// How long a request waits for a lock before it gives back those that it has.
// A running owner never holds a lock for that long.
constexpr Duration kPatience = std::chrono::milliseconds(1);

Duration steady_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

// Returns 0 if it took the lock for `mine`, or else the owner.
std::uint64_t look(std::atomic<std::uint64_t>& lock, std::uint64_t mine,
                   bool once) {
  Backoff backoff;
  for (;;) {
    std::uint64_t owner = lock.load(std::memory_order_relaxed);
    if (owner == 0 &&
        lock.compare_exchange_strong(owner, mine, std::memory_order_acquire)) {
      return 0;
    }
    if (once || !backoff.pause()) return owner;
  }
}

void rest(int round) {
  if (round < kYieldingRounds) {
    sched_yield();
  } else {
    std::this_thread::sleep_for(kSleep);
  }
}

// Whether to ask the kernel about the owner in this round: it costs as much as
// ten decisions.
bool is_time_to_ask(int round) { return round % 4 == 3; }

}  // namespace

SharedMemory::SharedMemory(std::unique_ptr<MappedFile> file,
                           std::unique_ptr<OwnProcessSlot> slot,
                           Duration timeout)
    : file_(std::move(file)),
      slot_(std::move(slot)),
      timeout_(timeout),
      words_(reinterpret_cast<ShardWords*>(file_->at(file_->layout().shards))),
      tables_(file_->layout().tables),
      shard_bytes_(file_->layout().shard_bytes),
      bucket_lines_(file_->sizes().bucket_lines),
      shard_count_(file_->sizes().shard_count),
      stalled_(new Stalled[shard_count_]) {}

SharedMemory::Place SharedMemory::place(std::uint32_t shard) {
  return {buckets(shard),
          MappedCellTable(MappedCells(file_.get(), &words(shard), shard))};
}

[[gnu::noinline]] bool SharedMemory::wait(std::uint32_t shard, bool has_others,
                                          Waiter* waiter) {
  const std::uint64_t mine = slot_->word();
  if (mine == 0) return false;
  Duration begin{};
  for (int round = 0;; ++round) {
    const std::uint64_t stalled = stalled_[shard].owner;
    const bool looks_once = waiter->at_once && stalled != 0;
    waiter->owner = look(words(shard).lock, mine, looks_once);
    if (waiter->owner == 0) {
      forget_stalled(shard);
      return true;
    }
    if (round == 0) {
      // Not before the first look, which is all that most waits take.
      begin = steady_time();
      if (waiter->since == Duration::zero()) waiter->since = begin;
    }
    const bool is_last = waiter->at_once &&
                         (waiter->owner == stalled || round >= kYieldingRounds);
    if ((is_last || is_time_to_ask(round)) && !slot_->lives(waiter->owner) &&
        take_over(shard, waiter->owner)) {
      return true;
    }
    const Duration now = steady_time();
    const bool known = is_stalled(shard, waiter->owner, now);
    if (is_last) {
      if (!gives_up(shard, *waiter, known, now)) put_off(shard, waiter);
      return false;
    }
    if (round >= kLeastRounds) {
      if (gives_up(shard, *waiter, known, now)) return false;
      if (has_others && now - begin >= kPatience) return false;
    }
    // Yielding the processor would not help an owner that does not run.
    if (!known) rest(round);
  }
}

bool SharedMemory::is_stalled(std::uint32_t shard, std::uint64_t owner,
                              Duration now) const {
  const Stalled& stalled = stalled_[shard];
  return owner == stalled.owner && now.count() < stalled.until;
}

bool SharedMemory::gives_up(std::uint32_t shard, const Waiter& waiter,
                            bool known, Duration now) {
  if (now - waiter.since <
      (known ? std::min(kStalledWait, timeout_) : timeout_)) {
    return false;
  }
  Stalled& stalled = stalled_[shard];
  stalled.owner = waiter.owner;
  stalled.until = (now + kStalledFor).count();
  any_stalled_ = true;
  return true;
}

void SharedMemory::put_off(std::uint32_t shard, Waiter* waiter) {
  waiter->put_off = true;
  Stalled& stalled = stalled_[shard];
  if (stalled.owner == waiter->owner) return;
  stalled.until = 0;
  stalled.owner = waiter->owner;
  any_stalled_ = true;
}

bool SharedMemory::take_over(std::uint32_t shard, std::uint64_t owner) {
  if (!words(shard).lock.compare_exchange_strong(owner, slot_->word())) {
    return false;  // another process does it
  }
  forget_stalled(shard);
  repair(file_.get(), shard);
  return true;
}

bool SharedMemory::settle(Instant read, const Clock& clock, Time* time,
                          Waiter* waiter) {
  const bool is_close = saturating_sub(time->at, read) <= kMostBehind;
  if (is_close && !clock.is_callers()) return true;
  const Instant now = clock.now();  // it may have waited for long
  // A caller may set its own clock back, as tests do.
  const bool is_set_back = clock.is_callers() && time->by == slot_->word();
  if (time->at <= now || is_set_back) {
    *time = time_of(now);
  } else if (saturating_sub(time->at, now) > kMostBehind) {
    waiter->now = now;
    waiter->latest = time->at;
    return false;
  }
  return true;
}

Status SharedMemory::unavailable(const std::string& what, const char* reason,
                                 Code code) const {
  return Status(Error{code, {file_->path() + ": " + what}, reason});
}

Status SharedMemory::failure(const Waiter& waiter) const {
  if (waiter.latest != Instant()) {
    return unavailable("the clock of this process shows " +
                           text_of(waiter.now) +
                           ", and another process has used the file at " +
                           text_of(waiter.latest),
                       "shm_clock");
  }
  if (slot_->word() == 0) {
    const int failed = slot_->failed();
    const std::string why =
        failed > 0 ? ": " + std::generic_category().message(failed) : "";
    return unavailable("this process has no slot in it" + why, "shm_slot");
  }
  const std::uint32_t process = slot_->process_of(waiter.owner);
  return unavailable((process != 0 ? "process " + std::to_string(process)
                                   : std::string("a process")) +
                         " holds a lock in it, and does not run",
                     "shm_busy",
                     waiter.put_off ? Code::kPending : Code::kStoreUnavailable);
}

Status SharedMemory::full() const {
  return unavailable("there is no memory for a bucket; is its disk full?",
                     "shm_full");
}

}  // namespace limitree::shared
