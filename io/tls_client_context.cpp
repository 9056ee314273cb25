#include "io/tls_client_context.hpp"

#include <openssl/ssl.h>

#include <utility>

#include "io/failure.hpp"

namespace limitree {

TlsClientContext::TlsClientContext(TlsContextHandle context,
                                   const Settings& settings)
    : context_(std::move(context)),
      server_name_(settings.server_name),
      verify_name_(settings.verify && settings.verify_name) {}

std::shared_ptr<const TlsClientContext> TlsClientContext::load(
    const Settings& settings) {
  const TlsErrors errors;
  TlsContextHandle context = make_tls_context(TLS_client_method());
  // A session kept for another connection would be state shared by threads, for
  // connections that live for hours.
  SSL_CTX_set_session_cache_mode(context.get(), SSL_SESS_CACHE_OFF);
  // A record then takes one system call, not one more for its length.
  SSL_CTX_set_read_ahead(context.get(), 1);
  SSL_CTX_set_verify(context.get(),
                     settings.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE,
                     nullptr);
  if (settings.verify || !settings.ca_file.empty()) {
    trust_authorities(context.get(), settings.ca_file);
  }
  load_certificate(context.get(), settings.cert_file, settings.key_file);
  return std::shared_ptr<const TlsClientContext>(
      new TlsClientContext(std::move(context), settings));
}

TlsHandle TlsClientContext::connect(const std::string& host) const {
  const TlsErrors errors;
  TlsHandle session = make_tls(context_.get());
  SSL_set_connect_state(session.get());
  std::string name = server_name_.empty() ? host : server_name_;
  // "example.com." is for name servers: certificates, and the handshake (RFC
  // 6066), have it without the dot.
  if (name.ends_with('.')) name.pop_back();
  if (!is_ip_address(name) && !name.empty()) {
    SSL_set_tlsext_host_name(session.get(), name.c_str());
  }
  if (verify_name_ && !expect_name(session.get(), name)) {
    throw Failure("no name that a certificate could have");
  }
  return session;
}

}  // namespace limitree
