#include "store/redis/route/sentinel_router.hpp"

#include <algorithm>
#include <random>
#include <utility>

#include "store/entropy.hpp"
#include "store/redis/route/topology_reply.hpp"

namespace limitree::redis {

namespace {

using Weight = DiscoveryFailure::Weight;

// One in this many checks of sentinels asks for the other sentinels.
constexpr std::uint32_t kTurnsBetweenSentinels = 64;

std::string command_of(std::initializer_list<std::string_view> words) {
  std::string bytes;
  append_command(words, &bytes);
  return bytes;
}

}  // namespace

// Asks the sentinels in turn, and each server that they name for its role.
class SentinelRouter::Discovery final : public Task {
 public:
  explicit Discovery(SentinelRouter* router)
      : router_(*router), sentinels_(router->to_ask()) {}

  Step start() override { return ask_next(); }
  Step answered(Outcome outcome) override {
    return target_.sentinel ? sentinel_answered(outcome)
                            : server_answered(outcome);
  }
  Step resumed() override { return {}; }  // it never pauses
  std::string_view bytes() const override {
    return target_.sentinel ? router_.ask_primary_ : router_.ask_role_;
  }
  const Target& target() const override { return target_; }

 private:
  const Endpoint& sentinel() const { return sentinels_[next_ - 1]; }

  Step ask_next() {
    if (next_ == sentinels_.size()) return give_up();
    target_.endpoint = sentinels_[next_++];
    target_.sentinel = true;
    return {Step::Kind::kSend};
  }

  Step give_up() {
    if (failure_.weight == Weight::kSilence) {
      failure_.detail += " (none of " + std::to_string(sentinels_.size()) +
                         (sentinels_.size() == 1 ? " sentinel" : " sentinels") +
                         " answers)";
    }
    router_.found_none(std::move(failure_), in_time_);
    return {};
  }

  Step pass_over(Weight weight, const Endpoint& asked, const Outcome& outcome) {
    const bool cancelled = outcome.failure == Failure::kCancelled;
    in_time_ &= !cancelled && !is_out_of_time(outcome.failure);
    failure_.improve({weight, outcome.failure, asked.text(), outcome.detail});
    return cancelled ? give_up() : ask_next();
  }

  Step sentinel_answered(const Outcome& outcome) {
    if (outcome.failure != Failure::kNone) {
      const bool silent = outcome.fate != Outcome::Fate::kAnswered;
      router_.kept_silent(sentinel());
      return pass_over(silent ? Weight::kSilence : Weight::kAnswer, sentinel(),
                       outcome);
    }
    std::optional<Endpoint> named = read_primary(*outcome.reply);
    if (!named) {
      const bool unknown = outcome.reply->type == REDIS_REPLY_NIL;
      failure_.improve({Weight::kAnswer,
                        unknown ? Failure::kOther : Failure::kProtocol,
                        sentinel().text(),
                        unknown ? "this sentinel knows no service \"" +
                                      router_.settings_.url.service + "\""
                                : "this is no answer of a sentinel"});
      return ask_next();
    }
    // A server that another sentinel named before is already tried.
    if (std::find(tried_.begin(), tried_.end(), *named) != tried_.end()) {
      return ask_next();
    }
    tried_.push_back(*named);
    target_.endpoint = std::move(named);
    target_.sentinel = false;
    return {Step::Kind::kSend};
  }

  Step server_answered(const Outcome& outcome) {
    const Endpoint& server = tried_.back();
    if (outcome.failure != Failure::kNone) {
      return pass_over(Weight::kServer, server, outcome);
    }
    if (is_primary(*outcome.reply)) {
      if (router_.found(sentinel(), server)) return {};
      failure_.improve({Weight::kServer, Failure::kOther, server.text(),
                        "the sentinels have named too many servers"});
    } else if (is_replica(*outcome.reply)) {
      failure_.improve(
          {Weight::kServer, Failure::kReadOnly, server.text(),
           "a sentinel takes it for the primary, but it is a replica"});
      // Behind its name there may be another one by now.
      if (Node* const node = router_.servers_.at(server)) {
        node->drop_connections(Failure::kReadOnly,
                               "the server has become a replica");
      }
    } else {
      failure_.improve({Weight::kServer, Failure::kProtocol, server.text(),
                        "this is no answer to ROLE"});
    }
    return ask_next();
  }

  SentinelRouter& router_;
  const std::vector<Endpoint> sentinels_;
  std::size_t next_ = 0;  // into sentinels_
  std::vector<Endpoint> tried_;
  Target target_;
  DiscoveryFailure failure_;
  bool in_time_ = true;  // each one that was asked had enough time
};

SentinelRouter::SentinelRouter(const Settings& settings, Traffic* traffic)
    : settings_(settings),
      ask_primary_(command_of(
          {"SENTINEL", "get-master-addr-by-name", settings.url.service})),
      ask_sentinels_(
          command_of({"SENTINEL", "SENTINELS", settings.url.service})),
      ask_role_(command_of({"ROLE"})),
      servers_(settings.login, traffic),
      sentinel_nodes_(settings.sentinel_login, traffic) {
  for (const Endpoint& endpoint : settings.url.endpoints) {
    sentinels_.push_back({endpoint});
  }
  // Many processes with one configuration should not all ask the same one.
  std::shuffle(sentinels_.begin(), sentinels_.end(),
               std::minstd_rand{static_cast<std::uint32_t>(random_word())});
}

Node* SentinelRouter::route(const Target& target) {
  if (!target.endpoint) return primary_.load(std::memory_order_acquire);
  return target.sentinel ? sentinel_nodes_.at(*target.endpoint)
                         : servers_.at(*target.endpoint);
}

std::unique_ptr<Task> SentinelRouter::discovery() {
  if (std::chrono::steady_clock::now() <
      hold_until_.load(std::memory_order_relaxed)) {
    return nullptr;
  }
  return std::make_unique<Discovery>(this);
}

Status SentinelRouter::discovery_failure() {
  const std::lock_guard lock(mutex_);
  return failure_.status();
}

std::vector<Endpoint> SentinelRouter::to_ask() {
  const std::lock_guard lock(mutex_);
  std::vector<Endpoint> endpoints;
  for (const Sentinel& sentinel : sentinels_) {
    endpoints.push_back(sentinel.endpoint);
  }
  return endpoints;
}

void SentinelRouter::kept_silent(const Endpoint& sentinel) {
  const std::lock_guard lock(mutex_);
  move_to_back(sentinel);
}

bool SentinelRouter::found(const Endpoint& sentinel, const Endpoint& primary) {
  Node* const node = servers_.at(primary);
  if (node == nullptr) return false;
  const std::lock_guard lock(mutex_);
  // What the others said before is out of date.
  for (Sentinel& other : sentinels_) other.word.reset();
  if (Sentinel* const it = known(sentinel)) it->word = primary;
  move_to_front(sentinel);
  hold_until_.store(Monotonic{}, std::memory_order_relaxed);
  primary_.store(node, std::memory_order_release);
  return true;
}

void SentinelRouter::found_none(DiscoveryFailure failure, bool in_time) {
  // One caller's lack of time says nothing about the next caller.
  if (in_time) {
    hold_until_.store(std::chrono::steady_clock::now() + kHoldOff,
                      std::memory_order_relaxed);
  }
  const std::lock_guard lock(mutex_);
  failure_ = std::move(failure);
}

void SentinelRouter::forget(Node* node) {
  primary_.compare_exchange_strong(node, nullptr, std::memory_order_acq_rel);
}

bool SentinelRouter::learn(Node* node, const Target& target,
                           const Outcome& outcome) {
  switch (outcome.failure) {
    case Failure::kReadOnly:
    case Failure::kMasterDown:
    case Failure::kNoReplicas:  // cut off, perhaps, and replaced
    case Failure::kResolve:
    case Failure::kRefused:
    case Failure::kTls:
    case Failure::kLost:
    case Failure::kTimeout:
    case Failure::kBackoff:
      // A target that names an endpoint would lead to the same one again.
      if (target.endpoint) return false;
      forget(node);
      return outcome.fate != Outcome::Fate::kUnknown;
    default:
      return false;
  }
}

Router::Check SentinelRouter::check_due(Node* node, Monotonic now) {
  Monotonic due = next_check_.load(std::memory_order_relaxed);
  if (now < due || node != primary_.load(std::memory_order_relaxed) ||
      !next_check_.compare_exchange_strong(due, now + kBetweenLooks,
                                           std::memory_order_relaxed)) {
    return {};
  }
  const std::lock_guard lock(mutex_);
  if (asked_.node != nullptr && now < asked_until_) return asked_;
  return next_check(node, now);
}

Router::Check SentinelRouter::next_check(Node* primary, Monotonic now) {
  if (asked_.node != nullptr) {  // it keeps silent
    if (Sentinel* const it = known(asked_.node->endpoint())) it->word.reset();
    move_to_back(asked_.node->endpoint());
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
  } else if (outcome.failure == Failure::kNone && is_replica(*outcome.reply)) {
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
  } else if (std::optional<Endpoint> word = read_primary(*outcome.reply)) {
    hear_word(it, std::move(*word));
  } else if (const auto others = read_sentinels(*outcome.reply)) {
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
    move_to_front(Endpoint(sentinel->endpoint));
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

void SentinelRouter::move_to_front(const Endpoint& sentinel) {
  Sentinel* const it = known(sentinel);
  if (it == nullptr) return;
  std::rotate(sentinels_.data(), it, it + 1);
}

void SentinelRouter::move_to_back(const Endpoint& sentinel) {
  Sentinel* const it = known(sentinel);
  if (it == nullptr) return;
  std::rotate(it, it + 1, sentinels_.data() + sentinels_.size());
}

void SentinelRouter::for_each(const std::function<void(Node*)>& visit) {
  servers_.for_each(visit);
  sentinel_nodes_.for_each(visit);
}

void SentinelRouter::before_fork() {
  mutex_.lock();
  servers_.before_fork();
  sentinel_nodes_.before_fork();
}

void SentinelRouter::after_fork() {
  sentinel_nodes_.after_fork();
  servers_.after_fork();
  mutex_.unlock();
}

}  // namespace limitree::redis
