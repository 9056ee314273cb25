#include "store/shared/bus_guard.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <functional>

namespace limitree::shared {

// Taken and given back without a lock: a fork() may happen in between, and the
// handler reads it at any time.  `begin` is null unless all else is set.
struct BusGuard::Watched {
  std::atomic<bool> taken{false};
  std::atomic<std::byte*> begin{nullptr};
  std::atomic<std::size_t> size{0};
  std::atomic<int> file{-1};
  std::atomic<std::atomic<bool>*> lost{nullptr};
};

namespace {

constexpr std::size_t kMostMappings = 256;

std::array<BusGuard::Watched, kMostMappings> g_watched;
struct sigaction g_before;

// Another thread may be doing the same: then the instruction of this one is
// repeated until that is done.
bool put_zeros(const BusGuard::Watched& one, std::byte* begin) {
  return one.lost.load()->exchange(true) ||
         mmap(begin, one.size.load(), PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1,
              0) != MAP_FAILED;
}

bool is_cut_off(const BusGuard::Watched& one) {
  struct stat facts {};
  return fstat(one.file.load(), &facts) == 0 &&
         static_cast<std::uint64_t>(facts.st_size) < one.size.load();
}

bool has_address(const siginfo_t& info) {
#ifdef SI_KERNEL
  if (info.si_code == SI_KERNEL) return false;
#endif
  return info.si_code > 0;
}

// Returns whether the signal was about one of our mappings.  A handler of the
// host that was asked first may raise the signal again, without its address:
// then the sizes of the files show it.
bool survive(const siginfo_t& info) {
  const auto* const at = static_cast<const std::byte*>(info.si_addr);
  bool found = false;
  for (const BusGuard::Watched& one : g_watched) {
    std::byte* const begin = one.begin.load();
    if (begin == nullptr) continue;
    const bool is_in =
        !std::less<>()(at, begin) && std::less<>()(at, begin + one.size.load());
    if (has_address(info) ? is_in : is_cut_off(one)) {
      found |= put_zeros(one, begin);
    }
  }
  return found;
}

void on_bus_error(int signal, siginfo_t* info, void* context) {
  const int error = errno;
  const bool survived = survive(*info);
  errno = error;
  if (survived) return;
  if ((g_before.sa_flags & SA_SIGINFO) != 0) {
    g_before.sa_sigaction(signal, info, context);
  } else if (g_before.sa_handler == SIG_DFL ||
             (g_before.sa_handler == SIG_IGN && info->si_code > 0)) {
    // The instruction is repeated, and the process ends as it would without us.
    ::signal(signal, SIG_DFL);
    if (info->si_code <= 0) raise(signal);
  } else if (g_before.sa_handler != SIG_IGN) {
    g_before.sa_handler(signal);
  }
}

void install() {
  static const bool done = [] {
    struct sigaction ours {};
    ours.sa_sigaction = on_bus_error;
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&ours.sa_mask);
    return sigaction(SIGBUS, &ours, &g_before) == 0;
  }();
  static_cast<void>(done);
}

}  // namespace

BusGuard::BusGuard(void* begin, std::size_t size, int file) {
  install();
  for (Watched& one : g_watched) {
    if (one.taken.exchange(true)) continue;
    one.size = size;
    one.file = file;
    one.lost = &lost_;
    one.begin = static_cast<std::byte*>(begin);
    watched_ = &one;
    return;
  }
}

BusGuard::~BusGuard() {
  if (watched_ == nullptr) return;
  watched_->begin = nullptr;
  watched_->taken = false;
}

}  // namespace limitree::shared
