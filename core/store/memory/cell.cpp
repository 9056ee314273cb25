#include "store/memory/cell.hpp"

#include <new>

namespace limitree {

static_assert(alignof(LogEntry) <= alignof(HeapLog));

HeapLog* HeapLog::make(std::uint32_t room, LogBytes* total) {
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

HeapLog* HeapLog::regrown(std::size_t first) const {
  const auto left = size_ - static_cast<std::uint32_t>(first);
  HeapLog* const next = make(left + left / 4 + 2, total_);
  if (next == nullptr) return nullptr;
  for (std::size_t i = first; i < size_; ++i) next->push_back(entries()[i]);
  return next;
}

}  // namespace limitree
