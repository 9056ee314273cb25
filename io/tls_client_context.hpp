// TLS for connections that the service makes.

#ifndef LIMITREE_IO_TLS_CLIENT_CONTEXT_HPP
#define LIMITREE_IO_TLS_CLIENT_CONTEXT_HPP

#include <memory>
#include <string>

#include "io/fd.hpp"
#include "io/transport.hpp"

struct ssl_ctx_st;

namespace limitree::server {

struct TlsClientSettings {
  bool on = false;
  std::string ca_file;    // empty: the authorities of the system
  std::string cert_file;  // the client's own chain, if the server asks for one
  std::string key_file;
  // The DNS name or IP address that the server's certificate must have.
  std::string server_name;
};

// Certificates as they were when the files were read.  Connections made from
// it keep it alive.
class TlsClientContext : public std::enable_shared_from_this<TlsClientContext> {
 public:
  // Throws Failure, which names the file.
  static std::shared_ptr<const TlsClientContext> load(
      const TlsClientSettings& settings);
  ~TlsClientContext();
  TlsClientContext(const TlsClientContext&) = delete;
  TlsClientContext& operator=(const TlsClientContext&) = delete;

  // The client's side of a connection; the handshake is part of its first
  // reads and writes.  Only HTTP/2 is negotiated.
  std::unique_ptr<Transport> connect(Fd fd) const;

 private:
  TlsClientContext(ssl_ctx_st* context, std::string server_name);

  ssl_ctx_st* context_;
  std::string server_name_;
};

}  // namespace limitree::server

#endif  // LIMITREE_IO_TLS_CLIENT_CONTEXT_HPP
