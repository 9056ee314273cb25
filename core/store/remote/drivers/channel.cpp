#include "store/remote/drivers/channel.hpp"

#include <algorithm>
#include <utility>

#include "io/socket.hpp"

namespace limitree::remote {

namespace {

using SteadyClock = std::chrono::steady_clock;

// While no more commands than this are in flight, writing at once saves the
// newest command its wait; with more of them, a write for each would cost more.
constexpr std::size_t kFewInFlight = 4;

// More of them cannot be answered within any sensible deadline.
constexpr std::size_t kMaxInFlight = 4096;

}  // namespace

// A caller, and its command.  It lives on the caller's stack, and it is in one
// of the channel's lists until it is over.
struct Channel::Waiter final : Command {
  enum class State : std::uint8_t {
    kWaiting,    // in the list of newest_
    kCompleted,  // in the list of done_, or woken
    kExpired,    // in no list: not yet, or the caller itself gave up
  };

  Waiter(Channel* of, const Task& what, Patience* of_caller)
      : channel(*of), task(what), patience(*of_caller) {}

  std::string_view bytes() const override { return task.bytes(); }
  Joinable joinable() const override { return task.joinable(); }
  std::size_t replies() const override { return task.replies(); }

  void complete(Outcome result) noexcept override {
    outcome = std::move(result);
    unlink();
    state = State::kCompleted;
    next = nullptr;
    Waiter*& last = channel.last_done_;
    (channel.done_ == nullptr ? channel.done_ : last->next) = this;
    last = this;
  }

  void link() {
    next = channel.newest_;
    if (next != nullptr) next->previous = this;
    channel.newest_ = this;
    state = State::kWaiting;
  }

  void unlink() {
    (previous != nullptr ? previous->next : channel.newest_) = next;
    if (next != nullptr) next->previous = previous;
  }

  bool over() const { return state != State::kWaiting; }

  Channel& channel;
  const Task& task;
  Patience& patience;
  Waiter* previous = nullptr;
  Waiter* next = nullptr;
  State state = State::kExpired;
  Outcome outcome;
  Wakeup wakeup;
};

// A command that nobody waits for.
class Channel::Posted final : public Command {
 public:
  std::string_view bytes() const override { return words; }

  void complete(Outcome result) noexcept override {
    outcome = std::move(result);
    due = false;
    answered.store(true, std::memory_order_release);
  }

  std::string words;
  bool due = false;
  Outcome outcome;
  std::atomic<bool> answered{false};
};

// Holds the mutex.  Once it has released it, wakes callers whose commands were
// completed: the first thing that they do may be to lock it.
class Channel::Turn {
 public:
  explicit Turn(Channel* channel) : channel_(*channel) {
    channel_.mutex_.lock();
  }

  ~Turn() {
    const Wakeup::Sleeper reader = std::exchange(channel_.appointed_, {});
    Waiter* done = std::exchange(channel_.done_, nullptr);
    channel_.mutex_.unlock();
    reader.wake();
    while (done != nullptr) {
      // Once it is woken, it may be gone.
      Waiter* const next = done->next;
      done->wakeup.set(Wakeup::Word::kDone).wake();
      done = next;
    }
  }

  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  Channel& channel_;
};

Channel::Channel(Node* node, const Settings& settings)
    : look_(settings.low_latency),
      posted_(std::make_unique<Posted>()),
      connection_(node, settings) {}

Channel::~Channel() = default;

bool Channel::join(std::int32_t callers) {
  if (callers == 0) {
    return callers_.compare_exchange_strong(callers, 1,
                                            std::memory_order_relaxed);
  }
  callers_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::optional<Outcome> Channel::exchange(const Task& task, Patience* patience) {
  Waiter me(this, task, patience);
  try {
    switch (begin(&me, task.target().asking)) {
      case Role::kElsewhere:
        return std::nullopt;
      case Role::kWait:
        wait(&me);
        break;
      case Role::kRead:
        read(&me);
        break;
      case Role::kLeave:
        break;
    }
  } catch (...) {
    if (!let_go(&me)) throw;
  }
  // The thread that completed it still has to let go of it.
  Wakeup::Word word = Wakeup::Word::kNone;
  while (me.state == Waiter::State::kCompleted && word != Wakeup::Word::kDone) {
    word = me.wakeup.wait(word, Monotonic::max());
  }
  return std::move(me.outcome);
}

// The role of the reader is claimed before the mutex is released for the first
// time: otherwise another caller might become the reader and read this answer.
Channel::Role Channel::begin(Waiter* me, bool asking) {
  const Turn turn(this);
  // Its time begins when the command can be sent.
  me->patience.skip_to(SteadyClock::now());
  const Monotonic now = running_time(me->patience.looked());
  if (!connection_.prepare(now, !has_reader())) return Role::kElsewhere;
  if (connection_.in_flight() >= kMaxInFlight) {
    me->outcome = Outcome::lost(Outcome::Fate::kNotSent, Failure::kBackoff,
                                "too many commands are in flight");
    return Role::kLeave;
  }
  me->link();
  const bool reads = !has_reader();
  if (reads) {
    reader_ = me;
    reader_generation_ = connection_.generation();
  }
  connection_.push(me, asking, now);
  if (reads || connection_.in_flight() <= kFewInFlight) connection_.flush();
  if (!me->over()) return reads ? Role::kRead : Role::kWait;
  pass_on(me);
  return Role::kLeave;
}

void Channel::wait(Waiter* me) {
  for (;;) {
    switch (me->wakeup.wait(Wakeup::Word::kNone, me->patience.wait_until())) {
      case Wakeup::Word::kDone:
        return;
      case Wakeup::Word::kRead:
        return read(me);
      default:
        break;
    }
    if (take_beat(me)) return;
  }
}

// A caller that has waited for long itself reads what has come and sends what
// is not sent yet: the reader may have no processor.  Returns whether its wait
// is over.
bool Channel::take_beat(Waiter* me) {
  const Turn turn(this);
  if (me->over()) return true;
  const Monotonic now = me->patience.look(SteadyClock::now());
  const Monotonic time = running_time(now);
  connection_.run(time);
  if (!me->over() && me->patience.over()) expire(me);
  if (me->over()) pass_on(me);
  return me->over();
}

void Channel::read(Waiter* me) {
  std::optional<bool> readable;
  for (;;) {
    std::shared_ptr<const ReadEnd> end;
    int fd = -1;
    bool write = false;
    {
      const Turn turn(this);
      if (step(me, readable)) return;
      fd = connection_.fd();
      write = connection_.wants_write();
      if (!write) end = connection_.read_end();
    }
    const Monotonic until = me->patience.wait_until();
    readable = end != nullptr ? end->wait(until) : wait_for(fd, write, until);
  }
}

// Returns whether `me` is done with reading.  `readable`: what the wait found,
// if there was one.
bool Channel::step(Waiter* me, std::optional<bool> readable) {
  const Monotonic now = me->patience.look(SteadyClock::now());
  const Monotonic time = running_time(now);
  if (!me->over()) {
    // Nothing expires before what has come is read.
    if (readable.value_or(false) || me->patience.over()) connection_.run(time);
    if (!me->over() && !readable) look(me, now);
    if (!me->over() && me->patience.over()) expire(me);
  }
  if (!me->over()) return false;
  pass_on(me);
  return true;
}

// The time in which the callers that wait here could run, as the connection
// sees it: silence counts against the server only while a caller listens.
Monotonic Channel::running_time(Monotonic now) {
  if (now > looked_) {
    if (newest_ != nullptr) lost_ += Patience::lost(now - looked_);
    looked_ = now;
  }
  return looked_ - lost_;
}

// Only as long as nobody else wants the channel: others would wait for us.
void Channel::look(Waiter* me, Monotonic now) {
  if (callers() > 1 || !connection_.ready() || !look_.begin(now)) return;
  do {
    connection_.run(running_time(now));
    now = SteadyClock::now();
    if (me->over()) return look_.found(now);
  } while (look_.found_nothing(now) && callers() == 1);
}

void Channel::expire(Waiter* me) {
  const bool sent = connection_.abandon(me);
  me->outcome = connection_.expired(sent, looked_ - lost_);
  me->unlink();
  me->state = Waiter::State::kExpired;
}

// Memory ran out: nothing may refer to a caller that is gone.  Returns whether
// its command has been completed all the same.
bool Channel::let_go(Waiter* me) noexcept {
  const Turn turn(this);
  try {
    if (!me->over()) {
      connection_.abandon(me);
      me->unlink();
      me->state = Waiter::State::kExpired;
    }
    pass_on(me);  // or else the others read by themselves, beat by beat
  } catch (...) {
    if (!me->over()) connection_.close(Failure::kLost, "no memory");
  }
  return me->state == Waiter::State::kCompleted;
}

// A caller that is not the reader may close the connection when it fails to
// write.  Then all callers have been completed, the reader among them, and it
// stops reading by itself.
bool Channel::has_reader() const {
  return reader_ != nullptr && connection_.open() &&
         reader_generation_ == connection_.generation();
}

void Channel::appoint(Waiter* reader) {
  reader_ = reader;
  reader_generation_ = connection_.generation();
  appointed_.wake();  // of a caller that was completed before it could read
  appointed_ = reader->wakeup.set(Wakeup::Word::kRead);
}

// To the newest caller: its answer comes last, so it reads for all before it.
void Channel::pass_on(Waiter* from) {
  if (reader_ != from) return;
  reader_ = nullptr;
  if (newest_ != nullptr && connection_.unsent() > 0) connection_.flush();
  if (newest_ != nullptr) appoint(newest_);
}

bool Channel::read_late(Monotonic at) {
  const Turn turn(this);
  if (connection_.open() && !has_reader()) connection_.run(running_time(at));
  return connection_.open();
}

void Channel::renew(Monotonic at) {
  const Turn turn(this);
  if (connection_.open() && !has_reader()) connection_.renew(running_time(at));
}

void Channel::post(std::string_view bytes, Monotonic at) {
  const Turn turn(this);
  const Monotonic now = running_time(at);
  if (!connection_.prepare(now, !has_reader())) return;
  if (posted_->due || posted_->answered.load(std::memory_order_relaxed)) return;
  posted_->words = bytes;
  posted_->due = true;
  try {
    connection_.push(posted_.get(), false, now);
  } catch (...) {
    posted_->due = false;
    throw;
  }
  connection_.flush();
}

std::optional<Outcome> Channel::take_posted() {
  if (!posted_->answered.load(std::memory_order_acquire)) return std::nullopt;
  const Turn turn(this);
  if (!posted_->answered.exchange(false)) return std::nullopt;
  return std::move(posted_->outcome);
}

void Channel::drop(Failure failure, const std::string& detail) {
  const Turn turn(this);
  connection_.close(failure, detail);
}

void Channel::after_fork_in_child() {
  connection_.abandon_after_fork();
  newest_ = nullptr;
  reader_ = nullptr;
  posted_->due = false;
  posted_->answered = false;
  callers_ = 0;
  mutex_.unlock();
}

}  // namespace limitree::remote
