// The router of a store whose limits of a second are kept elsewhere: two
// routers, each of which knows its own servers.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "store/redis/common/settings.hpp"
#include "store/remote/route/router.hpp"

namespace limitree::redis {

class TwoPartRouter final : public Router {
 public:
  // `per_second_settings` are those of that part, and must outlive it.
  TwoPartRouter(std::unique_ptr<Router> main,
                const Settings& per_second_settings,
                std::unique_ptr<Router> per_second);

  Node* route(const Target& target) override;
  Router* part(const Target& target) override;
  const remote::Settings& settings_of(
      const Node* node, const remote::Settings& of_store) const override;
  Check check_due(Node* node, Monotonic now) override;
  void checked(Node* node, const Outcome& outcome) override;
  bool learn(Node* node, const Target& target, const Outcome& outcome) override;
  void for_each(const std::function<void(Node*)>& visit) override;
  void before_fork() override;
  void after_fork() override;
  std::int32_t slot_of(std::string_view key) const override;

 private:
  bool is_per_second(const Node* node) const;
  Router& part_of(const Node* node);

  const Settings& per_second_settings_;
  const std::unique_ptr<Router> main_;
  const std::unique_ptr<Router> per_second_;
};

}  // namespace limitree::redis
