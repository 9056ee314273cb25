#include "io/tls_context.hpp"

#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>

#include <algorithm>
#include <utility>

#include "io/failure.hpp"

namespace limitree {

namespace {

constexpr unsigned char kSession[] = "limitree";

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
  trust_authorities(context, settings.client_ca_file);
  SSL_CTX_set_client_CA_list(
      context, SSL_load_client_CA_file(settings.client_ca_file.c_str()));
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
  if (settings.cert_file.empty() && settings.key_file.empty()) {
    throw Failure("client authorities need a certificate of the server");
  }
  if (settings.client_ca_file.empty() && !settings.client_names.empty()) {
    throw Failure("names of clients need client authorities");
  }
}

}  // namespace

TlsContext::TlsContext(TlsContextHandle context, std::vector<std::string> names)
    : context_(std::move(context)), names_(std::move(names)) {}

std::shared_ptr<const TlsContext> TlsContext::load(
    const TlsSettings& settings) {
  check_settings(settings);
  const TlsErrors errors;
  const std::shared_ptr<TlsContext> made(new TlsContext(
      make_tls_context(TLS_server_method()), settings.client_names));
  SSL_CTX* const context = made->context_.get();
  SSL_CTX_set_ex_data(context, context_index(), made.get());
  SSL_CTX_set_options(context, SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_id_context(context, kSession, sizeof kSession - 1);
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  load_certificate(context, settings.cert_file, settings.key_file);
  if (!settings.client_ca_file.empty()) load_clients(settings, context);
  return made;
}

std::unique_ptr<Transport> TlsContext::accept(Fd fd,
                                              TlsProtocol protocol) const {
  TlsHandle session = make_tls(context_.get());
  SSL_set_accept_state(session.get());
  return std::make_unique<TlsStream>(shared_from_this(), std::move(session),
                                     std::move(fd), protocol);
}

}  // namespace limitree
