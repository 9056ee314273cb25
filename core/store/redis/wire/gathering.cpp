#include "store/redis/wire/gathering.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <span>
#include <utility>

namespace limitree::redis {

std::size_t Gathering::bytes() const {
  std::size_t bytes = 0;
  for (std::size_t i = first_; i < all_.size(); ++i) {
    bytes += all_[i].command->bytes().size();
  }
  return bytes;
}

void Gathering::push(Command* command) {
  const Script* const script = command->joinable().script;
  all_.push_back({command, script});
  sorted_ &= script == all_[first_].script;
}

bool Gathering::forget(const Command* command) {
  const auto found = std::find_if(
      all_.begin() + static_cast<std::ptrdiff_t>(first_), all_.end(),
      [command](const One& one) { return one.command == command; });
  if (found == all_.end()) return false;
  all_.erase(found);
  remove_front(0);
  return true;
}

// Those of one script stay in order; others may pass them.
Gathering::Next Gathering::next() {
  if (!std::exchange(sorted_, true)) {
    std::stable_sort(all_.begin() + static_cast<std::ptrdiff_t>(first_),
                     all_.end(), [](const One& a, const One& b) {
                       return std::less<>()(a.script, b.script);
                     });
  }
  std::array<Command*, kMostJoined> commands;
  const std::size_t most = std::min(kMostJoined, all_.size() - first_);
  std::size_t count = 0;
  while (count < most && all_[first_ + count].script == all_[first_].script) {
    commands[count] = all_[first_ + count].command;
    ++count;
  }
  if (count < kFewestJoined) return {commands[0], nullptr, 1};
  auto joint = std::make_unique<Joint>(std::span(commands).first(count));
  Joint* const command = joint.get();
  return {command, std::move(joint), count};
}

void Gathering::remove_front(std::size_t count) {
  first_ += count;
  if (!empty()) return;
  all_.clear();
  first_ = 0;
  sorted_ = true;
}

std::vector<Command*> Gathering::take_all() {
  std::vector<Command*> commands;
  for (std::size_t i = first_; i < all_.size(); ++i) {
    commands.push_back(all_[i].command);
  }
  remove_front(all_.size() - first_);
  return commands;
}

}  // namespace limitree::redis
