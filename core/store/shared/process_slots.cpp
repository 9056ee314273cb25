#include "store/shared/process_slots.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

namespace limitree::shared {

namespace {

// Word: generation << 32 | process slot + 1.
std::uint64_t word_of(std::uint32_t slot, std::uint32_t generation) {
  return std::uint64_t{generation} << 32 | (slot + 1);
}

std::uint32_t slot_of(std::uint64_t word) {
  return static_cast<std::uint32_t>(word) - 1;
}

// Not just one more: after a crash of the machine, a file on a disk may have
// process slots that are older than its locks.
std::uint32_t next(std::uint32_t generation) {
  const auto now = std::chrono::steady_clock::now().time_since_epoch().count();
  return generation + 1 + (static_cast<std::uint32_t>(now) >> 1);
}

}  // namespace

OwnProcessSlot::OwnProcessSlot(ProcessSlot* slots, std::uint64_t offset,
                               int file, std::string path)
    : slots_(slots),
      offset_(offset),
      file_(file),
      id_(FileId::of(file)),
      path_(std::move(path)) {
  watch_forks();
}

OwnProcessSlot::~OwnProcessSlot() {
  unwatch_forks();
  if (own_file_ < 0) return;
  // A child that was forked just now may have the file open for long.
  slots_[slot_of(word_)].process = 0;
  set_lock(own_file_, F_UNLCK, place_of(slot_of(word_)), sizeof(ProcessSlot));
  close(own_file_);
}

void OwnProcessSlot::before_fork() { taking_.lock(); }
void OwnProcessSlot::after_fork() { taking_.unlock(); }
void OwnProcessSlot::after_fork_in_child() {
  if (word_ != 0) take_another();
  taking_.unlock();
}

bool OwnProcessSlot::take() {
  const std::lock_guard lock(taking_);
  return take_any();
}

// The kernel looks through all locks of the file for each lock that it is asked
// for.  So slots without a process come first, and then the others, from any
// place: slots of processes that were killed are among them.
bool OwnProcessSlot::take_any() {
  const int file = open_again(file_, path_);
  failed_ = file < 0 ? errno : take_one(file, true);
  if (failed_ == kNone) failed_ = take_one(file, false);
  if (failed_ == 0) {
    own_file_ = file;
  } else if (file >= 0) {
    close(file);
  }
  return failed_ == 0;
}

// Takes a process slot that its process has `left`, or one that looks taken.
int OwnProcessSlot::take_one(int file, bool left) {
  const std::uint32_t first = next(0);
  for (std::uint32_t i = 0; i < kProcessSlots; ++i) {
    const std::uint32_t slot = (first + i) % kProcessSlots;
    if ((slots_[slot].process == 0) != left) continue;
    const int failed =
        set_lock(file, F_WRLCK, place_of(slot), sizeof(ProcessSlot));
    if (is_of_another(failed)) continue;
    if (failed != 0) return failed;
    const std::uint32_t generation = next(slots_[slot].generation);
    slots_[slot].generation = generation;
    slots_[slot].process = static_cast<std::uint32_t>(getpid());
    word_ = word_of(slot, generation);
    return 0;
  }
  return kNone;
}

void OwnProcessSlot::take_another() {
  const int of_parent = own_file_.exchange(-1);
  word_ = 0;
  take_any();
  if (of_parent >= 0) close(of_parent);
}

bool OwnProcessSlot::is_taken(std::uint32_t slot) const {
  return is_locked(own_file_, place_of(slot), sizeof(ProcessSlot));
}

bool OwnProcessSlot::lives(std::uint64_t word) const {
  if (word == this->word()) return true;  // another thread
  const std::uint32_t slot = slot_of(word);
  const bool is_its = slot < kProcessSlots &&
                      word == word_of(slot, slots_[slot].generation.load());
  if (!is_its) return false;
  // Somebody may have closed our descriptor: then nothing is known.
  return is_taken(slot) || !FileId::of(own_file_).is_same_as(id_);
}

std::uint32_t OwnProcessSlot::process_of(std::uint64_t word) const {
  const std::uint32_t slot = slot_of(word);
  return slot < kProcessSlots ? slots_[slot].process.load() : 0;
}

int OwnProcessSlot::count() const {
  int count = word() != 0 ? 1 : 0;
  for (std::uint32_t i = 0; i < kProcessSlots; ++i)
    count += is_taken(i) ? 1 : 0;
  return count;
}

}  // namespace limitree::shared
