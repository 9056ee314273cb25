// TLS for the server: certificates, and who may connect.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/fd.hpp"
#include "io/tls_policy.hpp"
#include "io/tls_stream.hpp"
#include "io/transport.hpp"

namespace limitree {

struct TlsSettings {
  std::string cert_file;  // the chain, PEM; empty: no TLS
  std::string key_file;
  // Authorities of client certificates; if set, each client must have one.
  std::string client_ca_file;
  // A client certificate must be for one of these: DNS name, IP address or
  // URI.  Empty: any certificate of the authorities.
  std::vector<std::string> client_names;
};

// Certificates as they were when the files were read.  Connections made from
// it keep it alive.
class TlsContext : public std::enable_shared_from_this<TlsContext> {
 public:
  using Settings = TlsSettings;

  // Throws Failure, which names the file.
  static std::shared_ptr<const TlsContext> load(const TlsSettings& settings);
  static std::vector<std::string> files(const TlsSettings& settings) {
    return {settings.cert_file, settings.key_file, settings.client_ca_file};
  }

  // The server's side of a connection; the handshake is part of its first
  // reads and writes.
  std::unique_ptr<Transport> accept(Fd fd, TlsProtocol protocol) const;

  // For the handshake.
  const std::vector<std::string>& client_names() const { return names_; }

 private:
  TlsContext(TlsContextHandle context, std::vector<std::string> names);

  const TlsContextHandle context_;
  const std::vector<std::string> names_;
};

}  // namespace limitree
