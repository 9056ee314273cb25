#include "store/redis/line.hpp"

#include <sys/socket.h>

#include <algorithm>

namespace limitree::redis {

Line::Line(const Endpoint& endpoint, const Settings& settings,
           const Login& login, Traffic* traffic)
    : endpoint_(endpoint),
      settings_(settings),
      login_(login),
      traffic_(traffic) {}

Duration Line::silence(Monotonic now) const {
  return ready() && in_flight() > 0 ? now - heard_ : Duration::zero();
}

bool Line::given_up(Monotonic now) const {
  return ready() ? silence(now) > std::max(kLongestSilence, patience())
                 : now - heard_ > kLongestConnecting;
}

void Line::connect(Monotonic now) {
  ++generation_;
  was_ready_ = false;
  heard_ = now;
  let_go_if_closed();
  connection_.emplace(endpoint_, settings_, login_);
}

bool Line::prepare(Monotonic now, bool alone) {
  if (open() && alone && (in_flight() > 0 || !ready())) run(now);
  if (open() && given_up(now)) {
    close(Trouble::kTimeout, ready() ? "no answer" : "no connection");
  }
  if (!open()) connect(now);
  return silence(now) <= patience();
}

void Line::push(Command* command, bool asking, Monotonic now) {
  if (in_flight() == 0 && ready()) heard_ = now;
  connection_->push(command, asking);
}

bool Line::abandon(Command* command) { return connection_->abandon(command); }

void Line::flush() {
  if (!open()) return;
  connection_->flush();
  let_go_if_closed();
}

void Line::run(Monotonic now, std::string_view taken) {
  const std::size_t before = in_flight();
  connection_->run(taken);
  let_go_if_closed();
  if (in_flight() < before) heard_ = now;
  if (was_ready_ || !ready()) return;
  was_ready_ = true;
  heard_ = now;
  traffic_->connects.fetch_add(1, std::memory_order_relaxed);
}

// The socket is open as long as a copy of it is: to close it tells nobody.
void Line::let_go_if_closed() {
  if (open() || read_end_ == nullptr) return;
  read_end_->hang_up();
  read_end_.reset();
}

std::shared_ptr<const ReadEnd> Line::read_end() {
  if (read_end_ == nullptr && ready() && open()) {
    read_end_ = std::make_shared<ReadEnd>(fd(), settings_.timeout,
                                          settings_.tls_context == nullptr);
  }
  return read_end_ != nullptr && read_end_->valid() ? read_end_ : nullptr;
}

void Line::close(Trouble trouble, const std::string& detail) {
  if (!open()) return;
  // Wakes who may be polling the descriptor: to close it would not.
  shutdown(connection_->fd(), SHUT_RDWR);
  connection_->close(trouble, detail);
  let_go_if_closed();
}

// Threads of the parent may have held the copy: nobody will give it back.
void Line::abandon_after_fork() {
  if (connection_) connection_->abandon_after_fork();
  connection_.reset();
  if (read_end_ != nullptr) read_end_->close();
  read_end_.reset();
}

}  // namespace limitree::redis
