// Which processes have the file open, and whether the owner of a lock lives.
//
// Each process has a seat, and holds a record lock on the seat's bytes of the
// file (fcntl, F_OFD_SETLK), which the kernel drops when the process ends.  So
// nothing is asked about process numbers: they are used again, mean nothing in
// another container, and nothing after a restart of the machine.
//
// A seat is used again too.  Its generation tells the present process from
// those before: the word of a lock has both.

#ifndef LIMITREE_STORE_SHARED_SEATS_HPP
#define LIMITREE_STORE_SHARED_SEATS_HPP

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

#include "base/status.hpp"
#include "store/fork_guard.hpp"
#include "store/shared/file_id.hpp"
#include "store/shared/layout.hpp"

namespace limitree::shared {

// Whether this system has such locks: Linux has them since 3.15.
bool has_record_locks();

// Opens what is open as `file` once more, with record locks of its own; -1 and
// errno if that fails.  `path` is where it was.
int open_again(int file, const std::string& path);

// Takes the lock of those who open or replace a file, on `file`, and waits for
// it for at most so long.  To close `file` would not release it, if a child of
// a fork() has it open too.
inline constexpr std::chrono::seconds kOpeningWait{5};
Status lock_opening(int file, const std::string& path);
void unlock_opening(int file);

// The same for a process that wants a seat.  Sets *alone to whether nobody else
// has one.  Otherwise it shares the lock, so that many can come at once.
// `seats` is where they are in the file.
Status lock_to_enter(int file, std::uint64_t seats, const std::string& path,
                     bool* alone);

class OwnSeat final : private ForkGuard {
 public:
  // `seats` is the first of all seats, mapped from `file`.
  OwnSeat(Seat* seats, std::uint64_t offset, int file, std::string path);
  ~OwnSeat() override;
  OwnSeat(const OwnSeat&) = delete;
  OwnSeat& operator=(const OwnSeat&) = delete;

  // Takes a free seat.  Sets failed() unless it has one then.
  bool take();

  // 0, or why take() has failed: the error of the system, or kNone.
  static constexpr int kNone = -1;  // none is free
  int failed() const { return failed_; }

  // What the locks of this process contain; 0 while it has no seat.
  std::uint64_t word() const { return word_.load(std::memory_order_relaxed); }

  // Whether the process that has put `word` into a lock lives.
  bool lives(std::uint64_t word) const;

  // The number of the process whose `word` it is, in its own container; 0 if
  // that is not known.
  std::uint32_t process_of(std::uint64_t word) const;

  // Counts the processes that have seats, this one included.
  int count() const;

 private:
  // No fork() comes while a seat is taken: the child would have its lock.  A
  // child takes a seat of its own, and leaves that of the parent to the parent.
  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child() override;
  void take_another();

  std::uint64_t place_of(std::uint32_t seat) const {
    return offset_ + seat * sizeof(Seat);
  }
  bool is_taken(std::uint32_t seat) const;
  // REQUIRES: taking_ is held.
  bool take_any();
  int take_one(int file, bool left);

  Seat* const seats_;
  const std::uint64_t offset_;
  const int file_;  // belongs to the mapping
  const FileId id_;
  const std::string path_;
  std::mutex taking_;
  std::atomic<int> own_file_{-1};
  std::atomic<int> failed_{0};
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace limitree::shared

#endif  // LIMITREE_STORE_SHARED_SEATS_HPP
