// One connection with TLS.

#pragma once

#include <memory>
#include <string>

#include "io/fd.hpp"
#include "io/tls_client_context.hpp"
#include "io/transport.hpp"

namespace limitree {

// What the clients of a port speak.
enum class TlsProtocol {
  kHttp2,  // they must negotiate it, as gRPC does
  kHttp,   // HTTP/2 or, if they do not negotiate it, HTTP/1.1
  kOther,  // nothing is negotiated
};

// What OpenSSL reads from and writes to.
struct TlsSocket {
  Fd fd;
  bool closed = false;    // the last call found no connection any more
  int error = 0;          // why, if it did not just end
  bool has_news = false;  // bytes have come since the last read had to wait
};

// Closes the socket without a word, so it may be destroyed in the child of a
// fork(), too.
class TlsStream final : public Transport {
 public:
  // Takes `session`, whose side of the connection is set.  `context` lives as
  // long.
  TlsStream(std::shared_ptr<const void> context, TlsHandle session, Fd fd,
            TlsProtocol protocol);

  // The stream that has taken `ssl`.
  static const TlsStream* of(const ssl_st* ssl);
  bool needs_http2() const { return protocol_ == TlsProtocol::kHttp2; }

  IoResult read(std::span<char> buffer) override;
  IoResult write(std::string_view bytes) override;
  bool established() const override { return checked_; }
  bool has_buffered() const override;
  std::uint32_t needs() const override { return needs_; }
  void shut_down() override;
  int fd() const override { return socket_.fd.get(); }
  std::string trouble() const override { return trouble_; }

 private:
  IoResult shake_hands();
  IoResult failed(int result);
  template <typename Call>
  IoResult transfer(Call call);

  std::shared_ptr<const void> context_;
  const TlsHandle session_;
  TlsSocket socket_;
  const TlsProtocol protocol_;
  std::uint32_t needs_ = 0;
  std::string trouble_;
  bool broken_ = false;   // OpenSSL allows no more calls
  bool checked_ = false;  // the protocol, after the handshake
};

// The client's side of a connection to `host`; the handshake is part of its
// first reads and writes.  Throws Failure.
std::unique_ptr<Transport> connect_tls(const TlsClientContext& context, Fd fd,
                                       const std::string& host,
                                       TlsProtocol protocol);

}  // namespace limitree
