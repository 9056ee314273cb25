#include "store/redis/route/sentinel_router.hpp"

#include <utility>

#include "store/redis/route/topology_reply.hpp"

namespace limitree::redis {

namespace {

using Weight = DiscoveryFailure::Weight;

// One in this many checks of sentinels asks for the other sentinels.
constexpr std::uint32_t kTurnsBetweenSentinels = 64;

}  // namespace

// Asks the sentinels in turn, and each server that they name for its role.
class SentinelRouter::PrimaryDiscovery final : public Discovery {
 public:
  explicit PrimaryDiscovery(SentinelRouter* router)
      : Discovery(router, true), router_(*router) {}

  Step answered(Outcome outcome) override {
    return target().sentinel ? sentinel_answered(outcome)
                             : server_answered(outcome);
  }
  std::string_view bytes() const override {
    return target().sentinel ? router_.ask_primary_ : router_.ask_role_;
  }

 private:
  Step sentinel_answered(const Outcome& outcome) {
    if (outcome.failure != Failure::kNone) return pass_over(outcome);
    std::optional<Endpoint> named = read_primary(redis_reply(outcome));
    if (!named) {
      const bool unknown = redis_reply(outcome).type == REDIS_REPLY_NIL;
      return pass_over({Weight::kAnswer,
                        unknown ? Failure::kOther : Failure::kProtocol,
                        asked().text(),
                        unknown ? "this sentinel knows no service \"" +
                                      router_.settings_.url.service + "\""
                                : "this is not an answer of a sentinel"});
    }
    // A server that another sentinel named before is already tried.
    if (std::find(tried_.begin(), tried_.end(), *named) != tried_.end()) {
      return ask_next();
    }
    tried_.push_back(*named);
    return send_to(*named, false);
  }

  Step nobody_answered() override {
    if (is_last_) return give_up();
    const std::optional<Endpoint> last = router_.last_primary();
    if (!last) return give_up();
    is_last_ = true;
    tried_.push_back(*last);
    return send_to(*last, false);
  }

  Step last_answered(const Outcome& outcome) {
    if (outcome.failure != Failure::kNone) {
      return pass_over(Weight::kSilence, tried_.back(), outcome);
    }
    if (!is_primary(redis_reply(outcome))) return give_up();
    router_.found_again(tried_.back());
    return {};
  }

  Step server_answered(const Outcome& outcome) {
    if (is_last_) return last_answered(outcome);
    const Endpoint& server = tried_.back();
    if (outcome.failure != Failure::kNone) {
      return pass_over(Weight::kServer, server, outcome);
    }
    if (is_primary(redis_reply(outcome))) {
      if (router_.found(asked(), server)) return {};
      return pass_over({Weight::kServer, Failure::kOther, server.text(),
                        "the sentinels have named too many servers"});
    }
    if (!is_replica(redis_reply(outcome))) {
      return pass_over({Weight::kServer, Failure::kProtocol, server.text(),
                        "this is not an answer to ROLE"});
    }
    // Behind its name there may be another one by now.
    if (Node* const node = router_.nodes_.at(server)) {
      node->drop_connections(Failure::kReadOnly,
                             "the server has become a replica");
    }
    return pass_over(
        {Weight::kServer, Failure::kReadOnly, server.text(),
         "a sentinel takes it for the primary, but it is a replica"});
  }

  SentinelRouter& router_;
  std::vector<Endpoint> tried_;  // servers that sentinels have named
  bool is_last_ = false;         // the last of them is the last primary
};

SentinelRouter::SentinelRouter(const Settings& settings, Traffic* traffic)
    : DiscoveringRouter(settings, traffic),
      ask_primary_(command_of(
          {"SENTINEL", "get-master-addr-by-name", settings.url.service})),
      ask_sentinels_(
          command_of({"SENTINEL", "SENTINELS", settings.url.service})),
      ask_role_(command_of({"ROLE"})) {
  for (const Endpoint& endpoint : settings.url.endpoints) {
    sentinels_.push_back({endpoint});
  }
  shuffle(&sentinels_);
}

Node* SentinelRouter::route(const Target& target) {
  if (!target.endpoint) return primary_.load(std::memory_order_acquire);
  return target.sentinel ? sentinel_nodes_.at(*target.endpoint)
                         : nodes_.at(*target.endpoint);
}

std::unique_ptr<Task> SentinelRouter::discovery() {
  if (holds_off()) return nullptr;
  return std::make_unique<PrimaryDiscovery>(this);
}

std::vector<Endpoint> SentinelRouter::to_ask() {
  const std::lock_guard lock(mutex_);
  std::vector<Endpoint> endpoints;
  for (const Sentinel& sentinel : sentinels_) {
    endpoints.push_back(sentinel.endpoint);
  }
  return endpoints;
}

void SentinelRouter::move_to_back(const Endpoint& asked) {
  const std::lock_guard lock(mutex_);
  ask_last(asked);
}

bool SentinelRouter::found(const Endpoint& sentinel, const Endpoint& primary) {
  Node* const node = nodes_.at(primary);
  if (node == nullptr) return false;
  const std::lock_guard lock(mutex_);
  // What the others said before is out of date.
  for (Sentinel& other : sentinels_) other.word.reset();
  if (Sentinel* const it = known(sentinel)) it->word = primary;
  ask_first(sentinel);
  hold_off_until(Monotonic{});
  primary_.store(node, std::memory_order_release);
  last_primary_ = primary;
  return true;
}

void SentinelRouter::found_again(const Endpoint& primary) {
  hold_off_until(Monotonic{});
  primary_.store(nodes_.at(primary), std::memory_order_release);
}

std::optional<Endpoint> SentinelRouter::last_primary() {
  const std::lock_guard lock(mutex_);
  return last_primary_;
}

void SentinelRouter::forget(Node* node) {
  primary_.compare_exchange_strong(node, nullptr, std::memory_order_acq_rel);
}

bool SentinelRouter::learn(Node* node, const Target& target,
                           const Outcome& outcome) {
  // Without replicas it is cut off, perhaps, and replaced.
  const bool is_lost =
      is_gone(outcome.failure) || outcome.failure == Failure::kNoReplicas;
  // A target that names an endpoint would lead to the same one again.
  if (!is_lost || target.endpoint) return false;
  forget(node);
  return outcome.fate != Outcome::Fate::kUnknown;
}

Router::Check SentinelRouter::check_due(Node* node, Monotonic now) {
  if (node != primary_.load(std::memory_order_relaxed) ||
      !take_turn(&next_check_, now, kBetweenLooks)) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  if (asked_.node != nullptr && now < asked_until_) return asked_;
  return next_check(node, now);
}

Router::Check SentinelRouter::next_check(Node* primary, Monotonic now) {
  if (asked_.node != nullptr) {  // it keeps silent
    if (Sentinel* const it = known(asked_.node->endpoint())) it->word.reset();
    ask_last(asked_.node->endpoint());
    asked_ = {};
  }
  role_is_next_ = !role_is_next_;
  if (!role_is_next_) {
    next_check_.store(now + kBetweenChecks, std::memory_order_relaxed);
    return {primary, ask_role_};
  }
  Sentinel& sentinel = *std::min_element(
      sentinels_.begin(), sentinels_.end(),
      [](const Sentinel& a, const Sentinel& b) { return a.turn < b.turn; });
  const bool others = turns_ % kTurnsBetweenSentinels == 0;
  sentinel.turn = ++turns_;
  asked_ = {sentinel_nodes_.at(sentinel.endpoint),
            others ? ask_sentinels_ : ask_primary_};
  asked_until_ = now + kBetweenChecks;
  return asked_;
}

void SentinelRouter::checked(Node* node, const Outcome& outcome) {
  if (node != primary_.load(std::memory_order_relaxed)) {
    heard(node, outcome);
  } else if (outcome.failure == Failure::kNone &&
             is_replica(redis_reply(outcome))) {
    forget(node);
  }
}

void SentinelRouter::heard(Node* node, const Outcome& outcome) {
  const std::lock_guard lock(mutex_);
  if (node == asked_.node) {
    asked_ = {};
    next_check_.store(asked_until_, std::memory_order_relaxed);
  }
  Sentinel* const it = known(node->endpoint());
  if (it == nullptr) return;
  if (outcome.failure != Failure::kNone) {
    it->word.reset();
  } else if (std::optional<Endpoint> word =
                 read_primary(redis_reply(outcome))) {
    hear_word(it, std::move(*word));
  } else if (const auto others = read_sentinels(redis_reply(outcome))) {
    hear_others(node->endpoint(), *others);
  }
}

void SentinelRouter::hear_word(Sentinel* sentinel, Endpoint word) {
  sentinel->word = std::move(word);
  Node* const primary = primary_.load(std::memory_order_relaxed);
  if (primary == nullptr || *sentinel->word == primary->endpoint()) return;
  std::size_t heard = 0;
  std::size_t against = 0;
  for (const Sentinel& other : sentinels_) {
    if (!other.word) continue;
    ++heard;
    if (*other.word != primary->endpoint()) ++against;
  }
  if (2 * against > heard) {
    ask_first(Endpoint(sentinel->endpoint));
    forget(primary);
  } else {
    // Asks the other sentinels at once.
    role_is_next_ = false;
    next_check_.store(Monotonic{}, std::memory_order_relaxed);
  }
}

// The sentinels of the URL stay; of the others, those that are named now.
void SentinelRouter::hear_others(const Endpoint& sentinel,
                                 const std::vector<Endpoint>& others) {
  const std::vector<Endpoint>& given = settings_.url.endpoints;
  const auto is_in = [](const Endpoint& endpoint,
                        const std::vector<Endpoint>& endpoints) {
    return std::find(endpoints.begin(), endpoints.end(), endpoint) !=
           endpoints.end();
  };
  std::erase_if(sentinels_, [&](const Sentinel& one) {
    return one.endpoint != sentinel && !is_in(one.endpoint, given) &&
           !is_in(one.endpoint, others);
  });
  for (const Endpoint& other : others) {
    if (sentinels_.size() >= kMaxSentinels) break;
    if (known(other) == nullptr) sentinels_.push_back({other});
  }
}

SentinelRouter::Sentinel* SentinelRouter::known(const Endpoint& sentinel) {
  const auto it = std::find_if(
      sentinels_.begin(), sentinels_.end(),
      [&](const Sentinel& other) { return other.endpoint == sentinel; });
  return it == sentinels_.end() ? nullptr : &*it;
}

void SentinelRouter::ask_first(const Endpoint& sentinel) {
  Sentinel* const it = known(sentinel);
  if (it != nullptr) std::rotate(sentinels_.data(), it, it + 1);
}

void SentinelRouter::ask_last(const Endpoint& sentinel) {
  Sentinel* const it = known(sentinel);
  Sentinel* const end = sentinels_.data() + sentinels_.size();
  if (it != nullptr) std::rotate(it, it + 1, end);
}

}  // namespace limitree::redis
