#include "io/transport.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "io/failure.hpp"

namespace limitree {

IoResult PlainTransport::result_of(ssize_t size) {
  if (size > 0) return {Io::kDone, static_cast<std::size_t>(size)};
  if (size < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) {
    return {Io::kAgain};
  }
  if (size < 0) error_ = errno;
  return {Io::kClosed};
}

IoResult PlainTransport::read(std::span<char> buffer) {
  return result_of(recv(fd_.get(), buffer.data(), buffer.size(), 0));
}

IoResult PlainTransport::write(std::string_view bytes) {
  return result_of(send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL));
}

std::string PlainTransport::trouble() const {
  return error_ == 0 ? std::string() : error_text(error_);
}

void PlainTransport::shut_down() { shutdown(fd_.get(), SHUT_WR); }

}  // namespace limitree
