#include "h2/rollbacks.hpp"

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

std::unique_ptr<Rollback> Rollbacks::take(
    const std::deque<Answered>::iterator& at) {
  std::unique_ptr<Rollback> taken = std::move(at->rollback);
  memory_->give(taken->bytes());
  answered_.erase(at);
  return taken;
}

void Rollbacks::add(std::int32_t stream, std::unique_ptr<Rollback> rollback) {
  const std::size_t bytes = rollback->bytes();
  if (bytes > kMostBytes) return;
  if (answered_.size() == kMostAnswers) take(answered_.begin());
  answered_.push_back({stream, std::move(rollback)});
  memory_->take(bytes);
}

void Rollbacks::run(std::int32_t stream) {
  const auto found = std::ranges::find(answered_, stream, &Answered::stream);
  if (found != answered_.end()) run(take(found).get());
}

void Rollbacks::run(Rollback* rollback) noexcept {
  try {
    rollback->run();
  } catch (...) {
    tell_exception();
  }
}

}  // namespace limitree::server
