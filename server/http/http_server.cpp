#include "http/http_server.hpp"

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "h2/http2_protocol.hpp"
#include "http/request_reader.hpp"

namespace limitree::server {

namespace {

// No request of HTTP/1.1 begins as HTTP/2 does.
constexpr std::string_view kHttp2 = "PRI";

// A client that has this many bytes to read must read them before its next
// request is answered.
constexpr std::size_t kMaxUnsentAnswers = 64 * 1024;

// HTTP/1.1 has no ping: a silent client may have gone.
constexpr Duration kIdle = 120 * kOneSecond;

// HTTP/1.1 on the connection of a client.  Answers one request after the other;
// this object is the exchange of each. Requests that a client sends before it
// has the previous answers have to wait.
class Http1Protocol final : public Protocol, public Exchange {
 public:
  Http1Protocol(Connection* connection, const HandlerTable* handlers,
                HttpDate* date);
  ~Http1Protocol() override { clear(); }

  const Access& access() const override { return connection_->access(); }

  void on_bytes(std::string_view bytes) override;
  bool takes_bytes() const override;
  void on_input_end() override { last_ = true; }
  void on_written() override;
  bool is_over() const override { return last_ && !busy_; }
  void on_drain() override { idle_since_ = connection_->now(); }
  Monotonic check_times() override;

 private:
  void serve();
  void refuse(int status, std::string_view line);
  void account();
  void send(const HttpAnswer& answer) override;
  void write_head(const HttpAnswer& answer);
  Monotonic due() const;

  Connection* connection_;
  const HandlerTable* handlers_;
  HttpDate* date_;
  RequestReader reader_;
  std::string pending_;                      // bytes that have to wait
  std::size_t accounted_ = 0;                // of the connection's memory
  bool busy_ = false;                        // a request waits for its answer
  bool last_ = false;                        // no more requests follow this one
  Monotonic request_at_ = Monotonic::max();  // when its first byte came
  Monotonic idle_since_;
};

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
         connection_->unsent() <= kMaxUnsentAnswers;
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
  const std::size_t header =
      busy_ || reader_.has_begun() ? reader_.header_bytes() : 0;
  const std::size_t held = header + request().body.size() + pending_.size();
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
                                ? kDrainNotice
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

// ---- Which protocol ---------------------------------------------------------

}  // namespace

// Waits for the first bytes, which tell the protocol.
class HttpServer::Detection final : public Protocol {
 public:
  Detection(Connection* connection, HttpServer* server)
      : connection_(connection),
        server_(server),
        due_(after(connection->now(),
                   connection->settings().handshake_timeout)) {}

  void on_bytes(std::string_view bytes) override {
    opening_ += bytes;
    const bool is_http2 = opening_.starts_with(kHttp2);
    if (!is_http2 && kHttp2.starts_with(opening_)) return;
    const std::string opening = std::move(opening_);
    std::unique_ptr<Protocol> next;
    if (is_http2) {
      next = std::make_unique<Http2Protocol>(connection_, &server_->streams_);
    } else {
      next = std::make_unique<Http1Protocol>(connection_, &server_->handlers_,
                                             &server_->date_);
    }
    connection_->change_protocol(std::move(next), opening);  // destroys this
  }
  void on_input_end() override { connection_->close(); }
  void on_written() override {}
  bool is_over() const override { return false; }
  void on_drain() override {
    due_ = std::min(due_, after(connection_->now(), kDrainNotice));
    connection_->wake_at(due_);
  }
  Monotonic check_times() override {
    if (connection_->now() >= due_) connection_->close();
    return due_;
  }

 private:
  Connection* connection_;
  HttpServer* server_;
  std::string opening_;
  Monotonic due_;
};

MakeProtocol HttpServer::protocols() {
  return [this](Connection* connection) {
    return std::make_unique<Detection>(connection, this);
  };
}

}  // namespace limitree::server
