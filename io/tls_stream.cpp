#include "io/tls_stream.hpp"

#include <openssl/ssl.h>
#include <sys/socket.h>

#include <cerrno>
#include <new>
#include <utility>

#include "io/failure.hpp"
#include "io/poller.hpp"
#include "io/socket.hpp"

namespace limitree {

namespace {

// OpenSSL's own way to a socket waits if the socket does, and raises SIGPIPE.
// A lost connection looks to OpenSSL like one that has to wait: otherwise it
// would not read what the other side said before it hung up.
int moved(BIO* bio, ssize_t size) {
  auto* const socket = static_cast<TlsSocket*>(BIO_get_data(bio));
  if (size > 0) return static_cast<int>(size);
  if (size < 0 && errno == EAGAIN) return -1;
  socket->closed = true;
  socket->error = size < 0 ? errno : 0;
  return -1;
}

int socket_of(BIO* bio) {
  return static_cast<const TlsSocket*>(BIO_get_data(bio))->fd.get();
}

int write_socket(BIO* bio, const char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  BIO_set_retry_write(bio);
  return moved(
      bio, send_some(socket_of(bio), {bytes, static_cast<std::size_t>(size)}));
}

int read_socket(BIO* bio, char* bytes, int size) {
  BIO_clear_retry_flags(bio);
  BIO_set_retry_read(bio);
  const int got = moved(
      bio, receive_some(socket_of(bio), bytes, static_cast<std::size_t>(size)));
  if (got > 0) static_cast<TlsSocket*>(BIO_get_data(bio))->has_news = true;
  return got;
}

long control_socket(BIO* /*bio*/, int what, long /*number*/, void* /*data*/) {
  return what == BIO_CTRL_FLUSH ? 1 : 0;  // nothing is kept back
}

BIO_METHOD* make_socket_method() {
  BIO_METHOD* const made =
      BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "limitree");
  if (made == nullptr) throw std::bad_alloc();
  BIO_meth_set_write(made, write_socket);
  BIO_meth_set_read(made, read_socket);
  BIO_meth_set_ctrl(made, control_socket);
  return made;
}

BIO* make_bio(TlsSocket* socket) {
  static BIO_METHOD* const method = make_socket_method();
  BIO* const made = BIO_new(method);
  if (made == nullptr) throw std::bad_alloc();
  BIO_set_data(made, socket);
  BIO_set_init(made, 1);
  return made;
}

}  // namespace

TlsStream::TlsStream(std::shared_ptr<const void> context, TlsHandle session,
                     Fd fd, TlsProtocol protocol)
    : context_(std::move(context)),
      session_(std::move(session)),
      socket_{std::move(fd)},
      protocol_(protocol) {
  SSL_set_mode(session_.get(), SSL_MODE_ENABLE_PARTIAL_WRITE |
                                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  BIO* const bio = make_bio(&socket_);
  SSL_set_bio(session_.get(), bio, bio);
  if (SSL_set_app_data(session_.get(), this) != 1) throw std::bad_alloc();
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
  const int error = SSL_get_error(session_.get(), result);
  const bool reads = error == SSL_ERROR_WANT_READ;
  const bool writes = error == SSL_ERROR_WANT_WRITE;
  if ((reads || writes) && !socket_.closed) {
    needs_ = reads ? Poller::kRead : Poller::kWrite;
    return {Io::kAgain};
  }
  if (error == SSL_ERROR_SSL) {
    trouble_ = std::string(kTlsTrouble) + TlsErrors::reason(session_.get());
  } else if (socket_.error != 0) {
    trouble_ = error_text(socket_.error);
  } else {
    trouble_.clear();
  }
  broken_ = !writes && error != SSL_ERROR_ZERO_RETURN;
  return {Io::kClosed};
}

// Reads or writes, which `call` does, when the handshake is over.
template <typename Call>
IoResult TlsStream::transfer(Call call) {
  if (broken_) return {Io::kClosed};
  needs_ = 0;
  socket_.closed = false;
  socket_.error = 0;
  const TlsErrors errors;
  const IoResult shaken = shake_hands();
  if (shaken.outcome != Io::kDone) return shaken;
  std::size_t size = 0;
  const int result = call(&size);
  if (result != 1) return failed(result);
  return {Io::kDone, size};
}

IoResult TlsStream::read(std::span<char> buffer) {
  const IoResult got = transfer([&](std::size_t* size) {
    return SSL_read_ex(session_.get(), buffer.data(), buffer.size(), size);
  });
  if (got.outcome == Io::kAgain) socket_.has_news = false;
  return got;
}

IoResult TlsStream::write(std::string_view bytes) {
  return transfer([&](std::size_t* size) {
    return SSL_write_ex(session_.get(), bytes.data(), bytes.size(), size);
  });
}

// A part of a record is no use until the rest has come: who reads as long as
// there is something would read forever.
bool TlsStream::has_buffered() const {
  return socket_.has_news && SSL_has_pending(session_.get()) != 0;
}

void TlsStream::shut_down() {
  const TlsErrors errors;
  if (!broken_ && SSL_is_init_finished(session_.get()) != 0)
    SSL_shutdown(session_.get());
  shutdown(fd(), SHUT_WR);
}

std::unique_ptr<Transport> connect_tls(const TlsClientContext& context, Fd fd,
                                       const std::string& host,
                                       TlsProtocol protocol) {
  static constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  TlsHandle session = context.connect(host);
  if (protocol == TlsProtocol::kHttp2) {
    SSL_set_alpn_protos(session.get(), kHttp2, sizeof kHttp2);
  }
  return std::make_unique<TlsStream>(nullptr, std::move(session), std::move(fd),
                                     protocol);
}

}  // namespace limitree
