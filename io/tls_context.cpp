#include "io/tls_context.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <new>
#include <string_view>
#include <utility>

#include "io/failure.hpp"
#include "io/tls_errors.hpp"
#include "io/tls_stream.hpp"

namespace limitree::server {

namespace {

constexpr unsigned char kSession[] = "limitree";

[[noreturn]] void fail(const char* what, const std::string& file) {
  throw Failure(std::string(what) + ' ' + file + ": " + take_tls_error());
}

// A key with a password must not stop the service to ask for it.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/,
                void* /*data*/) {
  return -1;
}

void load_own(const TlsSettings& settings, SSL_CTX* context) {
  if (SSL_CTX_use_certificate_chain_file(context, settings.cert_file.c_str()) !=
      1) {
    fail("certificate", settings.cert_file);
  }
  SSL_CTX_set_default_passwd_cb(context, no_password);
  if (SSL_CTX_use_PrivateKey_file(context, settings.key_file.c_str(),
                                  SSL_FILETYPE_PEM) != 1) {
    fail("key", settings.key_file);
  }
}

bool is_uri_of(X509* certificate, std::string_view uri) {
  auto* const names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  bool found = false;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_URI) continue;
    const ASN1_IA5STRING* const text = name->d.uniformResourceIdentifier;
    found =
        found ||
        uri == std::string_view(
                   reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                   static_cast<std::size_t>(ASN1_STRING_length(text)));
  }
  GENERAL_NAMES_free(names);
  return found;
}

// Only the names in subjectAltName count, not the common name.
bool is_for(X509* certificate, const std::string& name) {
  return X509_check_host(certificate, name.data(), name.size(),
                         X509_CHECK_FLAG_NEVER_CHECK_SUBJECT, nullptr) == 1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1 ||
         is_uri_of(certificate, name);
}

int context_index() {
  static const int index =
      SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
  return index;
}

// After OpenSSL has verified one certificate of the chain; the last one is the
// client's own.
int check_client(int verified, X509_STORE_CTX* store) {
  if (verified != 1 || X509_STORE_CTX_get_error_depth(store) != 0) {
    return verified;
  }
  const auto* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  const auto* const context = static_cast<const TlsContext*>(
      SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index()));
  const std::vector<std::string>& names = context->client_names();
  X509* const certificate = X509_STORE_CTX_get_current_cert(store);
  const bool accepted =
      names.empty() ||
      std::any_of(names.begin(), names.end(), [&](const std::string& name) {
        return is_for(certificate, name);
      });
  if (accepted) return 1;
  X509_STORE_CTX_set_error(store, X509_V_ERR_HOSTNAME_MISMATCH);
  return 0;
}

void load_clients(const TlsSettings& settings, SSL_CTX* context) {
  const char* const file = settings.client_ca_file.c_str();
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(file);
  if (names == nullptr) fail("client authorities", settings.client_ca_file);
  SSL_CTX_set_client_CA_list(context, names);
  if (SSL_CTX_load_verify_locations(context, file, nullptr) != 1) {
    fail("client authorities", settings.client_ca_file);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT,
                     check_client);
}

// A client that offers only something else is refused.
int choose_protocol(SSL* ssl, const unsigned char** chosen,
                    unsigned char* chosen_size, const unsigned char* offered,
                    unsigned int offered_size, void* /*data*/) {
  static constexpr unsigned char kHttp[] = "\x02h2\x08http/1.1";
  static constexpr unsigned int kHttp2Size = 3;
  const bool only_http2 = TlsStream::of(ssl)->needs_http2();
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_size, kHttp,
                            only_http2 ? kHttp2Size : sizeof kHttp - 1, offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

void check_settings(const TlsSettings& settings) {
  if (settings.cert_file.empty() != settings.key_file.empty()) {
    throw Failure("a certificate and its key need each other");
  }
  if (settings.cert_file.empty()) {
    throw Failure("client authorities need a certificate of the server");
  }
  if (settings.client_ca_file.empty() && !settings.client_names.empty()) {
    throw Failure("names of clients need client authorities");
  }
}

}  // namespace

TlsContext::TlsContext(ssl_ctx_st* context, std::vector<std::string> names)
    : context_(context), names_(std::move(names)) {}

TlsContext::~TlsContext() { SSL_CTX_free(context_); }

std::shared_ptr<const TlsContext> TlsContext::load(
    const TlsSettings& settings) {
  check_settings(settings);
  ERR_clear_error();
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (context == nullptr) throw std::bad_alloc();
  const std::shared_ptr<TlsContext> made(
      new TlsContext(context, settings.client_names));
  SSL_CTX_set_ex_data(context, context_index(), made.get());
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                   SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                                SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_id_context(context, kSession, sizeof kSession - 1);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  load_own(settings, context);
  if (!settings.client_ca_file.empty()) load_clients(settings, context);
  return made;
}

std::unique_ptr<Transport> TlsContext::accept(Fd fd,
                                              TlsProtocol protocol) const {
  SSL* const ssl = SSL_new(context_);
  if (ssl == nullptr) throw std::bad_alloc();
  SSL_set_accept_state(ssl);
  return std::make_unique<TlsStream>(shared_from_this(), ssl, std::move(fd),
                                     protocol);
}

}  // namespace limitree::server
