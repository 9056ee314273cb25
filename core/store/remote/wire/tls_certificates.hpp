// What all TLS connections of a store share: which servers to trust, and who we
// are.

#pragma once

#include <memory>
#include <mutex>

#include "io/failure.hpp"
#include "io/timer.hpp"
#include "io/tls_client_context.hpp"
#include "io/tls_files.hpp"
#include "store/fork_guard.hpp"

namespace limitree::remote {

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
    const Monotonic now = steady_now();
    if (files_.has_changed() || now >= try_again_) refresh(now);
    return files_.context();
  }

 private:
  // Files that are not valid are loaded again only now and then: that takes
  // long, and there may be many connections to be made.  What keeps the process
  // from reading them may pass without a change of the files.
  void refresh(Monotonic now) {
    try_again_ = Monotonic::max();
    try {
      files_.refresh();
    } catch (const limitree::Failure&) {
      // The server refuses what is too old, and says so.
      try_again_ = after(now, kOneSecond);
    }
  }

  void before_fork() override { mutex_.lock(); }
  void after_fork() override { mutex_.unlock(); }

  std::mutex mutex_;  // guards the rest
  TlsFiles<TlsClientContext> files_;
  Monotonic try_again_ = Monotonic::max();
};

}  // namespace limitree::remote
