// One request of the limiter through memcached: reads its families, decides,
// and writes what has changed, each on the condition that nobody else has.
//
//   read -> decide -> (write -> (undo ->) read ...)
//
// If others were faster, it starts again once no other caller of this process
// competes for the same family, and then after a short pause each time.  What
// it had written to other families by then is taken back: the old bytes, if
// nobody has changed the item since.  Else it stays charged, and is not charged
// again: time may have given some of it back already.  So the admitted total
// never exceeds a limit: what was charged can deny another request, but not
// admit one.
//
// Operations that are never denied leave what they have written: each of their
// families is independent of the others.
//
// Does no I/O.

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/plan.hpp"
#include "base/status.hpp"
#include "base/time.hpp"
#include "store/clock.hpp"
#include "store/memcached/family_item.hpp"
#include "store/memcached/reader.hpp"
#include "store/memcached/servers.hpp"
#include "store/memcached/settings.hpp"
#include "store/remote/common/family.hpp"
#include "store/remote/route/task.hpp"
#include "store/remote/wire/command.hpp"

namespace limitree::memcached {

class ItemBucket;  // item_buckets.hpp

// What all requests of a store have in common.
struct Context {
  const Settings& settings;
  Servers& servers;
  const Clock& clock;
  std::uint64_t writer;  // who we are, if the clock is the caller's; or 0
};

// What a request is told that does not know which server to ask.
Status no_server(const std::string& why);

class Decision {
 public:
  enum class Kind : std::uint8_t { kDecide, kForget };

  // Carries out plan->operation, or forgets the buckets of its levels.
  // Everything must outlive it.
  Decision(Plan* plan, Kind kind, const Context& context);
  ~Decision();

  // What is to be sent to one server.  Those of a step may be sent at the same
  // time.
  struct Part {
    remote::Node* node;
    std::string bytes;
    std::size_t replies;
    std::vector<std::uint32_t> families;  // in the order of the replies
  };

  remote::Task::Step start();
  const std::vector<Part>& parts() const { return parts_; }
  // What became of a part.  True: the others that have not been sent need not
  // be.
  bool answered(std::size_t part, const remote::Outcome& outcome);
  // Goes on once the parts that were sent have been answered.
  remote::Task::Step next();
  remote::Task::Step resumed();

  // Whether it has met a conflict and is over until take_turn(): of the callers
  // of this process that compete for a family, one at a time goes on.
  bool wants_turn() const { return wants_turn_; }
  std::size_t turn() const;  // for which family: a hash
  remote::Task::Step take_turn();
  // There was no time for that.
  void give_up() { status_ = conflicted(); }

  // Ok only if all that was to be written is.
  Status take_status();

 private:
  using Step = remote::Task::Step;
  enum class Phase : std::uint8_t { kRead, kWrite, kUndo };

  void make_families();
  Step send(Phase phase);
  Step read();
  bool find_servers();
  Step decide();
  Step settle();
  Status load(FamilyItem* family);
  Status decide_levels();
  void load_buckets(ItemBucket* buckets, std::vector<std::string>* names,
                    std::uint32_t* bucket_of) const;
  void wait_for_own_clock();
  void forget_levels(FamilyItem* family);
  std::int64_t ttl_of(const Item& item) const;
  Status save(FamilyItem* family);
  void take(FamilyItem* family, Response* response);
  bool takes_back() const;
  bool has_charged() const;  // with anything
  Status failed(const remote::Outcome& outcome, const std::string& where);
  Status conflicted() const;

  Plan* const plan_;
  const Kind kind_;
  const Context& context_;

  std::vector<std::uint32_t> order_;  // levels, family after family
  std::vector<FamilyItem> families_;
  Phase phase_ = Phase::kRead;
  std::vector<Part> parts_;
  Instant read_at_{};         // of the clock of this process
  Instant now_{};             // the same, or later
  std::uint64_t writer_ = 0;  // by whose clock: see item.hpp
  std::int32_t attempts_ = 0;
  bool conflict_ = false;
  std::uint32_t contested_ = 0;  // the last family that others were faster for
  bool wants_turn_ = false;
  bool has_turn_ = false;
  bool is_done_ = false;
  Status status_;
};

}  // namespace limitree::memcached
