#include "http/http1_protocol.hpp"

#include <algorithm>
#include <utility>

namespace limitree::server {

namespace {

// A client that has this many bytes to read must read them before its next
// request is answered.
constexpr std::size_t kMaxUnsent = 64 * 1024;

// HTTP/1.1 has no ping: a silent client may have gone.
constexpr Duration kIdle = 120 * kOneSecond;
// While draining: how long the next request may take to come.
constexpr Duration kNotice = kOneSecond;

}  // namespace

Http1Protocol::Http1Protocol(Connection* connection,
                             const HandlerTable* handlers, HttpDate* date)
    : connection_(connection),
      handlers_(handlers),
      date_(date),
      reader_(mutable_request(), {connection->settings().max_header_bytes,
                                  handlers->max_body_bytes()}),
      idle_since_(connection->now()) {}

// ---- Requests ---------------------------------------------------------------

bool Http1Protocol::takes_bytes() const {
  return !busy_ && !last_ && pending_.empty() &&
         connection_->unsent() <= kMaxUnsent;
}

void Http1Protocol::on_bytes(std::string_view bytes) {
  while (takes_bytes() && !bytes.empty()) {
    if (!reader_.has_begun()) request_at_ = connection_->now();
    switch (reader_.next(&bytes)) {
      case RequestReader::Step::kRequest:
        serve();
        break;
      case RequestReader::Step::kMore:
        if (reader_.take_expectation()) {
          connection_->out() += "HTTP/1.1 100 Continue\r\n\r\n";
        }
        break;
      case RequestReader::Step::kBad:
        refuse(reader_.status(), reader_.reason());
        break;
    }
  }
  if (!last_) pending_.assign(bytes);
  account();
}

void Http1Protocol::serve() {
  busy_ = true;
  last_ = !reader_.keeps_alive();
  mutable_request()->begun = request_at_;
  handlers_->serve(this);
}

void Http1Protocol::refuse(int status, std::string_view line) {
  busy_ = last_ = true;
  answer_text(this, status, line);
}

// Counts what the client makes the connection hold, besides what is not sent.
void Http1Protocol::account() {
  const std::size_t held = request().body.size() + pending_.size();
  connection_->memory().change(accounted_, held);
  accounted_ = held;
  if (!busy_ && !last_ && connection_->memory().is_used_up()) {
    refuse(503, "too many requests are not complete");
  }
}

// ---- Answers ----------------------------------------------------------------

void Http1Protocol::send(const HttpAnswer& answer) {
  if (!busy_) return;
  last_ = last_ || connection_->is_draining();
  write_head(answer);
  if (request().method != "HEAD") connection_->out() += answer.body;
  busy_ = false;
  idle_since_ = connection_->now();
  clear();
  connection_->write_soon();
}

void Http1Protocol::write_head(const HttpAnswer& answer) {
  std::string& out = connection_->out();
  out += "HTTP/1.1 ";
  out += std::to_string(answer.status);
  out += ' ';
  out += reason_of(answer.status);
  out += "\r\nContent-Type: ";
  out += answer.content_type;
  out += "\r\nContent-Length: ";
  out += std::to_string(answer.body.size());
  out += "\r\nDate: ";
  out += date_->now();
  out += "\r\n";
  out += answer.fields;
  if (last_) {
    out += "Connection: close\r\n";
  } else if (!request().field("connection").empty()) {
    out += "Connection: keep-alive\r\n";  // needed by HTTP/1.0
  }
  out += "\r\n";
}

// Continues with requests that had to wait for the answer.
void Http1Protocol::on_written() {
  if (busy_ || pending_.empty()) {
    account();
  } else {
    on_bytes(std::exchange(pending_, {}));
  }
  connection_->wake_at(due());
}

// ---- Time -------------------------------------------------------------------

// When there is something to do, if nothing happens before.
Monotonic Http1Protocol::due() const {
  const ConnectionSettings& settings = connection_->settings();
  if (busy_ || connection_->is_blocked()) return Monotonic::max();
  if (reader_.has_begun()) return after(request_at_, settings.request_timeout);
  return after(idle_since_, connection_->is_draining()
                                ? kNotice
                                : std::min(settings.max_idle, kIdle));
}

Monotonic Http1Protocol::check_times() {
  const Monotonic next = due();
  if (connection_->now() < next) return next;
  if (reader_.has_begun()) {
    refuse(408, "the request was not complete in time");
  } else {
    last_ = true;
    connection_->write_soon();
  }
  return Monotonic::max();
}

}  // namespace limitree::server
