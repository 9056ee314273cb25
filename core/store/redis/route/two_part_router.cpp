#include "store/redis/route/two_part_router.hpp"

#include <utility>

#include "store/redis/route/slot.hpp"
#include "store/redis/wire/redis_dialog.hpp"

namespace limitree::redis {

TwoPartRouter::TwoPartRouter(std::unique_ptr<Router> main,
                             const Settings& per_second_settings,
                             std::unique_ptr<Router> per_second)
    : per_second_settings_(per_second_settings),
      main_(std::move(main)),
      per_second_(std::move(per_second)) {}

Router* TwoPartRouter::part(const Target& target) {
  return target.per_second ? per_second_.get() : main_.get();
}

// A node refers to the login of its part.
bool TwoPartRouter::is_per_second(const Node* node) const {
  const Login& login =
      static_cast<const RedisProtocol&>(node->protocol()).login();
  return &login == &per_second_settings_.login ||
         &login == &per_second_settings_.sentinel_login;
}

Router& TwoPartRouter::part_of(const Node* node) {
  return is_per_second(node) ? *per_second_ : *main_;
}

Node* TwoPartRouter::route(const Target& target) {
  return part(target)->route(target);
}

const remote::Settings& TwoPartRouter::settings_of(
    const Node* node, const remote::Settings& of_store) const {
  if (is_per_second(node)) return per_second_settings_;
  return of_store;  // NOLINT: it outlives the router
}

Router::Check TwoPartRouter::check_due(Node* node, Monotonic now) {
  return part_of(node).check_due(node, now);
}

void TwoPartRouter::checked(Node* node, const Outcome& outcome) {
  part_of(node).checked(node, outcome);
}

bool TwoPartRouter::learn(Node* node, const Target& target,
                          const Outcome& outcome) {
  return part_of(node).learn(node, target, outcome);
}

void TwoPartRouter::for_each(const std::function<void(Node*)>& visit) {
  main_->for_each(visit);
  per_second_->for_each(visit);
}

void TwoPartRouter::before_fork() {
  main_->before_fork();
  per_second_->before_fork();
}

void TwoPartRouter::after_fork() {
  per_second_->after_fork();
  main_->after_fork();
}

// Asked only for the keys of a cluster.
std::int32_t TwoPartRouter::slot_of(std::string_view key) const {
  return redis::slot_of(key);
}

}  // namespace limitree::redis
