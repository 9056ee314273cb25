#include "store/redis/wire/read_end.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

namespace limitree::redis {

namespace {

using Clock = std::chrono::steady_clock;

// How much longer than it wanted a caller may wait, for the sake of speed.
constexpr Duration kSlack = std::chrono::milliseconds(2);

bool let_block(int fd, Duration timeout) {
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  if (us <= 0) return false;  // would be for ever
  timeval time{};
  time.tv_sec = static_cast<time_t>(us / 1'000'000);
  time.tv_usec = static_cast<suseconds_t>(us % 1'000'000);
  if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time) != 0) {
    return false;
  }
  const int flags = fcntl(fd, F_GETFL);
  return flags != -1 && fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0;
}

}  // namespace

bool wait_for(int fd, bool write, Monotonic deadline) {
  pollfd target{};
  target.fd = fd;
  target.events = write ? POLLIN | POLLOUT : POLLIN;
  const auto left =
      std::max<Duration>(deadline - Clock::now(), Duration::zero());
#if defined(__linux__)
  timespec time{};
  time.tv_sec = static_cast<time_t>(left.count() / 1'000'000'000);
  time.tv_nsec = static_cast<long>(left.count() % 1'000'000'000);
  return ppoll(&target, 1, &time, nullptr) > 0;
#else
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(left);
  return poll(&target, 1, static_cast<int>(ms.count())) > 0;
#endif
}

ReadEnd::ReadEnd(int socket, Duration beat)
    : fd_(fcntl(socket, F_DUPFD_CLOEXEC, 0)), beat_(beat) {
  if (fd_ != -1) blocks_ = let_block(fd_, beat);
}

// A look at the first byte that waits for it costs a third of what poll()
// costs.  To take the bytes at once would save one more call, but then nobody
// else could read on while this thread gets no processor.  The wait of recv()
// is always as long as beat_, so it is for those who have that much time.
bool ReadEnd::wait(Monotonic until) const {
  if (!blocks_ || until - Clock::now() < beat_ - kSlack) {
    return wait_for(fd_, false, until);
  }
  char first = 0;
  const ssize_t received = recv(fd_, &first, 1, MSG_PEEK);
  return received >= 0 || (errno != EAGAIN && errno != EINTR);
}

void ReadEnd::hang_up() const { shutdown(fd_, SHUT_RDWR); }

void ReadEnd::close() {
  if (fd_ != -1) ::close(fd_);
  fd_ = -1;
}

}  // namespace limitree::redis
