#include "store/redis/drivers/retry.hpp"

#include <random>
#include <string>
#include <utility>

#include "store/entropy.hpp"
#include "store/redis/route/topology_reply.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/drivers/attempt.hpp"

namespace limitree::redis {

namespace {

// While a slot is being moved, its keys are on both sides for some
// milliseconds.
Duration short_pause() {
  thread_local std::minstd_rand random{
      static_cast<std::uint32_t>(random_word())};
  return Duration(
      std::uniform_int_distribution<std::int64_t>(500'000, 4'000'000)(random));
}

std::string name_of(const Settings& settings, const Target& target) {
  if (target.endpoint) return target.endpoint->text();
  const Url& url = settings.of(target.per_second).url;
  return url.topology == Topology::kSentinel ? url.service
                                             : url.endpoints.front().text();
}

}  // namespace

void Retry::begin(const Place& place) {
  target_ = {};
  target_.slot = place.slot;
  target_.per_second = place.per_second;
  attempts_ = 0;
}

std::optional<Task::Step> Retry::after(const Outcome& outcome) {
  if (outcome.fate != Outcome::Fate::kAnswered || !may_repeat()) return {};
  switch (outcome.failure) {
    case Failure::kAsk: {
      std::optional<Redirect> redirect = parse_redirect(redis_reply(outcome));
      if (!redirect) return {};  // an empty host: the router fills it in
      target_.endpoint = std::move(redirect->endpoint);
      target_.asking = true;
      return Task::Step{Task::Step::Kind::kSend};
    }
    case Failure::kMoved:
    case Failure::kReadOnly:
    case Failure::kMasterDown:
      // By now the router knows about it, and knows another node or how to find
      // one.
      target_.endpoint.reset();
      target_.asking = false;
      return Task::Step{Task::Step::Kind::kSend};
    case Failure::kTryAgain:
      return Task::Step{Task::Step::Kind::kPause, short_pause()};
    default:
      return {};
  }
}

Status Retry::failure(const Outcome& outcome, const Settings& settings) const {
  return failure_of(outcome, name_of(settings, target_));
}

}  // namespace limitree::redis
