#include "io/tls_client_context.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <new>
#include <utility>

#include "io/failure.hpp"
#include "io/tls_errors.hpp"
#include "io/tls_stream.hpp"

namespace limitree::server {

namespace {

constexpr unsigned char kH2[] = {2, 'h', '2'};

[[noreturn]] void fail(const char* what, const std::string& file) {
  throw Failure(std::string(what) + ' ' + file + ": " + take_tls_error());
}

// A key with a password must not stop the service to ask for it.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/,
                void* /*data*/) {
  return -1;
}

void load_own(const TlsClientSettings& settings, SSL_CTX* context) {
  if (settings.cert_file.empty() != settings.key_file.empty()) {
    throw Failure("a certificate and its key need each other");
  }
  if (settings.cert_file.empty()) return;
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

void load_authorities(const std::string& file, SSL_CTX* context) {
  if (file.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  } else if (SSL_CTX_load_verify_locations(context, file.c_str(), nullptr) !=
             1) {
    fail("authorities", file);
  }
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
}

bool is_address(const std::string& name) {
  unsigned char bytes[16];
  return inet_pton(AF_INET, name.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes) == 1;
}

}  // namespace

TlsClientContext::TlsClientContext(ssl_ctx_st* context, std::string server_name)
    : context_(context), server_name_(std::move(server_name)) {}

TlsClientContext::~TlsClientContext() { SSL_CTX_free(context_); }

std::shared_ptr<const TlsClientContext> TlsClientContext::load(
    const TlsClientSettings& settings) {
  ERR_clear_error();
  SSL_CTX* const context = SSL_CTX_new(TLS_client_method());
  if (context == nullptr) throw std::bad_alloc();
  const std::shared_ptr<TlsClientContext> made(
      new TlsClientContext(context, settings.server_name));
  SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
  SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE |
                                SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_alpn_protos(context, kH2, sizeof kH2);
  load_own(settings, context);
  load_authorities(settings.ca_file, context);
  return made;
}

std::unique_ptr<Transport> TlsClientContext::connect(Fd fd) const {
  SSL* const ssl = SSL_new(context_);
  if (ssl == nullptr) throw std::bad_alloc();
  SSL_set_connect_state(ssl);
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(wanted, X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  bool named = false;
  if (is_address(server_name_)) {
    named = X509_VERIFY_PARAM_set1_ip_asc(wanted, server_name_.c_str()) == 1;
  } else {
    named = X509_VERIFY_PARAM_set1_host(wanted, server_name_.data(),
                                        server_name_.size()) == 1 &&
            SSL_set_tlsext_host_name(ssl, server_name_.c_str()) == 1;
  }
  // Without a name any server that an authority knows would do.
  if (!named || server_name_.empty()) {
    SSL_free(ssl);
    throw Failure("the name of the server is not valid for TLS");
  }
  return std::make_unique<TlsStream>(shared_from_this(), ssl, std::move(fd),
                                     TlsProtocol::kHttp2);
}

}  // namespace limitree::server
