// Servers that say anything of where servers are.
//
// The input is what they answer, reply after reply, to whatever a router asks
// or reports.  Whatever it is: every slot has a node that can be connected to
// or none, and there are never more nodes than a router may make.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "store/redis/common/remote.hpp"
#include "store/redis/route/make_router.hpp"
#include "store/redis/route/slot.hpp"
#include "store/redis/route/topology_reply.hpp"
#include "store/redis/wire/reader.hpp"
#include "store/remote/common/traffic.hpp"
#include "store/remote/route/node_set.hpp"

namespace {

using namespace limitree::redis;
using limitree::redis::Reply;
using limitree::redis::Settings;

void require(bool fact) {
  if (!fact) std::abort();
}

// The answers, one at a time.
class Answers {
 public:
  explicit Answers(std::string_view bytes) { reader_.feed(bytes); }

  // The connection is lost when there are no more.
  Outcome next() {
    Reply reply = reader_.next();
    over_ = reply == nullptr;
    if (!over_) return answered(std::move(reply));
    return Outcome::lost(Outcome::Fate::kNotSent, Failure::kLost, "lost");
  }
  bool over() const { return over_; }

 private:
  Reader reader_;
  bool over_ = false;
};

void check_node(Node* node) {
  if (node == nullptr) return;
  require(is_host(node->endpoint().host) && node->endpoint().port > 0);
  require(node->endpoint().socket.empty());
}

void check_router(Router* router) {
  check_node(router->route(Target{}));
  for (std::int32_t slot = 0; slot < kSlots; slot += 97) {
    check_node(router->route(Target{.slot = slot}));
  }
  std::int32_t nodes = 0;
  router->for_each([&nodes](Node* node) {
    check_node(node);
    ++nodes;
  });
  require(nodes <= 2 * NodeSet::kMaxNodes);  // servers and sentinels
  const limitree::Status failure = router->discovery_failure();
  require(failure.ok() || failure.error().messages.size() == 1);
}

void discover(Router* router, Answers* answers) {
  const std::unique_ptr<Task> task = router->discovery();
  if (task == nullptr) return;
  int steps = 0;
  for (Task::Step step = task->start(); step.kind == Task::Step::Kind::kSend;) {
    require(task->target().endpoint.has_value() && !task->bytes().empty());
    check_node(router->route(task->target()));
    require(++steps <= 4096);
    step = task->answered(answers->next());
  }
}

void use(Router* router, Answers* answers) {
  limitree::Monotonic now = std::chrono::steady_clock::now();
  while (!answers->over()) {
    const Target target{.slot = 0};
    Node* const node = router->route(target);
    if (node == nullptr) {
      discover(router, answers);
      if (router->route(target) == nullptr) return;
      continue;
    }
    router->learn(node, target, answers->next());
    now += std::chrono::seconds(1);
    const Router::Check check = router->check_due(node, now);
    if (check.node == nullptr) continue;
    require(!check.bytes.empty());
    router->checked(check.node, answers->next());
  }
}

void try_store(std::string_view url, std::string_view bytes) {
  Settings settings;
  settings.url = parse_url(url).value();
  settings.connections = 1;
  Traffic traffic;
  const std::unique_ptr<Router> router = make_router(settings, &traffic);
  Answers answers(bytes);
  use(router.get(), &answers);
  check_router(router.get());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  try_store("redis+sentinel://s1,s2/mymaster", bytes);
  try_store("redis+cluster://n1,n2", bytes);
  return 0;
}
