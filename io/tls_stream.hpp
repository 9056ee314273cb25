// One connection with TLS.

#ifndef LIMITREE_IO_TLS_STREAM_HPP
#define LIMITREE_IO_TLS_STREAM_HPP

#include <memory>
#include <string>

#include "io/fd.hpp"
#include "io/tls_context.hpp"
#include "io/transport.hpp"

struct ssl_st;

namespace limitree::server {

class TlsStream final : public Transport {
 public:
  // Takes `ssl`, whose side of the connection is set.  `context` lives as long.
  TlsStream(std::shared_ptr<const void> context, ssl_st* ssl, Fd fd,
            TlsProtocol protocol);
  ~TlsStream() override;
  TlsStream(const TlsStream&) = delete;
  TlsStream& operator=(const TlsStream&) = delete;

  // The stream that has taken `ssl`.
  static const TlsStream* of(const ssl_st* ssl);
  bool needs_http2() const { return protocol_ == TlsProtocol::kHttp2; }

  IoResult read(std::span<char> buffer) override;
  IoResult write(std::string_view bytes) override;
  bool has_buffered() const override;
  std::uint32_t needs() const override { return needs_; }
  void shut_down() override;
  int fd() const override { return fd_.get(); }
  std::string trouble() const override { return trouble_; }

 private:
  IoResult shake_hands();
  IoResult failed(int result);

  std::shared_ptr<const void> context_;
  ssl_st* ssl_;
  Fd fd_;
  const TlsProtocol protocol_;
  std::uint32_t needs_ = 0;
  std::string trouble_;
  bool broken_ = false;   // OpenSSL allows no more calls
  bool checked_ = false;  // the protocol, after the handshake
};

}  // namespace limitree::server

#endif  // LIMITREE_IO_TLS_STREAM_HPP
