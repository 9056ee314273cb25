// The primary of a service that sentinels look after.
//
// They are asked one after the other, and the server that one names is asked
// for its ROLE: it is used if it says that it is the primary.  When it refuses
// to write, breaks off or keeps silent, the next call asks again.
//
// A primary that was cut off from the others shows none of that: it goes on,
// and says that it is the primary.  So about once a second, without anybody
// waiting, it is asked for its ROLE and a sentinel for its word, each sentinel
// in turn.  When most of those that were heard name another server, the next
// call asks again.
//
// While no sentinel answers, the last primary is used as long as it says that
// it is one: a call that took too long must not cost the others the store.

#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "store/redis/route/discovery.hpp"

namespace limitree::redis {

class SentinelRouter final : public DiscoveringRouter {
 public:
  // Those of the URL, and others that they name.
  static constexpr std::size_t kMaxSentinels = 16;

  // Between two checks, of which every other is for a sentinel.
  static constexpr Duration kBetweenChecks = std::chrono::milliseconds(500);

  // After a sentinel was asked: nobody waits for its answer, so it may be read
  // only when something is to be sent there again.
  static constexpr Duration kBetweenLooks = std::chrono::milliseconds(20);

  SentinelRouter(const Settings& settings, Traffic* traffic);

  Node* route(const Target& target) override;
  std::unique_ptr<Task> discovery() override;
  Check check_due(Node* node, Monotonic now) override;
  void checked(Node* node, const Outcome& outcome) override;
  bool learn(Node* node, const Target& target, const Outcome& outcome) override;

 private:
  class PrimaryDiscovery;

  struct Sentinel {
    Endpoint endpoint;
    std::optional<Endpoint> word = {};  // the primary, as it said last
    std::uint32_t turn = 0;             // of the last check that went to it
  };

  std::vector<Endpoint> to_ask() override;
  void move_to_back(const Endpoint& asked) override;
  bool found(const Endpoint& sentinel, const Endpoint& primary);
  void found_again(const Endpoint& primary);
  std::optional<Endpoint> last_primary();

  void forget(Node* node);
  void heard(Node* node, const Outcome& outcome);

  // With the mutex held.
  Check next_check(Node* primary, Monotonic now);
  void hear_word(Sentinel* sentinel, Endpoint word);
  void hear_others(const Endpoint& sentinel,
                   const std::vector<Endpoint>& others);
  Sentinel* known(const Endpoint& sentinel);
  void ask_first(const Endpoint& sentinel);
  void ask_last(const Endpoint& sentinel);

  const std::string ask_primary_;  // the commands
  const std::string ask_sentinels_;
  const std::string ask_role_;
  std::atomic<Node*> primary_{nullptr};
  std::atomic<Monotonic> next_check_{Monotonic{}};

  // Guarded by mutex_.
  std::vector<Sentinel> sentinels_;  // in the order of asking
  std::optional<Endpoint> last_primary_;
  Check asked_;  // of a sentinel, and not yet answered
  Monotonic asked_until_;
  bool role_is_next_ = false;  // to be checked
  std::uint32_t turns_ = 0;    // of sentinels in checks
};

}  // namespace limitree::redis
