#include "store/redis/wire/pipeline.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <string_view>

#include "store/redis/wire/reader.hpp"

namespace limitree::redis {

namespace {

// The outcome that `make` returns; one without words if memory runs out.
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

// A separate copy for each command that gets the same error reply.
Outcome copy_of(const Outcome& outcome) {
  if (outcome.fate != Outcome::Fate::kAnswered) {
    return Outcome::lost(outcome.fate, outcome.failure, outcome.detail);
  }
  Reader reader;
  reader.feed("-" + outcome.detail + "\r\n");
  return answered(reader.next());
}

constexpr std::string_view kAsking = "*1\r\n$6\r\nASKING\r\n";
constexpr std::string_view kCrossSlot = "CROSSSLOT ";

}  // namespace

// ---- Joint ------------------------------------------------------------------

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
  redisReply& reply = redis_reply(outcome);
  if (reply.type != REDIS_REPLY_ARRAY || reply.elements != commands_.size()) {
    return complete_all(made([] {
      return Outcome::lost(Outcome::Fate::kUnknown, Failure::kNoDecision,
                           "a reply of more or fewer parts than asked for");
    }));
  }
  for (std::size_t i = 0; i < commands_.size(); ++i) {
    Reply part(std::exchange(reply.element[i], nullptr));
    if (commands_[i] == nullptr) continue;
    commands_[i]->complete(made([&] { return answered(std::move(part)); }));
  }
}

void Joint::complete_all(const Outcome& outcome) noexcept {
  for (Command* const command : commands_) {
    if (command == nullptr) continue;
    command->complete(made([&] { return copy_of(outcome); }));
  }
}

// ---- Gathering --------------------------------------------------------------

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

Command* Gathering::pop() {
  Command* const command = all_[first_].command;
  remove_front(1);
  return command;
}

// ---- Pipeline ---------------------------------------------------------------

void Pipeline::push(Command* command, bool asking) {
  if (joins_ && !asking && command->joinable().script != nullptr) {
    gathering_.push(command);
    ++in_flight_;
    return;
  }
  join();  // it was there before
  if (asking) {
    put({nullptr, true, 0, 0, nullptr}, kAsking);
  }
  append(command, nullptr);
  ++in_flight_;
}

// A reply that is not expected would be that of another command.
void Pipeline::put(Expected expected, std::string_view bytes) {
  expected.begin = outbox_.end();
  expected.end = expected.begin + bytes.size();
  expected_.push(std::move(expected));
  try {
    outbox_.tail()->append(bytes);
  } catch (...) {
    expected_.erase(expected_.end() - 1, expected_.end());
    throw;
  }
}

void Pipeline::append(Command* command, std::unique_ptr<Joint> joint) {
  put({command, false, 0, 0, std::move(joint)}, command->bytes());
  const std::uint64_t number = expected_.end_number() - 1;
  set_place(*expected_.at(number), number);
}

void Pipeline::set_place(const Expected& expected, std::uint64_t number) {
  if (expected.joint == nullptr) {
    if (expected.command != nullptr) expected.command->set_place(number);
    return;
  }
  for (Command* const command : expected.joint->commands()) {
    if (command != nullptr) command->set_place(number);
  }
}

// Null if no reply is due to it.
Expected* Pipeline::find(const Command* command) {
  Expected* const due = expected_.at(command->place());
  if (due == nullptr) return nullptr;
  const bool is_it = due->joint == nullptr ? due->command == command
                                           : due->joint->has(command);
  return is_it ? due : nullptr;
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
  Expected* const found = find(command);
  if (found == nullptr) return false;
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
    gathering_.reserve(found->joint->size());  // before anything changes
    for (Command* const other : found->joint->commands()) {
      if (other != nullptr && other != command) gathering_.push(other);
    }
  }
  const std::uint64_t size = found->end - first->begin;
  outbox_.take_back(first->begin, found->end);
  std::uint64_t number = command->place() - (asks ? 1 : 0);
  for (Expected* later = found + 1; later != expected_.end(); ++later) {
    later->begin -= size;
    later->end -= size;
    set_place(*later, number++);
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
  // The command was redirected again, to where it came from: that would go
  // round and round, and no caller would learn that a permission is missing.
  if (no_asking_ != nullptr) reply = std::move(no_asking_);
  Outcome outcome = made([&] { return answered(std::move(reply)); });
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

// Sends a joint call again, with its text, if the server does not know its
// script: no other command would load that script.
bool Pipeline::send_text(std::unique_ptr<Joint>* joint) {
  if (*joint == nullptr) return false;
  const std::size_t before = (*joint)->size();
  in_flight_ -= before;  // if memory runs out, deadlines end its calls
  const bool again = (*joint)->write_text();
  const std::size_t count = (*joint)->size();
  if (again) {
    Joint* const command = joint->get();
    append(command, std::move(*joint));
  }
  in_flight_ += count;
  return again;
}

// The server is a cluster that was not configured as one, or a proxy that hides
// one: it has not carried out anything, and takes the commands one by one.
void Pipeline::take_apart(const Joint& joint) {
  joins_ = false;
  in_flight_ -= joint.size();
  for (Command* const command : joint.commands()) {
    if (command == nullptr) continue;
    append(command, nullptr);
    ++in_flight_;
  }
}

void Pipeline::fail(Failure failure, std::string_view detail) noexcept {
  in_flight_ = 0;
  const std::uint64_t sent = outbox_.sent();
  for (const Expected& expected : std::exchange(expected_, {})) {
    if (expected.command == nullptr) continue;
    const bool seen = expected.begin < sent;
    expected.command->complete(Outcome::lost_anyway(
        seen ? Outcome::Fate::kUnknown : Outcome::Fate::kNotSent, failure,
        detail));
  }
  while (!gathering_.empty()) {
    gathering_.pop()->complete(
        Outcome::lost_anyway(Outcome::Fate::kNotSent, failure, detail));
  }
}

}  // namespace limitree::redis
