#include "remote.hpp"

#include <algorithm>
#include <cstdlib>

#include "failure.hpp"

namespace limitree::cli {

namespace {

// For the store if --store is missing.
constexpr const char* kStoreVariable = "LIMITREE_STORE";

// Mistakes in options are reported as mistakes of the command line.
template <typename Call>
auto as_usage(Call&& call) {
  try {
    return call();
  } catch (const Error& error) {
    if (error.status() != LIMITREE_INVALID_CONFIG &&
        error.status() != LIMITREE_INVALID_ARGUMENT) {
      throw;
    }
    throw UsageError(error.what());
  }
}

}  // namespace

std::string url_of(const Remote& remote) {
  if (!remote.store.empty()) return remote.store;
  const char* const url = std::getenv(kStoreVariable);
  if (url == nullptr || *url == '\0') {
    throw UsageError(std::string("no store is given: --store URL, or ") +
                     kStoreVariable + " in the environment; see --help");
  }
  return url;
}

bool is_file(std::string_view url) { return url.starts_with("shm://"); }

std::string existing(const std::string& url) {
  if (!is_file(url)) return url;
  return url + (url.find('?') == url.npos ? "?" : "&") + "make=0";
}

void set_store(const Remote& remote, const std::string& url, Config* config) {
  as_usage([&] {
    config->set("store", url);
    config->set("timeout", "2s");
    for (const std::string& setting : remote.settings) {
      const std::size_t equals = setting.find('=');
      if (equals == setting.npos) {
        throw UsageError("--set: '" + setting + "' is not NAME=VALUE");
      }
      config->set(setting.substr(0, equals),
                  std::string_view(setting).substr(equals + 1));
    }
  });
}

Limiter limiter_of(const Config& config) {
  return as_usage([&] { return Limiter(config); });
}

std::string shown_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos || is_file(url)) return std::string(url);
  const std::size_t begin = scheme + 3;
  // Options may follow, and one of them may be a password.
  url = url.substr(0, std::max(url.find('?', url.rfind('@') + 1), begin));
  // If it is not encoded correctly, there may be more than one.
  const std::size_t at = url.rfind('@');
  if (at == url.npos || at < begin) return std::string(url);
  return std::string(url.substr(0, begin)) + std::string(url.substr(at + 1));
}

}  // namespace limitree::cli
