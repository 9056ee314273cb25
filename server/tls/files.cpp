#include "tls/files.hpp"

#include <sys/stat.h>

#include <utility>

namespace limitree::server {

namespace {

std::string state_of(const std::string& file) {
  struct stat found {};
  if (file.empty() || stat(file.c_str(), &found) != 0) return "-";
  std::string state;
  for (const auto number : {static_cast<long long>(found.st_dev),
                            static_cast<long long>(found.st_ino),
                            static_cast<long long>(found.st_size),
                            static_cast<long long>(found.st_mtim.tv_sec),
                            static_cast<long long>(found.st_mtim.tv_nsec)}) {
    state += std::to_string(number) + ' ';
  }
  return state;
}

}  // namespace

TlsFiles::TlsFiles(TlsSettings settings)
    : settings_(std::move(settings)),
      state_(state()),
      context_(TlsContext::load(settings_)) {}

std::string TlsFiles::state() const {
  return state_of(settings_.cert_file) + '|' + state_of(settings_.key_file) +
         '|' + state_of(settings_.client_ca_file);
}

bool TlsFiles::refresh() {
  std::string now = state();
  if (now == state_) return false;
  context_ = TlsContext::load(settings_);
  state_ = std::move(now);
  return true;
}

}  // namespace limitree::server
