#include "store/redis/drive/line.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <utility>

#include "store/redis/drive/drive.hpp"
#include "store/redis/drive/patience.hpp"

namespace limitree::redis {

namespace {

// What is told to a server's health is told in the time of all.
Monotonic real_now() { return std::chrono::steady_clock::now(); }

}  // namespace

Line::Line(Node* node, const Settings& settings)
    : node_(*node), settings_(settings) {}

Duration Line::silence(Monotonic now) const {
  if (!open() || (ready() && in_flight() == 0)) return Duration::zero();
  const Duration silent = now - heard_;
  const bool unread =
      silent > patience() &&
      wait_for(connection_->fd(), !ready() && wants_write(), Monotonic{});
  return unread ? Duration::zero() : silent;
}

// Why; null if it is not.
const char* Line::given_up(Monotonic now) const {
  const Duration silent = silence(now);
  if (ready()) {
    return silent > std::max(kLongestSilence, patience()) ? "no answer"
                                                          : nullptr;
  }
  const bool lookup = connection_->looks_up();
  const Duration longest = lookup ? kLongestLookup : settings_.connect_timeout;
  return silent > longest ? connection_->waits_for() : nullptr;
}

bool Line::overdue(Monotonic now) {
  if (silence(now) <= patience()) return false;
  node_.health().silent(real_now());
  return true;
}

Outcome Line::expired(bool sent, Monotonic now) {
  const bool silent = overdue(now);
  if (!sent && ready() && !silent) return came_late();
  return timed_out(sent, connection_ ? connection_->waits_for() : "");
}

void Line::connect(Monotonic now) {
  ++generation_;
  was_ready_ = false;
  reported_end_ = false;
  heard_ = now;
  let_go_if_closed();
  connection_.emplace(node_.endpoint(), settings_, node_.login());
  steps_ = connection_->steps();
}

bool Line::prepare(Monotonic now, bool alone) {
  if (open() && alone && (in_flight() > 0 || !ready())) run(now);
  if (open()) {
    const char* const why = given_up(now);
    if (why != nullptr) close(Failure::kTimeout, why);
  }
  if (!open()) connect(now);
  return !overdue(now);
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

void Line::run(Monotonic now) {
  const std::size_t before = in_flight();
  connection_->run();
  let_go_if_closed();
  if (in_flight() < before) heed(now);
  if (was_ready_) return;
  if (connection_->steps() != steps_) heed(now);
  steps_ = connection_->steps();
  if (!ready()) return;
  was_ready_ = true;
  heard_ = now;
  node_.traffic().connects.fetch_add(1, std::memory_order_relaxed);
}

// The server has been heard of.  Who was refused because it was silent need not
// wait until that time is over.
void Line::heed(Monotonic now) {
  if (now - heard_ > patience()) node_.health().let_try(real_now());
  heard_ = now;
}

// The socket is open as long as a copy of it is: to close it tells nobody.
//
// Servers close idle connections, which says nothing against them.
void Line::let_go_if_closed() {
  if (open() || !connection_) return;
  if (read_end_ != nullptr) read_end_->hang_up();
  read_end_.reset();
  if (std::exchange(reported_end_, true)) return;
  const Failure failure = connection_->failure();
  const bool idle =
      was_ready_ && failure == Failure::kLost && !connection_->owed();
  if (is_outage(failure) && !idle) node_.health().failed(real_now());
}

std::shared_ptr<const ReadEnd> Line::read_end() {
  if (read_end_ == nullptr && ready() && open()) {
    read_end_ = std::make_shared<ReadEnd>(fd(), Patience::kBeat);
  }
  return read_end_ != nullptr && read_end_->valid() ? read_end_ : nullptr;
}

void Line::close(Failure failure, const std::string& detail) {
  if (!open()) return;
  // Wakes who may be polling the descriptor: to close it would not.
  shutdown(connection_->fd(), SHUT_RDWR);
  connection_->close(failure, detail);
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
