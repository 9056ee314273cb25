#include "io/tls_stream.hpp"

#include <openssl/ssl.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

#include "io/failure.hpp"

namespace limitree {

TlsStream::TlsStream(std::shared_ptr<const void> context, TlsHandle session,
                     Fd fd, TlsProtocol protocol)
    : context_(std::move(context)),
      session_(std::move(session)),
      fd_(std::move(fd)),
      protocol_(protocol) {
  SSL_set_mode(session_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  if (SSL_set_fd(session_.get(), fd_.get()) != 1 ||
      SSL_set_app_data(session_.get(), this) != 1) {
    throw std::bad_alloc();
  }
}

const TlsStream* TlsStream::of(const ssl_st* ssl) {
  return static_cast<const TlsStream*>(SSL_get_app_data(ssl));
}

// Whether the handshake is over.  A client that must negotiate HTTP/2, but does
// not negotiate at all, is refused.
IoResult TlsStream::shake_hands() {
  if (checked_) return {Io::kDone};
  const int result = SSL_do_handshake(session_.get());
  if (result != 1) return failed(result);
  const unsigned char* protocol = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(session_.get(), &protocol, &size);
  broken_ = needs_http2() && size == 0;
  checked_ = true;
  return {broken_ ? Io::kClosed : Io::kDone};
}

IoResult TlsStream::failed(int result) {
  const int system_error = errno;
  const int error = SSL_get_error(session_.get(), result);
  if (error == SSL_ERROR_SYSCALL && system_error != 0) {
    trouble_ = error_text(system_error);
  }
  if (error == SSL_ERROR_SSL) {
    trouble_ = "TLS: " + TlsErrors::reason(session_.get());
  }
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    needs_ = error == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
    return {Io::kAgain};
  }
  broken_ = error != SSL_ERROR_ZERO_RETURN;
  return {Io::kClosed};
}

// Reads or writes, which `call` does, when the handshake is over.
template <typename Call>
IoResult TlsStream::transfer(Call call) {
  if (broken_) return {Io::kClosed};
  needs_ = 0;
  const TlsErrors errors;
  const IoResult shaken = shake_hands();
  if (shaken.outcome != Io::kDone) return shaken;
  std::size_t size = 0;
  const int result = call(&size);
  if (result != 1) return failed(result);
  return {Io::kDone, size};
}

IoResult TlsStream::read(std::span<char> buffer) {
  return transfer([&](std::size_t* size) {
    return SSL_read_ex(session_.get(), buffer.data(), buffer.size(), size);
  });
}

IoResult TlsStream::write(std::string_view bytes) {
  return transfer([&](std::size_t* size) {
    return SSL_write_ex(session_.get(), bytes.data(), bytes.size(), size);
  });
}

bool TlsStream::has_buffered() const { return SSL_pending(session_.get()) > 0; }

void TlsStream::shut_down() {
  const TlsErrors errors;
  if (!broken_ && SSL_is_init_finished(session_.get()) != 0)
    SSL_shutdown(session_.get());
  shutdown(fd_.get(), SHUT_WR);
}

std::unique_ptr<Transport> connect_http2(const TlsClientContext& context, Fd fd,
                                         const std::string& host) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  TlsHandle session = context.connect(host);
  SSL_set_alpn_protos(session.get(), kHttp2, sizeof kHttp2);
  return std::make_unique<TlsStream>(nullptr, std::move(session), std::move(fd),
                                     TlsProtocol::kHttp2);
}

}  // namespace limitree
