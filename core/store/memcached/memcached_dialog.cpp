#include "store/memcached/memcached_dialog.hpp"

#include <utility>

#include "base/digits.hpp"

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

// Its own file of users takes any key.  A server without one stores it: then it
// has expired already, so that nobody can read the password.
bool MemcachedDialog::greet(std::string* out) {
  if (url_.password.empty()) return true;
  const std::string login = url_.user + " " + url_.password;
  out->append("set limitree 0 -1 " + std::to_string(login.size()) + "\r\n");
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
  const std::string_view bytes = command->bytes();
  const std::uint64_t begin = outbox_.end();
  due_.push_back({command, begin, begin + bytes.size(), command->replies()});
  // A line whose reply nobody expects would shift all later ones.
  try {
    outbox_.tail()->append(bytes);
  } catch (...) {
    due_.pop_back();
    throw;
  }
  command->set_place(gone_ + due_.size() - 1);
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

void MemcachedDialog::fail(Failure failure, std::string_view detail) noexcept {
  const std::uint64_t sent = outbox_.sent();
  responses_.reset();
  for (; !due_.empty(); due_.pop_front(), ++gone_) {
    const Due& due = due_.front();
    if (due.command == nullptr) continue;
    due.command->complete(Outcome::lost_anyway(
        due.begin < sent ? Outcome::Fate::kUnknown : Outcome::Fate::kNotSent,
        failure, detail));
  }
}

// How much must have been sent before such a response to the next line of the
// first command: all of the line, which has its value after it if it is an ms.
// A server refuses an item that is too large before its bytes have come.
std::uint64_t MemcachedDialog::sent_for(const Response& response) const {
  const Due& due = due_.front();
  if (due.end <= outbox_.sent()) return due.end;
  constexpr std::string_view kLineEnd = "\r\n";
  // Nothing of a command is dropped before all of it has been sent.
  const std::string_view bytes = outbox_.between(due.begin, due.end);
  std::size_t begin = 0;
  std::size_t end = 0;
  for (std::size_t i = 0; i <= responses_->size(); ++i) {
    begin = end;
    end = bytes.find(kLineEnd, begin);
    if (end == bytes.npos) return due.end;
    const std::string_view line = bytes.substr(begin, end - begin);
    end += kLineEnd.size();
    if (!line.starts_with("ms ")) continue;
    std::size_t size = 0;
    const std::string_view rest = line.substr(line.find(' ', 3) + 1);
    read_digits(rest.substr(0, rest.find(' ')), &size);
    end += size + kLineEnd.size();
  }
  const bool is_error = response.kind == Response::Kind::kError;
  return due.begin + (is_error ? begin + 1 : end);
}

bool MemcachedDialog::is_asked_for(const Response& response) const {
  return !due_.empty() && outbox_.sent() >= sent_for(response);
}

remote::Dialog::Event MemcachedDialog::next() {
  if (is_whole()) return answer();  // memory ran out then
  // Before anything is taken that must not be lost.
  if (responses_ == nullptr) responses_ = std::make_unique<Responses>();
  if (!due_.empty()) responses_->reserve(due_.front().replies);
  std::optional<Response> response = reader_.next();
  if (!response) {
    if (!reader_.failed()) return Event::kNothing;
    return fail_with(Failure::kProtocol, reader_.detail());
  }
  if (logging_in_) return greeted(*response);
  if (!is_asked_for(*response)) {
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
  responses_->push_back(std::move(*response));
  return is_whole() ? answer() : Event::kAnswered;
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
