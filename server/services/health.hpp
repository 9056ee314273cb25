// grpc.health.v1.Health.

#ifndef LIMITREE_SERVER_SERVICES_HEALTH_HPP
#define LIMITREE_SERVER_SERVICES_HEALTH_HPP

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
      : names_(std::move(names)), check_(this), watch_(this) {}

  void add_to(MethodTable* methods);

  // Tells all that watch.
  void set_serving(bool serving);

 private:
  class Check final : public Method {
   public:
    explicit Check(HealthService* health)
        : Method(MethodKind::kUnary), health_(health) {}
    void on_message(Call* call, std::string_view message) override;

   private:
    HealthService* health_;
  };

  class Watch final : public Method {
   public:
    explicit Watch(HealthService* health)
        : Method(MethodKind::kServerStream), health_(health) {}
    void on_message(Call* call, std::string_view message) override;

   private:
    HealthService* health_;
  };

  // A call of Watch, as long as it lasts.
  class Watcher;

  bool knows(const std::string& name) const;
  void send_status(Call* call) const;

  const std::vector<std::string> names_;
  Check check_;
  Watch watch_;
  std::set<Call*> watchers_;
  bool serving_ = true;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_HEALTH_HPP
