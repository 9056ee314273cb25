// The servers of a service, by its SRV records (RFC 2782).

#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/time.hpp"
#include "io/endpoint.hpp"
#include "io/lookup.hpp"
#include "io/timer.hpp"

namespace limitree {

struct SrvList {
  // More are refused: each of them has connections.
  static constexpr std::size_t kMaxServers = 256;

  // Those of the best priority, sorted by name and port, and without doubles:
  // processes that share a service get the same list, whatever the order in
  // which name servers answer.  Weights do not matter.
  std::vector<Endpoint> servers;
  Duration time_to_live{};  // of the record that ends first
};

// Reads the answer of a name server.  Returns what is wrong with it; "" if
// there are servers.
std::string read_srv(std::span<const unsigned char> answer, SrvList* list);

// One question for the servers of a name.
class SrvLookup final : public Lookup {
 public:
  explicit SrvLookup(std::string name) : name_(std::move(name)) {}

  // Once done().
  SrvList& list() { return list_; }

 private:
  std::string ask() override;

  const std::string name_;
  SrvList list_;
};

// The servers of a name, asked for again from time to time.
//
// Nothing is asked before the first look(), and nothing while nobody looks.  An
// answer that fails changes nothing: the last list stays.
//
// From any thread.
class SrvServers {
 public:
  // A list is good for its time to live within these bounds, unless there is a
  // fixed time.
  static constexpr Duration kLeastTime = 5 * kOneSecond;
  static constexpr Duration kMostTime = 3'600 * kOneSecond;
  // The time from a failure to the next question.
  static constexpr Duration kRetryTime = 5 * kOneSecond;

  // Gets each list that differs from the last one; one call at a time.
  using Listener = std::function<void(const std::vector<Endpoint>& servers)>;

  // `refresh` is the time that a list is good for; zero: see above.
  SrvServers(std::string name, Duration refresh, Listener listener);

  // Starts a look-up if one is due, or takes the answer to the last one.  Does
  // not wait.
  void look(Monotonic now) {
    if (now.time_since_epoch().count() >= look_at_.load()) look_now(now);
  }

  // The question under way; null if nothing is asked.
  std::shared_ptr<Lookup> asked();
  // Why the last look-up has failed; "" if it has not.
  std::string detail();

  // Around a fork().
  void before_fork() { mutex_.lock(); }
  void after_fork() { mutex_.unlock(); }
  void after_fork_in_child();

 private:
  void look_now(Monotonic now);
  Monotonic take_answer(Monotonic now);

  const std::string name_;
  const Duration refresh_;
  const Listener listener_;
  // When there is something to do, at the earliest; the first instant while
  // there is a question.
  std::atomic<Monotonic::rep> look_at_{
      Monotonic::min().time_since_epoch().count()};
  std::mutex mutex_;  // guards all below
  std::vector<Endpoint> servers_;
  std::string detail_;
  std::shared_ptr<SrvLookup> asked_;
  Monotonic next_ = Monotonic::min();  // when to ask again
};

}  // namespace limitree
