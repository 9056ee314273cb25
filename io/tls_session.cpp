#include "io/tls_session.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <climits>
#include <new>

#include "io/failure.hpp"

namespace limitree {

namespace {

int int_size(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

// Empty means "more to come", not "the end".
BIO* make_buffer() {
  BIO* const made = BIO_new(BIO_s_mem());
  if (made == nullptr) throw std::bad_alloc();
  BIO_set_mem_eof_return(made, -1);
  return made;
}

}  // namespace

TlsSession::TlsSession(const TlsClientContext& context,
                       const std::string& host) {
  const TlsErrors errors;
  try {
    session_ = context.connect(host);
  } catch (const Failure& failure) {
    detail_ = failure.what();
    return;
  }
  from_server_ = make_buffer();
  SSL_set0_rbio(session_.get(), from_server_);
  to_server_ = make_buffer();
  SSL_set0_wbio(session_.get(), to_server_);
}

TlsSession::~TlsSession() {
  const TlsErrors errors;
  session_.reset();
}

void TlsSession::feed(std::string_view bytes) {
  while (from_server_ != nullptr && !bytes.empty()) {
    const int taken =
        BIO_write(from_server_, bytes.data(), int_size(bytes.size()));
    if (taken <= 0) throw std::bad_alloc();
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
}

void TlsSession::take(std::string* out) {
  if (to_server_ == nullptr) return;
  const std::size_t pending = BIO_ctrl_pending(to_server_);
  if (pending == 0) return;
  const std::size_t old_size = out->size();
  out->resize(old_size + pending);
  const int taken =
      BIO_read(to_server_, out->data() + old_size, int_size(pending));
  out->resize(old_size + static_cast<std::size_t>(std::max(taken, 0)));
}

void TlsSession::handshake() {
  if (failed() || established_) return;
  const TlsErrors errors;
  const int result = SSL_do_handshake(session_.get());
  established_ = result == 1;
  if (!established_) check(result);
}

void TlsSession::write(std::string_view text) {
  if (failed() || text.empty()) return;
  const TlsErrors errors;
  std::size_t written = 0;
  // A memory BIO takes everything at once.
  const int result =
      SSL_write_ex(session_.get(), text.data(), text.size(), &written);
  if (result != 1) check(result);
}

std::size_t TlsSession::read(char* text, std::size_t size) {
  if (failed() || ended_) return 0;
  const TlsErrors errors;
  std::size_t filled = 0;
  while (filled < size) {  // one record at a time
    std::size_t got = 0;
    const int result =
        SSL_read_ex(session_.get(), text + filled, size - filled, &got);
    if (result != 1) {
      check(result);
      break;
    }
    filled += got;
  }
  return filled;
}

void TlsSession::check(int result) {
  switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return;
    case SSL_ERROR_ZERO_RETURN:
      ended_ = true;
      return;
    default:
      detail_ = TlsErrors::reason(session_.get());
  }
}

}  // namespace limitree
