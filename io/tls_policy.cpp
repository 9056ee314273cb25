#include "io/tls_policy.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <string_view>
#include <utility>

#include "io/failure.hpp"

namespace limitree {

namespace {

constexpr unsigned kNameRules =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

// Where systems keep the authorities they trust, all in one file.  A library
// that brings its own OpenSSL cannot rely on what that was built with.
constexpr const char* kBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",                 // Debian, Alpine
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",  // Fedora, RHEL
    "/etc/pki/tls/certs/ca-bundle.crt",                   // the same, older
    "/etc/ssl/ca-bundle.pem",                             // openSUSE
    "/etc/ssl/cert.pem",                                  // macOS, BSD
};

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

[[noreturn]] void fail(const char* what, const std::string& file) {
  throw Failure(std::string(what) + ' ' + file + ": " + TlsErrors::reason());
}

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

// Called for the password of a key; never asks on the terminal of the host.
int no_password(char* /*buffer*/, int /*size*/, int /*writing*/, void* locked) {
  *static_cast<bool*>(locked) = true;
  return -1;
}

bool is_for_uri(X509* certificate, std::string_view uri) {
  auto* const names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  bool found = false;
  const auto count = static_cast<int>(sk_GENERAL_NAME_num(names));
  for (int i = 0; i < count; ++i) {
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

}  // namespace

// ---- errors -----------------------------------------------------------------

TlsErrors::TlsErrors() { ERR_clear_error(); }
TlsErrors::~TlsErrors() { ERR_clear_error(); }

std::string TlsErrors::reason() {
  const auto error = static_cast<std::uint32_t>(ERR_peek_error());
  // OpenSSL keeps an error of the system as its errno.
  if (ERR_GET_LIB(error) == ERR_LIB_SYS) {
    return error_text(static_cast<int>(ERR_GET_REASON(error)));
  }
  const char* const text = ERR_reason_error_string(error);
  return text != nullptr ? as_words(text) : "unknown error";
}

std::string TlsErrors::reason(const ssl_st* session) {
  const long verdict = SSL_get_verify_mode(session) != SSL_VERIFY_NONE
                           ? SSL_get_verify_result(session)
                           : X509_V_OK;
  return verdict != X509_V_OK
             ? as_clause(X509_verify_cert_error_string(verdict))
             : reason();
}

// ---- contexts ---------------------------------------------------------------

void FreeTls::operator()(ssl_ctx_st* context) const { SSL_CTX_free(context); }
void FreeTls::operator()(ssl_st* session) const {
  const TlsErrors errors;
  SSL_free(session);
}

TlsContextHandle make_tls_context(const ssl_method_st* method) {
  TlsContextHandle context(SSL_CTX_new(method));
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(),
                      SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION);
  return context;
}

TlsHandle make_tls(ssl_ctx_st* context) {
  TlsHandle session(SSL_new(context));
  if (session == nullptr) throw std::bad_alloc();
  return session;
}

void load_certificate(ssl_ctx_st* context, const std::string& cert_file,
                      const std::string& key_file) {
  if (cert_file.empty() != key_file.empty()) {
    throw Failure("a certificate and its key need each other");
  }
  if (cert_file.empty()) return;
  if (SSL_CTX_use_certificate_chain_file(context, cert_file.c_str()) != 1) {
    fail("certificate", cert_file);
  }
  SSL_CTX_set_default_passwd_cb(context, no_password);
  bool locked = false;
  SSL_CTX_set_default_passwd_cb_userdata(context, &locked);
  const bool used = SSL_CTX_use_PrivateKey_file(context, key_file.c_str(),
                                                SSL_FILETYPE_PEM) == 1;
  SSL_CTX_set_default_passwd_cb_userdata(context, nullptr);
  if (locked) throw Failure("key " + key_file + ": it must not be encrypted");
  if (!used) fail("key", key_file);
}

void trust_authorities(ssl_ctx_st* context, const std::string& ca_file) {
  if (ca_file.empty()) {
    if (!trust_system(context)) fail("authorities", "of the system");
  } else if (SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) !=
             1) {
    fail("authorities", ca_file);
  }
}

// ---- names ------------------------------------------------------------------

bool expect_name(ssl_st* session, const std::string& host) {
  X509_VERIFY_PARAM* const param = SSL_get0_param(session);
  if (is_ip_address(host)) {  // a certificate has these in a field of their own
    return X509_VERIFY_PARAM_set1_ip_asc(param, host.c_str()) == 1;
  }
  X509_VERIFY_PARAM_set_hostflags(param, kNameRules);
  // Any certificate of the authority would match an empty name.
  return !host.empty() &&
         X509_VERIFY_PARAM_set1_host(param, host.data(), host.size()) == 1;
}

bool is_for(x509_st* certificate, const std::string& name) {
  return X509_check_host(certificate, name.data(), name.size(), kNameRules,
                         nullptr) == 1 ||
         X509_check_ip_asc(certificate, name.c_str(), 0) == 1 ||
         is_for_uri(certificate, name);
}

bool is_ip_address(const std::string& host) {
  in6_addr room;
  return inet_pton(AF_INET, host.c_str(), &room) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &room) == 1;
}

const char* openssl_version() { return OpenSSL_version(OPENSSL_VERSION); }

}  // namespace limitree
