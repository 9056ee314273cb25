// TLS to a server, apart from any socket: bytes go in, bytes come out.
//
// hiredis can do this too, but up to 1.2 it does not check that a certificate
// is the server's.  Here names and addresses are checked unless told not to.

#ifndef LIMITREE_IO_TLS_SESSION_HPP
#define LIMITREE_IO_TLS_SESSION_HPP

#include <string>
#include <string_view>

#include "io/tls_client_context.hpp"

struct bio_st;

namespace limitree {

// The client's end of one connection.
class TlsSession {
 public:
  // `host` is the expected name or address, unless `context` has another one.
  TlsSession(const TlsClientContext& context, const std::string& host);
  ~TlsSession();  // sends nothing: the parent of a fork() still talks
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

  // Whether the server has closed the session properly.
  bool ended() const { return ended_; }

  bool failed() const { return !detail_.empty(); }
  const std::string& detail() const { return detail_; }  // for people

 private:
  void check(int result);  // of a call that may have failed

  TlsHandle session_;              // null if there is no name to expect
  bio_st* from_server_ = nullptr;  // owned by session_
  bio_st* to_server_ = nullptr;    // owned by session_, too
  bool established_ = false;
  bool ended_ = false;
  std::string detail_;
};

}  // namespace limitree

#endif  // LIMITREE_IO_TLS_SESSION_HPP
