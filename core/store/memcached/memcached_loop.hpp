// The requests of one event loop.  Of those that have met a conflict over the
// same family, one at a time goes on.

#ifndef LIMITREE_STORE_MEMCACHED_MEMCACHED_LOOP_HPP
#define LIMITREE_STORE_MEMCACHED_MEMCACHED_LOOP_HPP

#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <span>
#include <unordered_map>

#include "base/time.hpp"
#include "store/memcached/decision.hpp"
#include "store/memcached/settings.hpp"
#include "store/remote/drivers/loop.hpp"
#include "store/store.hpp"

namespace limitree::memcached {

class MemcachedLoop final : public StoreLoop {
 public:
  // Everything must outlive it.
  MemcachedLoop(remote::Router* router, const Settings& settings);
  ~MemcachedLoop() override;

  int fd() override { return loop_.fd(); }
  void run() override { loop_.run(); }
  void set_wakeups(bool on) override { loop_.set_wakeups(on); }
  void set_time_limit(Duration limit) override { time_limit_ = limit; }

  // From any thread.
  void start(Pending* pending, const Context& context);

 private:
  class Ticket;
  using Tasks = std::span<std::unique_ptr<remote::AsyncTask>>;
  using Queue = std::deque<std::unique_ptr<Ticket>>;

  void finished(Tasks tasks);
  void finish(std::unique_ptr<Ticket> ticket);
  void pass(std::size_t turn, bool is_over);
  void go_on(std::unique_ptr<Ticket> ticket);

  const Settings& settings_;
  std::atomic<Duration> time_limit_{Duration::max()};
  // Those that wait, by the families that one of them has the turn for.  Only
  // in finished(), which runs on one thread at a time.
  std::unordered_map<std::size_t, Queue> turns_;
  remote::Loop loop_;  // the last: its end completes all tickets
};

}  // namespace limitree::memcached

#endif  // LIMITREE_STORE_MEMCACHED_MEMCACHED_LOOP_HPP
