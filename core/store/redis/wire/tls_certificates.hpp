// What all TLS connections of a store share: which servers to trust, and who we
// are.

#ifndef LIMITREE_STORE_REDIS_WIRE_TLS_CERTIFICATES_HPP
#define LIMITREE_STORE_REDIS_WIRE_TLS_CERTIFICATES_HPP

#include <memory>
#include <mutex>

#include "io/failure.hpp"
#include "io/tls_client_context.hpp"
#include "io/tls_files.hpp"
#include "store/fork_guard.hpp"

namespace limitree::redis {

class TlsCertificates final : private ForkGuard {
 public:
  // Throws Failure, which names the file.
  explicit TlsCertificates(const TlsClientSettings& settings)
      : files_(settings) {
    watch_forks();
  }
  ~TlsCertificates() override { unwatch_forks(); }

  // For a new connection: of the files as they are now, or as they were if they
  // are not valid now.  From any thread.
  std::shared_ptr<const TlsClientContext> context() {
    const std::lock_guard lock(mutex_);
    try {
      files_.refresh();
    } catch (const limitree::Failure&) {
      // The server refuses what is too old, and says so.
    }
    return files_.context();
  }

 private:
  void before_fork() override { mutex_.lock(); }
  void after_fork() override { mutex_.unlock(); }

  std::mutex mutex_;  // guards files_
  TlsFiles<TlsClientContext> files_;
};

}  // namespace limitree::redis

#endif  // LIMITREE_STORE_REDIS_WIRE_TLS_CERTIFICATES_HPP
