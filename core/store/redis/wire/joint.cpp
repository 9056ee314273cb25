#include "store/redis/wire/joint.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include "store/redis/wire/reader.hpp"
#include "store/redis/wire/script.hpp"

namespace limitree::redis {

namespace {

// What `make` makes; without words if there is no memory for them.
template <typename Make>
Outcome made(Make make) noexcept {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    Outcome outcome;
    outcome.fate = Outcome::Fate::kUnknown;
    outcome.failure = Failure::kProtocol;
    return outcome;
  }
}

// An error reply of its own for each who gets the same.
Outcome copy_of(const Outcome& outcome) {
  if (outcome.fate != Outcome::Fate::kAnswered) {
    return Outcome::lost(outcome.fate, outcome.failure, outcome.detail);
  }
  Reader reader;
  reader.feed("-" + outcome.detail + "\r\n");
  return Outcome::answered(reader.next());
}

}  // namespace

void Joint::write(bool with_text) {
  std::size_t keys = 0;
  std::size_t bytes = 0;
  const Script* script = nullptr;
  for (const Command* const command : commands_) {
    if (command == nullptr) continue;
    const Joinable part = command->joinable();
    script = part.script;
    keys += part.key_count;
    bytes += part.keys.size();
  }
  const std::string& name = with_text ? script->text : script->sha1;
  bytes_.clear();
  bytes_.reserve(bytes + name.size() + 64);
  append_array(3 + keys, &bytes_);
  append_word(with_text ? "EVAL" : "EVALSHA", &bytes_);
  append_word(name, &bytes_);
  append_word(static_cast<std::int64_t>(keys), &bytes_);
  for (const Command* const command : commands_) {
    if (command != nullptr) bytes_.append(command->joinable().keys);
  }
}

bool Joint::write_text() {
  std::erase(commands_, nullptr);
  if (commands_.empty() || std::exchange(has_text_, true)) return false;
  write(true);
  return true;
}

bool Joint::has(const Command* command) const {
  return std::ranges::find(commands_, command) != commands_.end();
}

void Joint::abandon(const Command* command) {
  std::ranges::replace(commands_, command, nullptr);
}

void Joint::complete(Outcome outcome) noexcept {
  if (outcome.failure != Failure::kNone) return complete_all(outcome);
  redisReply& reply = *outcome.reply;
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != commands_.size()) {
    return complete_all(made([] {
      return Outcome::lost(Outcome::Fate::kUnknown, Failure::kNoDecision,
                           "a reply of more or fewer parts than asked for");
    }));
  }
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    Reply part(std::exchange(reply.element[i], nullptr));
    if (commands_[i] == nullptr) continue;
    commands_[i]->complete(
        made([&] { return Outcome::answered(std::move(part)); }));
  }
}

void Joint::complete_all(const Outcome& outcome) noexcept {
  for (Command* const command : commands_) {
    if (command == nullptr) continue;
    command->complete(made([&] { return copy_of(outcome); }));
  }
}

}  // namespace limitree::redis
