#include "store/redis/wire/tls.hpp"

#include <arpa/inet.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

#include "store/redis/wire/socket.hpp"

namespace limitree::redis {

namespace {

// The name of an error as words: AWS-LC says "CERTIFICATE_VERIFY_FAILED",
// OpenSSL "certificate verify failed".
std::string as_words(const char* reason) {
  std::string words = reason;
#ifdef OPENSSL_IS_AWSLC
  for (char& c : words) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = ' ';
  }
#endif
  return as_clause(std::move(words));
}

// Empties the error queue: before a call, whose errors alone are to be seen,
// and after it.
class ErrorQueue {
 public:
  ErrorQueue() { ERR_clear_error(); }
  ~ErrorQueue() { ERR_clear_error(); }
  ErrorQueue(const ErrorQueue&) = delete;
  ErrorQueue& operator=(const ErrorQueue&) = delete;

  // The first error: what follows it only says what could not be done then.
  static std::string reason() {
    const auto error = static_cast<std::uint32_t>(ERR_peek_error());
    // What the system said is kept by its number.
    if (ERR_GET_LIB(error) == ERR_LIB_SYS) {
      return error_text(static_cast<int>(ERR_GET_REASON(error)));
    }
    const char* const text = ERR_reason_error_string(error);
    return text != nullptr ? as_words(text) : "unknown error";
  }
};

template <typename T>
T* not_null(T* made) {
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

// Where systems keep the authorities they trust, all in one file.  A library
// that brings its own OpenSSL cannot rely on what that was built with.
constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",                   // the same, older
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // macOS, BSD
};

bool trust_system(SSL_CTX* context) {
  const bool chosen = std::getenv("SSL_CERT_FILE") != nullptr ||
                      std::getenv("SSL_CERT_DIR") != nullptr;
  for (const char* const bundle : kBundles) {
    if (chosen || access(bundle, R_OK) != 0) continue;
    if (SSL_CTX_load_verify_locations(context, bundle, nullptr) == 1) {
      return true;
    }
  }
  return SSL_CTX_set_default_verify_paths(context) == 1;
}

Status file_error(const char* what, const std::string& file) {
  return {Code::kInvalidConfig,
          std::string(what) + " " + file + ": " + ErrorQueue::reason()};
}

// Asked for the password of a key: never on the terminal of the host.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* locked) {
  *static_cast<bool*>(locked) = true;
  return -1;
}

Status load_files(const TlsSettings& settings, SSL_CTX* context) {
  if (settings.verify && settings.ca_file.empty()) {
    if (!trust_system(context)) {
      return {Code::kInvalidConfig,
              "the system's certificate authorities: " + ErrorQueue::reason()};
    }
  } else if (!settings.ca_file.empty() &&
             SSL_CTX_load_verify_locations(context, settings.ca_file.c_str(),
                                           nullptr) != 1) {
    return file_error("tls_ca_file", settings.ca_file);
  }
  if (settings.cert_file.empty() != settings.key_file.empty()) {
    return {Code::kInvalidConfig,
            "tls_cert_file and tls_key_file need each other"};
  }
  if (settings.cert_file.empty()) return {};
  if (SSL_CTX_use_certificate_chain_file(context, settings.cert_file.c_str()) !=
      1) {
    return file_error("tls_cert_file", settings.cert_file);
  }
  SSL_CTX_set_default_passwd_cb(context, no_password);
  bool locked = false;
  SSL_CTX_set_default_passwd_cb_userdata(context, &locked);
  const bool used =
      SSL_CTX_use_PrivateKey_file(context, settings.key_file.c_str(),
                                  SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (locked) {
    return {Code::kInvalidConfig,
            "tls_key_file " + settings.key_file + ": it must not be encrypted"};
  }
  if (!used) {
    return file_error("tls_key_file", settings.key_file);
  }
  return {};
}

bool is_address(const std::string& host) {
  in6_addr room;
  return inet_pton(AF_INET, host.c_str(), &room) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

int int_size(std::size_t size) {
  return static_cast<int>(std::min<std::size_t>(size, INT_MAX));
}

}  // namespace

TlsContext::TlsContext(ssl_ctx_st* context, const TlsSettings& settings)
    : context_(context),
      server_name_(settings.server_name),
      verify_(settings.verify),
      verify_name_(settings.verify && settings.verify_name) {}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

Result<std::shared_ptr<const TlsContext>> TlsContext::make(
    const TlsSettings& settings) {
  const ErrorQueue errors;
  const std::shared_ptr<const TlsContext> made(
      new TlsContext(not_null(SSL_CTX_new(TLS_client_method())), settings));
  SSL_CTX* const context = made->context_;
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  // Each connection makes its handshake: a session kept for another would be
  // state shared by threads, for connections that live for hours.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_verify(
      context, settings.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  Status status = load_files(settings, context);
  if (!status.ok()) return status;
  return made;
}

TlsSession::TlsSession(const TlsContext& context, const std::string& host)
    : session_(not_null(SSL_new(context.context_))),
      from_server_(not_null(BIO_new(BIO_s_mem()))),
      to_server_(not_null(BIO_new(BIO_s_mem()))),
      verify_(context.verify_) {
  const ErrorQueue errors;
  // Empty means "more to come", not "the end".
  BIO_set_mem_eof_return(from_server_, -1);
  BIO_set_mem_eof_return(to_server_, -1);
  SSL_set_bio(session_, from_server_, to_server_);
  SSL_set_connect_state(session_);
  const std::string& name =
      context.server_name_.empty() ? host : context.server_name_;
  if (!is_address(name) && !name.empty()) {
    SSL_set_tlsext_host_name(session_, name.c_str());
  }
  if (context.verify_name_) expect(name);
}

TlsSession::~TlsSession() {
  const ErrorQueue errors;
  SSL_free(session_);
}

void TlsSession::expect(const std::string& host) {
  X509_VERIFY_PARAM* const param = SSL_get0_param(session_);
  bool set = false;
  if (is_address(host)) {  // a certificate has these in a field of their own
    set = X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) == 1;
  } else {
    X509_VERIFY_PARAM_set_hostflags(param,
                                    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS |
                                        X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    set = !host.empty() &&
          X509_VERIFY_PARAM_set1_host(param, host.data(), host.size()) == 1;
  }
  // Without one, any certificate of the authority would do.
  if (!set) detail_ = "no name that a certificate could have";
}

void TlsSession::feed(std::string_view bytes) {
  while (!bytes.empty()) {
    const int taken =
        BIO_write(from_server_, bytes.data(), int_size(bytes.size()));
    if (taken <= 0) throw std::bad_alloc();
    bytes.remove_prefix(static_cast<std::size_t>(taken));
  }
}

void TlsSession::take(std::string* out) {
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
  const ErrorQueue errors;
  const int result = SSL_do_handshake(session_);
  established_ = result == 1;
  if (!established_) heed(result);
}

void TlsSession::write(std::string_view text) {
  if (failed() || text.empty()) return;
  const ErrorQueue errors;
  std::size_t written = 0;
  // A memory BIO takes everything at once.
  const int result = SSL_write_ex(session_, text.data(), text.size(), &written);
  if (result != 1) heed(result);
}

std::size_t TlsSession::read(char* text, std::size_t size) {
  if (failed() || ended_) return 0;
  const ErrorQueue errors;
  std::size_t filled = 0;
  while (filled < size) {  // one record at a time
    std::size_t got = 0;
    const int result =
        SSL_read_ex(session_, text + filled, size - filled, &got);
    if (result != 1) {
      heed(result);
      break;
    }
    filled += got;
  }
  return filled;
}

void TlsSession::heed(int result) {
  switch (SSL_get_error(session_, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE:
      return;
    case SSL_ERROR_ZERO_RETURN:
      ended_ = true;
      return;
    default:
      break;
  }
  const long verdict = verify_ ? SSL_get_verify_result(session_) : X509_V_OK;
  detail_ = verdict != X509_V_OK
                ? as_clause(X509_verify_cert_error_string(verdict))
                : ErrorQueue::reason();
}

const char* openssl_version() { return OpenSSL_version(OPENSSL_VERSION); }

}  // namespace limitree::redis
