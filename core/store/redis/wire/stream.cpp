#include "store/redis/wire/stream.hpp"

#include <cerrno>
#include <string_view>
#include <utility>

#include "io/failure.hpp"
#include "io/socket.hpp"

namespace limitree::redis {

namespace {

// Plain text that is encrypted at once.
constexpr std::size_t kEncryptSize = std::size_t{64} << 10U;

}  // namespace

Stream::Stream(Fd socket, const TlsClientContext* tls, const std::string& host)
    : socket_(std::move(socket)) {
  if (tls == nullptr) return;
  tls_.emplace(*tls, host);
  tls_->handshake();
  check_tls();
}

bool Stream::send(Outbox* box) {
  while (!failed()) {
    if (!wire_.empty() && !send_from(&wire_)) return false;
    if (box->empty()) return true;
    if (!tls_) return send_from(box);
    const std::string_view text = box->view().substr(0, kEncryptSize);
    tls_->write(text);
    box->remove_front(text.size());
    check_tls();
  }
  return false;
}

bool Stream::send_from(Outbox* box) {
  const ssize_t sent = send_some(fd(), box->view());
  if (sent >= 0) {
    box->remove_front(static_cast<std::size_t>(sent));
    return box->empty();
  }
  if (errno != EAGAIN) fail(Failure::kLost, error_text(errno));
  return false;
}

std::size_t Stream::receive(char* bytes, std::size_t size) {
  if (!tls_) return receive_from_socket(bytes, size);
  if (established()) {
    const std::size_t left = tls_->read(bytes, size);
    if (left > 0) return left;
  }
  const std::size_t received = receive_from_socket(bytes, size);
  if (received == 0) return 0;
  tls_->feed(std::string_view(bytes, received));
  tls_->handshake();
  // They have been fed to TLS, so their place is free for the plain text.
  const std::size_t read = established() ? tls_->read(bytes, size) : 0;
  check_tls();
  return read;
}

std::size_t Stream::receive_from_socket(char* bytes, std::size_t size) {
  const ssize_t received = receive_some(fd(), bytes, size);
  if (received > 0) return static_cast<std::size_t>(received);
  const char* const where = established() ? "" : " in the TLS handshake";
  if (received == 0) {
    fail(Failure::kLost, std::string("closed by the server") + where);
  } else if (errno != EAGAIN) {
    fail(Failure::kLost, error_text(errno) + where);
  }
  return 0;
}

// Takes what TLS has to send, and sees whether it can go on.
void Stream::check_tls() {
  tls_->take(wire_.tail());
  if (tls_->ended()) fail(Failure::kLost, "closed by the server");
  if (!tls_->failed()) return;
  // The server is told why, if that can be done at once.
  if (!wire_.empty()) (void)send_some(fd(), wire_.view());
  std::string text = "TLS: " + tls_->detail();
  if (tls_->detail() == "wrong version number") {
    text += " (does the server speak TLS?)";
  }
  fail(Failure::kTls, std::move(text));
}

void Stream::fail(Failure failure, std::string detail) {
  failure_ = failure;
  detail_ = std::move(detail);
}

}  // namespace limitree::redis
