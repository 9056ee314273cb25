// The rules of every connection with TLS, whoever makes it: the Redis store,
// the client of an xDS server, or the service for its clients.
//
//   versions  TLS 1.2 and later, without compression and renegotiation
//   files     PEM; a key must not be encrypted, because nobody can be asked
//   trust     the authorities of a file, else those of the system: what
//             SSL_CERT_FILE and SSL_CERT_DIR name, or the system's bundle
//   names     only subjectAltName counts, never the common name; a wildcard
//             stands for a whole label
//   sessions  a client makes a whole handshake for each connection; a server
//             resumes sessions of its own context, so none of older files
//   rotation  connections made after a file has changed use the new one, and
//             the old one if the new one is not valid: see TlsFiles
//
// Errors of OpenSSL never stay in the thread's error queue, where another user
// of it in this process would take them for its own.

#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_st;
struct x509_st;

namespace limitree {

// Empties the error queue: before a call, so that only its errors are seen, and
// after it.
class TlsErrors {
 public:
  TlsErrors();
  ~TlsErrors();
  TlsErrors(const TlsErrors&) = delete;
  TlsErrors& operator=(const TlsErrors&) = delete;

  // The first error, "no start line": the later ones only follow from it.
  static std::string reason();
  // Why a call for `session` failed: what is wrong with the certificate of the
  // other side, or else reason().
  static std::string reason(const ssl_st* session);
};

struct FreeTls {
  void operator()(ssl_ctx_st* context) const;
  void operator()(ssl_st* session) const;
};
using TlsContextHandle = std::unique_ptr<ssl_ctx_st, FreeTls>;
using TlsHandle = std::unique_ptr<ssl_st, FreeTls>;

// By the rules for versions.
TlsContextHandle make_tls_context(const ssl_method_st* method);
TlsHandle make_tls(ssl_ctx_st* context);

// Loads a chain and its key, or nothing if both are empty.  Throws Failure,
// which names the file.
void load_certificate(ssl_ctx_st* context, const std::string& cert_file,
                      const std::string& key_file);

// Trusts the authorities of the file, or those of the system if it is empty.
// Throws Failure, which names the file.
void trust_authorities(ssl_ctx_st* context, const std::string& ca_file);

// Expects a certificate for `host`, a DNS name or an IP address.  False if no
// certificate can be valid for it.
bool expect_name(ssl_st* session, const std::string& host);

// Whether the certificate is for `name`, a DNS name, an IP address or a URI.
bool is_for(x509_st* certificate, const std::string& name);

bool is_ip_address(const std::string& host);

// Of the library that is linked: "OpenSSL 3.0.17 1 Jul 2025".
const char* openssl_version();

}  // namespace limitree
