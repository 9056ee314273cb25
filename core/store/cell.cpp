#include "store/cell.hpp"

#include <new>

namespace limitree {

static_assert(alignof(LogEntry) <= alignof(HeapLog));

HeapLog* HeapLog::make(std::uint32_t room, std::int64_t* total) {
  void* const place =
      ::operator new(static_cast<std::size_t>(bytes_for(room)), std::nothrow);
  if (place == nullptr) return nullptr;
  *total += bytes_for(room);
  return new (place) HeapLog(room, total);
}

void HeapLog::free(HeapLog* log) {
  *log->total_ -= log->bytes();
  ::operator delete(log);
}

HeapLog* HeapLog::regrown() const {
  HeapLog* const next = make(size_ + size_ / 2 + 2, total_);
  if (next == nullptr) return nullptr;
  std::copy_n(entries(), size_, next->entries());
  next->size_ = size_;
  next->sum_ = sum_;
  return next;
}

}  // namespace limitree
