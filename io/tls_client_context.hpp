// TLS towards servers: which to trust, and who we are.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/tls_policy.hpp"

namespace limitree {

struct TlsClientSettings {
  std::string ca_file;  // PEM; empty: the system's authorities
  std::string
      cert_file;         // PEM; the client's own chain, if a server asks for it
  std::string key_file;  // PEM
  // The DNS name or IP address that a server's certificate must have; empty:
  // its host.
  std::string server_name;
  bool verify = true;       // off only for experiments
  bool verify_name = true;  // off: any certificate of the authorities

  friend bool operator==(const TlsClientSettings&,
                         const TlsClientSettings&) = default;
};

// Certificates as they were when the files were read.  May be used from several
// threads at once.
class TlsClientContext {
 public:
  using Settings = TlsClientSettings;

  // Throws Failure, which names the file.
  static std::shared_ptr<const TlsClientContext> load(const Settings& settings);
  static std::vector<std::string> files(const Settings& settings) {
    return {settings.ca_file, settings.cert_file, settings.key_file};
  }

  // The client's side of a connection to `host`.  Throws Failure if no
  // certificate can be valid for it.
  TlsHandle connect(const std::string& host) const;

 private:
  TlsClientContext(TlsContextHandle context, const Settings& settings);

  const TlsContextHandle context_;
  const std::string server_name_;
  const bool verify_name_;
};

}  // namespace limitree
