#include "io/lookup.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <new>
#include <system_error>
#include <thread>

#include "io/failure.hpp"
#include "io/signals_blocked.hpp"
#include "io/socket.hpp"

namespace limitree {

namespace {

// Questions under way, in the lower half.  A child of fork() inherits the
// number but not the threads; so the upper half is the id of the process.
std::atomic<std::uint64_t> running{0};

// Counts one more, unless there are too many.
bool enter() {
  constexpr std::uint64_t kCount = 0xffffffff;
  const std::uint64_t mine = static_cast<std::uint64_t>(getpid()) << 32U;
  std::uint64_t seen = running.load();
  while (true) {
    const std::uint64_t current = (seen & ~kCount) == mine ? seen : mine;
    if ((current & kCount) >= Lookup::kMaxThreads) return false;
    if (running.compare_exchange_weak(seen, current + 1)) return true;
  }
}

void leave() { running.fetch_sub(1); }

}  // namespace

std::string Lookup::start(const std::shared_ptr<Lookup>& lookup) {
  if (!make_pipe(&lookup->answered_, &lookup->answer_)) {
    return error_text(errno);
  }
  if (!enter()) return std::string(kNoRoom);
  try {
    const SignalsBlocked blocked;
    std::thread([lookup] {
      lookup->run();
      leave();
    }).detach();
  } catch (const std::system_error& error) {
    leave();
    return error_text(error.code().value());
  } catch (...) {  // no memory
    leave();
    throw;
  }
  return {};
}

void Lookup::run() {
  try {
    detail_ = ask();
  } catch (const std::bad_alloc&) {  // would end the process
    detail_.assign("no memory");     // fits into the object
  }
  done_.store(true, std::memory_order_release);
  // The pipe is new and empty: there is room for it.
  [[maybe_unused]] const ssize_t written = write(answer_.get(), "", 1);
}

void Lookup::abandon_after_fork() {
  answered_.reset();
  answer_.reset();
}

}  // namespace limitree
