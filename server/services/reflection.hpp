// grpc.reflection.v1 and v1alpha: the same messages under two names.

#ifndef LIMITREE_SERVER_SERVICES_REFLECTION_HPP
#define LIMITREE_SERVER_SERVICES_REFLECTION_HPP

#include <string_view>

#include "grpc/method.hpp"
#include "services/proto_files.hpp"

namespace limitree::server {

class ReflectionService final : public Method {
 public:
  explicit ReflectionService(const DescriptorIndex* index)
      : Method(MethodKind::kBidirectional), index_(index) {}

  void add_to(MethodTable* methods);
  void on_message(Call* call, std::string_view message) override;

 private:
  const DescriptorIndex* index_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICES_REFLECTION_HPP
