// grpc.health.v1.Health.

#pragma once

#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "grpc/call.hpp"
#include "grpc/method.hpp"

namespace limitree::server {

// One status for the server and for all names that it was given.  Belongs to
// the thread of one loop.
class HealthService {
 public:
  // `names` are those besides "".
  explicit HealthService(std::vector<std::string> names)
      : names_(std::move(names)) {}

  void add_to(MethodTable* methods);

  // Tells all watching clients.
  void set_serving(bool serving);
  bool is_serving() const { return serving_; }

 private:
  // A call of Watch, as long as it lasts.
  class Watcher;

  bool knows(const std::string& name) const;
  void send_status(Call* call) const;
  // Check answers once, Watch each time that the status changes.
  void answer(MethodKind kind, Call* call, std::string_view message);

  const std::vector<std::string> names_;
  std::set<Call*> watchers_;
  bool serving_ = true;
};

}  // namespace limitree::server
