// /v1/limits/NAME: top-level names that a control plane puts beside those of
// the limits file.

#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "http/handler.hpp"
#include "limitree.h"
#include "net/access.hpp"

namespace limitree::server {

// The names.  May be used from any thread.  Each call takes a few milliseconds
// at most, because texts are short.
class PutLimits {
 public:
  static constexpr std::size_t kMaxText = std::size_t{64} * 1024;
  static constexpr std::size_t kMaxName = 255;
  static constexpr std::size_t kMaxNames = 10'000;
  static constexpr std::size_t kMaxBytes = std::size_t{64} * 1024 * 1024;

  // `limiter` outlives this.
  explicit PutLimits(limitree_limiter* limiter) : limiter_(limiter) {}

  // How a request has ended: a status of HTTP, and what is wrong if that is 400
  // or more.
  struct Outcome {
    int status;
    std::string detail = {};
  };

  // Puts `yaml`, what stands below a name in a limits.yaml, all or nothing.
  Outcome put(std::string_view name, std::string_view yaml);
  Outcome remove(std::string_view name);

  // What was put; nothing if it was not.
  std::optional<std::string> get(std::string_view name) const;

 private:
  bool is_of_file(std::string_view name) const;

  limitree_limiter* const limiter_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> texts_;  // GUARDED_BY(mutex_)
  std::size_t bytes_ = 0;  // of names and texts; GUARDED_BY(mutex_)
};

// Belongs to the thread of one loop.
class LimitPages {
 public:
  // Both outlive this.  Everybody needs the token.
  LimitPages(PutLimits* limits, const AdminToken* token)
      : limits_(limits), token_(token) {}

  void add_to(HandlerTable* handlers);

 private:
  void serve(Exchange* exchange) const;

  PutLimits* limits_;
  const AdminToken* token_;
};

}  // namespace limitree::server
