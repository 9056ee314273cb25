#include "store/memcached/memcached_dialog.hpp"

#include <utility>

namespace limitree::memcached {

using remote::Command;
using remote::Failure;
using remote::Outcome;

namespace {

constexpr std::string_view kServer = "SERVER_ERROR ";

using Text = std::pair<std::string_view, Failure>;

// How errors of memcached 1.6 begin.
constexpr Text kTexts[] = {
    {"CLIENT_ERROR unauthenticated", Failure::kNoAuth},
    {"CLIENT_ERROR authentication failure", Failure::kWrongPass},
    {"SERVER_ERROR object too large", Failure::kTooLarge},
    {"SERVER_ERROR out of memory", Failure::kOom},
    {"SERVER_ERROR Out of memory", Failure::kOom},
    {"SERVER_ERROR too many open connections", Failure::kMaxClients},
    {"ERROR Too many open connections", Failure::kMaxClients},
};

Failure failure_of_line(std::string_view line) {
  for (const Text& one : kTexts) {
    if (line.starts_with(one.first)) return one.second;
  }
  return Failure::kOther;
}

std::string detail_of(std::string_view line) {
  if (line == "ERROR") {
    return "the server does not know meta commands: memcached 1.6 has them";
  }
  return std::string(line);
}

// Whether the server has read the line that it reports.
bool is_in_step(std::string_view line) { return line.starts_with(kServer); }

}  // namespace

// Its own file of users takes any key.
bool MemcachedDialog::greet(std::string* out) {
  if (url_.password.empty()) return true;
  const std::string login = url_.user + " " + url_.password;
  out->append("set limitree 0 0 " + std::to_string(login.size()) + "\r\n");
  out->append(login).append("\r\n");
  logging_in_ = true;
  return false;
}

remote::Dialog::Event MemcachedDialog::greeted(const Response& response) {
  logging_in_ = false;
  if (response.kind == Response::Kind::kDone) return Event::kReady;
  if (response.kind != Response::Kind::kError) {
    return fail_with(Failure::kProtocol, "not an answer to the login");
  }
  const Failure failure = failure_of_line(response.text);
  return fail_with(failure == Failure::kOther ? Failure::kWrongPass : failure,
                   "the login was refused: " + response.text);
}

void MemcachedDialog::push(Command* command, bool /*asking*/) {
  const std::uint64_t begin = outbox_.end();
  outbox_.tail()->append(command->bytes());
  command->set_place(gone_ + due_.size());
  due_.push_back({command, begin, outbox_.end(), command->replies()});
}

bool MemcachedDialog::abandon(const Command* command) {
  const std::uint64_t at = command->place() - gone_;
  if (at >= due_.size() || due_[at].command != command) return false;
  if (due_[at].begin < outbox_.sent()) {
    due_[at].command = nullptr;
    return true;
  }
  const std::uint64_t size = due_[at].end - due_[at].begin;
  outbox_.take_back(due_[at].begin, due_[at].end);
  due_.erase(due_.begin() + static_cast<std::ptrdiff_t>(at));
  for (std::uint64_t later = at; later < due_.size(); ++later) {
    Due& due = due_[later];
    due.begin -= size;
    due.end -= size;
    if (due.command != nullptr) due.command->set_place(gone_ + later);
  }
  return false;
}

bool MemcachedDialog::has_sent() {
  return !due_.empty() && due_.front().begin < outbox_.sent();
}

void MemcachedDialog::fail(Failure failure, const std::string& detail) {
  const std::uint64_t sent = outbox_.sent();
  gone_ += due_.size();
  responses_.reset();
  for (const Due& due : std::exchange(due_, {})) {
    if (due.command == nullptr) continue;
    due.command->complete(Outcome::lost(
        due.begin < sent ? Outcome::Fate::kUnknown : Outcome::Fate::kNotSent,
        failure, detail));
  }
}

remote::Dialog::Event MemcachedDialog::next() {
  std::optional<Response> response = reader_.next();
  if (!response) {
    if (!reader_.failed()) return Event::kNothing;
    return fail_with(Failure::kProtocol, reader_.detail());
  }
  if (logging_in_) return greeted(*response);
  if (due_.empty() || due_.front().end > outbox_.sent()) {
    const bool is_error = response->kind == Response::Kind::kError;
    const Failure failure =
        is_error ? failure_of_line(response->text) : Failure::kOther;
    if (is_outage(failure)) return fail_with(failure, response->text);
    return fail_with(Failure::kProtocol, "a reply that nobody asked for");
  }
  if (response->kind == Response::Kind::kError && !is_in_step(response->text)) {
    const Failure failure = failure_of_line(response->text);
    return fail_with(failure == Failure::kOther ? Failure::kProtocol : failure,
                     detail_of(response->text));
  }
  if (responses_ == nullptr) {
    responses_ = std::make_unique<Responses>();
    responses_->reserve(due_.front().replies);
  }
  responses_->push_back(std::move(*response));
  return responses_->size() < due_.front().replies ? Event::kAnswered
                                                   : answer();
}

// The failure is that of the first line that has one; the other lines have been
// carried out.
remote::Dialog::Event MemcachedDialog::answer() {
  Outcome outcome;
  outcome.fate = Outcome::Fate::kAnswered;
  for (const Response& response : *responses_) {
    if (response.kind != Response::Kind::kError) continue;
    outcome.failure = failure_of_line(response.text);
    outcome.detail = detail_of(response.text);
    break;
  }
  outcome.reply =
      remote::Reply(responses_.release(),
                    {[](void* made) { delete static_cast<Responses*>(made); }});
  Command* const command = due_.front().command;
  due_.pop_front();
  ++gone_;
  if (command != nullptr) command->complete(std::move(outcome));
  return Event::kAnswered;
}

}  // namespace limitree::memcached
