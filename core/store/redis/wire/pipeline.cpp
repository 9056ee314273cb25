#include "store/redis/wire/pipeline.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace limitree::redis {

namespace {

constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";
constexpr std::string_view kCrossSlot = "CROSSSLOT ";

}  // namespace

void Pipeline::push(Command* command, bool asking) {
  if (joins_ && !asking && command->joinable().script != nullptr) {
    gathering_.push(command);
    ++in_flight_;
    return;
  }
  join();  // it was there before
  if (asking) {
    const std::uint64_t begin = outbox_.end();
    outbox_.tail()->append(kAsking);
    expected_.push({nullptr, true, begin, outbox_.end(), nullptr});
  }
  append(command, nullptr);
  ++in_flight_;
}

void Pipeline::append(Command* command, std::unique_ptr<Joint> joint) {
  const std::uint64_t begin = outbox_.end();
  outbox_.tail()->append(command->bytes());
  expected_.push({command, false, begin, outbox_.end(), std::move(joint)});
}

void Pipeline::join() {
  while (!gathering_.empty()) {
    Gathering::Next next = gathering_.next();
    append(next.command, std::move(next.joint));
    gathering_.remove_front(next.count);
  }
}

bool Pipeline::abandon(const Command* command) {
  if (gathering_.forget(command)) {
    --in_flight_;
    return false;
  }
  Expected* const found = std::find_if(
      expected_.begin(), expected_.end(), [command](const Expected& one) {
        return one.joint == nullptr ? one.command == command
                                    : one.joint->has(command);
      });
  if (found == expected_.end()) return false;
  // ASKING and its command belong together.
  const bool asks = found != expected_.begin() && found[-1].asking;
  Expected* const first = asks ? found - 1 : found;
  if (first->begin < outbox_.sent()) {
    if (found->joint != nullptr) {
      found->joint->abandon(command);
    } else {
      found->command = nullptr;
    }
    return true;
  }
  if (found->joint != nullptr) {
    for (Command* const other : found->joint->commands()) {
      if (other != nullptr && other != command) gathering_.push(other);
    }
  }
  const std::uint64_t size = found->end - first->begin;
  outbox_.take_back(first->begin, found->end);
  for (Expected* later = found + 1; later != expected_.end(); ++later) {
    later->begin -= size;
    later->end -= size;
  }
  expected_.erase(first, found + 1);
  --in_flight_;
  return false;
}

bool Pipeline::expects_reply() {
  return !expected_.empty() && expected_.front().end <= outbox_.sent();
}

bool Pipeline::has_sent() {
  return !expected_.empty() && expected_.front().begin < outbox_.sent();
}

void Pipeline::answer(Reply reply) {
  Expected expected = std::move(expected_.front());
  expected_.pop();
  if (expected.asking) {
    if (reply->type == REDIS_REPLY_ERROR) no_asking_ = std::move(reply);
    return;
  }
  // The command was sent on again, to where it came from: that would go round
  // and round, and nobody would learn that a right is missing.
  if (no_asking_ != nullptr) reply = std::move(no_asking_);
  Outcome outcome = Outcome::answered(std::move(reply));
  if (outcome.failure == Failure::kNoScript && send_text(&expected.joint)) {
    return;
  }
  if (expected.joint != nullptr && outcome.detail.starts_with(kCrossSlot)) {
    return take_apart(*expected.joint);
  }
  in_flight_ -= expected.joint != nullptr ? expected.joint->size() : 1;
  if (expected.command != nullptr) {
    expected.command->complete(std::move(outcome));
  }
}

// Sends a joint call again that the server does not know: nobody else would
// ever tell it the script.
bool Pipeline::send_text(std::unique_ptr<Joint>* joint) {
  if (*joint == nullptr) return false;
  const std::size_t before = (*joint)->size();
  const bool again = (*joint)->write_text();
  in_flight_ -= before - (*joint)->size();
  if (!again) return false;
  Joint* const command = joint->get();
  append(command, std::move(*joint));
  return true;
}

// A cluster that was not said to be one, or a proxy that hides one: it has not
// carried out anything, and takes the commands one by one.
void Pipeline::take_apart(const Joint& joint) {
  joins_ = false;
  for (Command* const command : joint.commands()) {
    if (command != nullptr) {
      append(command, nullptr);
    } else {
      --in_flight_;
    }
  }
}

void Pipeline::fail(Failure failure, const std::string& detail) {
  in_flight_ = 0;
  const std::uint64_t sent = outbox_.sent();
  for (const Expected& expected : std::exchange(expected_, {})) {
    if (expected.command == nullptr) continue;
    const bool seen = expected.begin < sent;
    expected.command->complete(
        Outcome::lost(seen ? Outcome::Fate::kUnknown : Outcome::Fate::kNotSent,
                      failure, detail));
  }
  for (Command* const command : gathering_.take_all()) {
    command->complete(Outcome::lost(Outcome::Fate::kNotSent, failure, detail));
  }
}

}  // namespace limitree::redis
