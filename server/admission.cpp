#include "admission.hpp"

#include <utility>

#include "io/failure.hpp"
#include "log.hpp"

namespace limitree::server {

namespace {

// `refresh()` returns whether there is something new.
template <typename Refresh>
bool refresh_one(const std::string& what, std::string* trouble,
                 const Refresh& refresh) {
  try {
    const bool changed = refresh();
    if (changed) log_line(what + " reloaded");
    trouble->clear();
    return changed;
  } catch (const Failure& failure) {
    if (std::exchange(*trouble, failure.what()) != failure.what()) {
      log_line(LogLevel::kError, failure.what());
      log_line(LogLevel::kError, what + " as before");
    }
    return false;
  }
}

}  // namespace

Admission::Admission(const ServeSettings& settings)
    : settings_(settings),
      token_(settings.admin_token_file),
      hosts_(settings.http_hosts) {
  if (!settings.tls.cert_file.empty() || !settings.tls.client_ca_file.empty()) {
    tls_.emplace(settings.tls);
  }
}

// A client needs no token if it has a certificate, uses a Unix socket, whose
// file has permissions of its own, or is on this machine.
Access Admission::access_of(ListenFor purpose,
                            const ListenAddress& bound) const {
  const bool has_certificate =
      !settings_.tls.client_ca_file.empty() &&
      (purpose == ListenFor::kGrpc || purpose == ListenFor::kHttps);
  Access access;
  if (!bound.is_local() && !has_certificate) access.token = &token_;
  if (bound.is_loopback()) access.hosts = &hosts_;
  return access;
}

bool Admission::refresh() {
  refresh_one("the admin token is", &token_trouble_,
              [this] { return token_.refresh(); });
  return refresh_one("the certificates are", &tls_trouble_,
                     [this] { return tls_ && tls_->refresh(); });
}

}  // namespace limitree::server
