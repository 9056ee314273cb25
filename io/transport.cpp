#include "io/transport.hpp"

#include <sys/socket.h>

#include <cerrno>

#include "io/failure.hpp"
#include "io/socket.hpp"

namespace limitree {

IoResult PlainTransport::result_of(ssize_t size) {
  if (size > 0) return {Io::kDone, static_cast<std::size_t>(size)};
  if (size < 0 && errno == EAGAIN) return {Io::kAgain};
  error_ = size < 0 ? errno : 0;
  return {Io::kClosed};
}

IoResult PlainTransport::read(std::span<char> buffer) {
  return result_of(receive_some(fd_.get(), buffer.data(), buffer.size()));
}

IoResult PlainTransport::write(std::string_view bytes) {
  return result_of(send_some(fd_.get(), bytes));
}

std::string PlainTransport::trouble() const {
  return error_ == 0 ? std::string() : error_text(error_);
}

void PlainTransport::shut_down() { shutdown(fd_.get(), SHUT_WR); }

}  // namespace limitree
