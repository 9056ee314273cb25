// TLS to a server, apart from any socket: bytes go in, bytes come out.
//
// hiredis can do this too, but up to 1.2 it does not check that a certificate
// is the server's.  Here names and addresses are checked unless told not to.
//
// Errors of OpenSSL never stay in the thread's error queue, where another user
// of it in this process would take them for its own.

#ifndef LIMITREE_STORE_REDIS_WIRE_TLS_HPP
#define LIMITREE_STORE_REDIS_WIRE_TLS_HPP

#include <memory>
#include <string>
#include <string_view>

#include "base/status.hpp"
#include "store/redis/common/settings.hpp"

struct bio_st;
struct ssl_ctx_st;
struct ssl_st;

namespace limitree::redis {

// What all TLS connections of a store share: whom to trust, and who we are.
// May be used from several threads at once.
class TlsContext {
 public:
  // kInvalidConfig naming the file that is wrong, and why.
  static Result<std::shared_ptr<const TlsContext>> make(
      const TlsSettings& settings);

  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

 private:
  friend class TlsSession;

  TlsContext(ssl_ctx_st* context, const TlsSettings& settings);

  ssl_ctx_st* const context_;
  const std::string server_name_;
  const bool verify_;
  const bool verify_name_;
};

// The client's end of one connection.
class TlsSession {
 public:
  // `host` is whom to expect, a name or an address, unless the settings of
  // `context`, which must outlive the session, say so.
  TlsSession(const TlsContext& context, const std::string& host);
  ~TlsSession();  // says no goodbye: after fork() the parent still talks
  TlsSession(const TlsSession&) = delete;
  TlsSession& operator=(const TlsSession&) = delete;

  // Takes bytes that came from the server.
  void feed(std::string_view bytes);

  // Appends bytes that are to be sent to the server.
  void take(std::string* out);

  // Goes on with the handshake as far as the bytes fed suffice.
  void handshake();
  bool established() const { return established_; }

  // Encrypts what is to be sent.  REQUIRES: established().
  void write(std::string_view text);

  // Decrypts as much as is there, up to `size` bytes; 0 if nothing is.
  // REQUIRES: established().
  std::size_t read(char* text, std::size_t size);

  // Whether the server has closed the session in good order.
  bool ended() const { return ended_; }

  bool failed() const { return !detail_.empty(); }
  const std::string& detail() const { return detail_; }  // for people

 private:
  void expect(const std::string& host);
  void heed(int result);  // of a call that may have failed

  ssl_st* const session_;
  bio_st* const from_server_;  // owned by session_
  bio_st* const to_server_;    // likewise
  const bool verify_;
  bool established_ = false;
  bool ended_ = false;
  std::string detail_;
};

// Of the library that is linked: "OpenSSL 3.0.17 1 Jul 2025".
const char* openssl_version();

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_TLS_HPP
