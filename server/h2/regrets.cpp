#include "h2/regrets.hpp"

#include <algorithm>
#include <utility>

#include "io/trouble.hpp"

namespace limitree::server {

namespace {

// More than the answers of a round trip, at thousands in a second.
constexpr std::size_t kMostAnswers = 128;
// Requests of Envoy have less.
constexpr std::size_t kMostBytes = 4096;

}  // namespace

std::unique_ptr<Regret> Regrets::take(std::deque<Answered>::iterator at) {
  std::unique_ptr<Regret> taken = std::move(at->regret);
  memory_->give(taken->bytes());
  answered_.erase(at);
  return taken;
}

void Regrets::add(std::int32_t stream, std::unique_ptr<Regret> regret) {
  const std::size_t bytes = regret->bytes();
  if (bytes > kMostBytes) return;
  if (answered_.size() == kMostAnswers) take(answered_.begin());
  answered_.push_back({stream, std::move(regret)});
  memory_->take(bytes);
}

void Regrets::run(std::int32_t stream) {
  const auto found = std::ranges::find(answered_, stream, &Answered::stream);
  if (found != answered_.end()) run(take(found).get());
}

void Regrets::run(Regret* regret) noexcept {
  try {
    regret->run();
  } catch (...) {
    tell_exception();
  }
}

}  // namespace limitree::server
