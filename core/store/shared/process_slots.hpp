// Which processes have the file open, and whether the owner of a lock lives.
//
// Each process has a process slot, and holds a record lock on the process
// slot's bytes of the file (fcntl, F_OFD_SETLK), which the kernel drops when
// the process ends.  So nothing is asked about process numbers: they are used
// again, mean nothing in another container, and nothing after a restart of the
// machine.
//
// A process slot is used again too.  Its generation tells the present process
// from those before: the word of a lock has both.

#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "store/fork_guard.hpp"
#include "store/shared/files.hpp"
#include "store/shared/layout.hpp"

namespace limitree::shared {

class OwnProcessSlot final : private ForkGuard {
 public:
  // `slots` is the first of all process slots, mapped from `file`.
  OwnProcessSlot(ProcessSlot* slots, std::uint64_t offset, int file,
                 std::string path);
  ~OwnProcessSlot() override;
  OwnProcessSlot(const OwnProcessSlot&) = delete;
  OwnProcessSlot& operator=(const OwnProcessSlot&) = delete;

  // Takes a free process slot.  Sets failed() unless it has one then.
  bool take();

  // 0, or why take() has failed: the error of the system, or kNone.
  static constexpr int kNone = -1;  // none is free
  int failed() const { return failed_; }

  // What the locks of this process contain; 0 while it has no process slot.
  std::uint64_t word() const { return word_.load(std::memory_order_relaxed); }

  // Whether the process that has put `word` into a lock lives.
  bool lives(std::uint64_t word) const;

  // The number of the process whose `word` it is, in its own container; 0 if
  // that is not known.
  std::uint32_t process_of(std::uint64_t word) const;

  // Counts the processes that have process slots, this one included.
  int count() const;

 private:
  // No fork() happens while a process slot is being taken: the child would have
  // its lock.  A child takes a process slot of its own, and leaves that of the
  // parent to the parent.
  void before_fork() override;
  void after_fork() override;
  void after_fork_in_child() override;
  void take_another();

  std::uint64_t place_of(std::uint32_t slot) const {
    return offset_ + slot * sizeof(ProcessSlot);
  }
  bool is_taken(std::uint32_t slot) const;
  // REQUIRES: taking_ is held.
  bool take_any();
  int take_one(int file, bool left);

  ProcessSlot* const slots_;
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
