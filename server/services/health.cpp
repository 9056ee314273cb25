#include "services/health.hpp"

#include <algorithm>
#include <memory>
#include <protozero/pbf_writer.hpp>

#include "grpc/messages.hpp"

namespace limitree::server {

namespace {

enum ServingStatus { kServing = 1, kNotServing = 2, kServiceUnknown = 3 };

void send(Call* call, ServingStatus status) {
  protozero::pbf_writer(*call->begin_message()).add_enum(1, status);
  call->end_message();
}

}  // namespace

class HealthService::Watcher final : public RequestState {
 public:
  Watcher(HealthService* health, Call* call) : health_(health), call_(call) {
    health_->watchers_.insert(call_);
  }
  ~Watcher() override { health_->watchers_.erase(call_); }

 private:
  HealthService* health_;
  Call* call_;
};

void HealthService::add_to(MethodTable* methods) {
  const auto method = [this](MethodKind kind) {
    return Method{kind, [this, kind](Call* call, std::string_view message) {
                    answer(kind, call, message);
                  }};
  };
  methods->add("/grpc.health.v1.Health/Check", method(MethodKind::kUnary));
  methods->add("/grpc.health.v1.Health/Watch",
               method(MethodKind::kServerStream));
}

void HealthService::set_serving(bool serving) {
  if (serving == serving_) return;
  serving_ = serving;
  for (Call* const call : watchers_) send_status(call);
}

bool HealthService::knows(const std::string& name) const {
  return name.empty() ||
         std::find(names_.begin(), names_.end(), name) != names_.end();
}

void HealthService::send_status(Call* call) const {
  send(call, serving_ ? kServing : kNotServing);
}

void HealthService::answer(MethodKind kind, Call* call,
                           std::string_view message) {
  std::string name;
  read_message(message, field(1, &name));
  const bool once = kind == MethodKind::kUnary;
  if (!knows(name)) {
    if (!once) return send(call, kServiceUnknown);
    return call->finish({GrpcCode::kNotFound, "unknown service " + name});
  }
  send_status(call);
  if (once) return call->finish();
  call->keep(std::make_unique<Watcher>(this, call));
}

}  // namespace limitree::server
