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

// Opens what is open as `file` once more, with record locks of its own; -1 if
// that fails.  `path` is where it was.
int open_again(int file, const std::string& path);

// Takes the lock of those who open or replace a file, on `file`, and waits for
// it for at most a second.  To close `file` would not release it, if a child of
// a fork() has it open too.
Status lock_opening(int file, const std::string& path);
void unlock_opening(int file);

class OwnSeat final : private ForkGuard {
 public:
  // `seats` is the first of all seats, mapped from `file`.
  OwnSeat(Seat* seats, std::uint64_t offset, int file, std::string path);
  ~OwnSeat() override;
  OwnSeat(const OwnSeat&) = delete;
  OwnSeat& operator=(const OwnSeat&) = delete;

  // Takes a free seat.  Returns false if there is none, or the file cannot be
  // opened again.
  bool take();

  // What the locks of this process contain; 0 while it has no seat.
  std::uint64_t word() const { return word_.load(std::memory_order_relaxed); }

  // Whether the process that has put `word` into a lock lives.
  bool lives(std::uint64_t word) const;

  // The number of the process whose `word` it is, in its own container; 0 if
  // that is not known.
  std::uint32_t process_of(std::uint64_t word) const;

  // Whether another process has a seat.
  bool has_company() const;

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

  Seat* const seats_;
  const std::uint64_t offset_;
  const int file_;  // belongs to the mapping
  const FileId id_;
  const std::string path_;
  std::mutex taking_;
  std::atomic<int> own_file_{-1};
  std::atomic<std::uint64_t> word_{0};
};

}  // namespace limitree::shared

#endif  // LIMITREE_STORE_SHARED_SEATS_HPP
