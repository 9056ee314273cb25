#include "io/tls_files.hpp"

#include <utility>

#include "io/file_state.hpp"

namespace limitree::server {

TlsFiles::TlsFiles(TlsSettings settings)
    : settings_(std::move(settings)),
      state_(state()),
      context_(TlsContext::load(settings_)) {}

std::string TlsFiles::state() const {
  return file_state(settings_.cert_file) + '|' +
         file_state(settings_.key_file) + '|' +
         file_state(settings_.client_ca_file);
}

bool TlsFiles::refresh() {
  std::string now = state();
  if (now == state_) return false;
  context_ = TlsContext::load(settings_);
  state_ = std::move(now);
  return true;
}

}  // namespace limitree::server
