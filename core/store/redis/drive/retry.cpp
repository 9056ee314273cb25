#include "store/redis/drive/retry.hpp"

#include <random>
#include <utility>

#include "store/entropy.hpp"
#include "store/redis/route/redirect.hpp"

namespace limitree::redis {

namespace {

// While a slot is on the move its keys are on both sides for some milliseconds.
Duration short_pause() {
  thread_local std::minstd_rand random{
      static_cast<std::uint32_t>(random_word())};
  return Duration(
      std::uniform_int_distribution<std::int64_t>(500'000, 4'000'000)(random));
}

std::string name_of(const Settings& settings, const Target& target) {
  if (target.endpoint) return target.endpoint->text();
  const Url& url = settings.url;
  return url.topology == Topology::kSentinel ? url.service
                                             : url.endpoints.front().text();
}

}  // namespace

void Retry::begin(std::int32_t slot) {
  target_ = Target{.slot = slot};
  attempts_ = 0;
}

std::optional<Task::Step> Retry::after(const Outcome& outcome) {
  if (outcome.fate != Outcome::Fate::kAnswered || !may_repeat()) return {};
  switch (outcome.failure) {
    case Failure::kAsk: {
      std::optional<Redirect> redirect = parse_redirect(*outcome.reply);
      if (!redirect) return {};  // an empty host: the router fills it in
      target_.endpoint = std::move(redirect->endpoint);
      target_.asking = true;
      return Task::Step{Task::Step::Kind::kSend};
    }
    case Failure::kMoved:
    case Failure::kReadOnly:
    case Failure::kMasterDown:
      // The router has been told, and knows another node or how to find it.
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
  Status status =
      to_status(outcome.failure, name_of(settings, target_), outcome.detail);
  if (outcome.fate != Outcome::Fate::kUnknown ||
      status.code() == Code::kStoreProtocol) {
    return status;
  }
  Error error = status.error();
  error.code = Code::kStoreTimeout;
  return Status(std::move(error));
}

}  // namespace limitree::redis
