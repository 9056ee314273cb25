#include "store/shared/shared_home.hpp"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <utility>

#include "store/shared/mapped_cells.hpp"

namespace limitree::shared {

namespace {

// A round of waiting is kSpins looks at the lock, and a rest.  Only after the
// first few a request may give up, because its own process may be the one that
// did not run.
constexpr int kSpins = 200;
constexpr int kLeastRounds = 4;
constexpr int kYieldingRounds = 64;  // later ones sleep
constexpr auto kSleep = std::chrono::microseconds(200);

// How long to wait for an owner for whom others have waited in vain, and how
// long that is remembered.
constexpr Duration kStalledWait = std::chrono::milliseconds(1);
constexpr Duration kStalledFor = std::chrono::seconds(1);

Duration steady_time() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

void pause_a_little() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Returns 0 if it took the lock for `mine`, or else the owner.
std::uint64_t look(std::atomic<std::uint64_t>& lock, std::uint64_t mine) {
  std::uint64_t owner = 0;
  for (int spin = 0; spin < kSpins; ++spin) {
    owner = lock.load(std::memory_order_relaxed);
    if (owner == 0 &&
        lock.compare_exchange_strong(owner, mine, std::memory_order_acquire)) {
      return 0;
    }
    pause_a_little();
  }
  return owner;
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

SharedHome::SharedHome(std::unique_ptr<MappedFile> file,
                       std::unique_ptr<OwnSeat> seat, Duration timeout)
    : file_(std::move(file)),
      seat_(std::move(seat)),
      timeout_(timeout),
      words_(reinterpret_cast<ShardWords*>(file_->at(file_->layout().shards))),
      tables_(file_->layout().tables),
      shard_bytes_(file_->layout().shard_bytes),
      bucket_lines_(file_->sizes().bucket_lines),
      shard_count_(file_->sizes().shard_count) {}

SharedHome::Place SharedHome::place(std::uint32_t shard) {
  return {buckets(shard),
          MappedCellTable(MappedCells(file_.get(), &words(shard), shard))};
}

[[gnu::noinline]] bool SharedHome::wait(std::uint32_t shard, Waiter* waiter) {
  const std::uint64_t mine = seat_->word();
  if (mine == 0) return false;
  std::uint64_t before = 0;
  for (int round = 0;; ++round) {
    const std::uint64_t owner = look(words(shard).lock, mine);
    if (before != 0 && owner != before && before == stalled_) stalled_ = 0;
    if (owner == 0) return true;
    // Not before the first look, which is all that most waits take.
    if (waiter->since == Duration::zero()) waiter->since = steady_time();
    if (is_time_to_ask(round) && !seat_->lives(owner) &&
        take_over(shard, owner)) {
      return true;
    }
    if (round >= kLeastRounds && gives_up(owner, waiter->since)) return false;
    before = owner;
    rest(round);
  }
}

bool SharedHome::gives_up(std::uint64_t owner, Duration since) {
  const Duration now = steady_time();
  const bool known = owner == stalled_ && now.count() < stalled_until_;
  if (now - since < (known ? std::min(kStalledWait, timeout_) : timeout_)) {
    return false;
  }
  if (!known) {
    stalled_ = owner;
    stalled_until_ = (now + kStalledFor).count();
  }
  return true;
}

bool SharedHome::take_over(std::uint32_t shard, std::uint64_t owner) {
  if (!words(shard).lock.compare_exchange_strong(owner, seat_->word())) {
    return false;  // another process does it
  }
  repair(file_.get(), shard);
  return true;
}

Status SharedHome::busy() const {
  if (seat_->word() == 0) {
    return Status(Error{Code::kStoreUnavailable,
                        {file_->path() + ": this process has no seat in it"},
                        "shm_seat"});
  }
  const std::uint32_t process = seat_->process_of(stalled_);
  return Status(Error{Code::kStoreUnavailable,
                      {file_->path() + ": " +
                       (process != 0 ? "process " + std::to_string(process)
                                     : std::string("a process")) +
                       " holds a lock in it, and does not run"},
                      "shm_busy"});
}

Status SharedHome::full() const {
  return Status(Error{
      Code::kStoreUnavailable,
      {file_->path() + ": there is no memory for a bucket; is its disk full?"},
      "shm_full"});
}

}  // namespace limitree::shared
