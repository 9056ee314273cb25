#include "io/tls_stream.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

#include "io/failure.hpp"
#include "io/tls_errors.hpp"

namespace limitree::server {

TlsStream::TlsStream(std::shared_ptr<const void> context, ssl_st* ssl, Fd fd,
                     TlsProtocol protocol)
    : context_(std::move(context)),
      ssl_(ssl),
      fd_(std::move(fd)),
      protocol_(protocol) {
  if (SSL_set_fd(ssl_, fd_.get()) != 1 || SSL_set_app_data(ssl_, this) != 1) {
    SSL_free(ssl_);
    throw std::bad_alloc();
  }
}

TlsStream::~TlsStream() { SSL_free(ssl_); }

const TlsStream* TlsStream::of(const ssl_st* ssl) {
  return static_cast<const TlsStream*>(SSL_get_app_data(ssl));
}

// Whether the handshake is over.  One that must negotiate HTTP/2, but does not
// negotiate at all, is refused.
IoResult TlsStream::shake_hands() {
  if (checked_) return {Io::kDone};
  const int result = SSL_do_handshake(ssl_);
  if (result != 1) return failed(result);
  const unsigned char* protocol = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(ssl_, &protocol, &size);
  broken_ = needs_http2() && size == 0;
  checked_ = true;
  return {broken_ ? Io::kClosed : Io::kDone};
}

IoResult TlsStream::failed(int result) {
  const int system_error = errno;
  const int error = SSL_get_error(ssl_, result);
  if (error == SSL_ERROR_SYSCALL && system_error != 0) {
    trouble_ = error_text(system_error);
  }
  if (error == SSL_ERROR_SSL) {
    const long verified = SSL_get_verify_result(ssl_);
    trouble_ = "TLS: " + (verified == X509_V_OK
                              ? take_tls_error()
                              : X509_verify_cert_error_string(verified));
  }
  ERR_clear_error();
  if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
    needs_ = error == SSL_ERROR_WANT_READ ? EPOLLIN : EPOLLOUT;
    return {Io::kAgain};
  }
  broken_ = error != SSL_ERROR_ZERO_RETURN;
  return {Io::kClosed};
}

IoResult TlsStream::read(std::span<char> buffer) {
  if (broken_) return {Io::kClosed};
  needs_ = 0;
  ERR_clear_error();
  const IoResult shaken = shake_hands();
  if (shaken.outcome != Io::kDone) return shaken;
  std::size_t size = 0;
  const int result = SSL_read_ex(ssl_, buffer.data(), buffer.size(), &size);
  if (result != 1) return failed(result);
  return {Io::kDone, size};
}

IoResult TlsStream::write(std::string_view bytes) {
  if (broken_) return {Io::kClosed};
  needs_ = 0;
  ERR_clear_error();
  const IoResult shaken = shake_hands();
  if (shaken.outcome != Io::kDone) return shaken;
  std::size_t size = 0;
  const int result = SSL_write_ex(ssl_, bytes.data(), bytes.size(), &size);
  if (result != 1) return failed(result);
  return {Io::kDone, size};
}

bool TlsStream::has_buffered() const { return SSL_pending(ssl_) > 0; }

void TlsStream::shut_down() {
  if (!broken_ && SSL_is_init_finished(ssl_) != 0) SSL_shutdown(ssl_);
  ERR_clear_error();
  shutdown(fd_.get(), SHUT_WR);
}

}  // namespace limitree::server
