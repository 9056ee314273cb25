#include "store/remote/wire/read_end.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <cerrno>

#include "io/socket.hpp"

namespace limitree::remote {

namespace {

// How much longer than it wanted a caller may wait, for the sake of speed.
constexpr Duration kSlack = std::chrono::milliseconds(2);

bool let_block(int fd, Duration timeout) {
  const auto us =
      std::chrono::duration_cast<std::chrono::microseconds>(timeout).count();
  if (us <= 0) return false;  // would wait forever
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

ReadEnd::ReadEnd(int socket) : fd_(fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
  // The system rounds the wait of recv() up, on a busy machine by two or three
  // of its ticks of 4 ms.
  if (fd_) blocks_ = let_block(fd_.get(), kBeat / 2);
}

// A look at the first byte that waits for it costs a third of what poll()
// costs.  Taking the bytes at once would save one more call, but then nobody
// else could read on while this thread gets no processor.  The wait of recv()
// always takes about kBeat, so it is for callers that have that much time.
bool ReadEnd::wait(Monotonic until) const {
  if (!blocks_ || until - steady_now() < kBeat - kSlack) {
    return wait_for(fd_.get(), false, until);
  }
  char first = 0;
  const ssize_t received = recv(fd_.get(), &first, 1, MSG_PEEK);
  return received >= 0 || (errno != EAGAIN && errno != EINTR);
}

void ReadEnd::hang_up() const { shutdown(fd_.get(), SHUT_RDWR); }

}  // namespace limitree::remote
