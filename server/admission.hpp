// Who may connect and what they may do then: certificates, the admin token and
// the names of this machine.

#pragma once

#include <memory>
#include <optional>
#include <string>

#include "config/settings.hpp"
#include "io/address.hpp"
#include "io/tls_files.hpp"
#include "net/access.hpp"

namespace limitree::server {

// Belongs to the main thread.
class Admission {
 public:
  // Throws Failure.  `settings` outlives it.
  explicit Admission(const ServeSettings& settings);

  // Null without certificates.
  std::shared_ptr<const TlsContext> tls() const {
    return tls_ ? tls_->context() : nullptr;
  }

  // Lives as long as this.
  const AdminToken* token() const { return &token_; }

  // The access of clients that connect to `bound`.
  Access access_of(ListenFor purpose, const ListenAddress& bound) const;

  // Reloads the files that have changed, and logs it.  Returns whether tls()
  // has changed.
  bool refresh();

 private:
  const ServeSettings& settings_;
  std::optional<TlsFiles<TlsContext>> tls_;
  AdminToken token_;
  const HostNames hosts_;
  std::string tls_trouble_;  // the last one in the log
  std::string token_trouble_;
};

}  // namespace limitree::server
