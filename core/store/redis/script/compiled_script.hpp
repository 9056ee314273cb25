// Scripts made for one shape of request, so that none of them chooses between
// algorithms, operations and modes while it runs.
//
// Each reads all buckets, and then writes those that are to be charged, or
// none; core/base/judge.hpp draws the same conclusions from its reply.
//
// KEYS   families: hashes with a field for each bucket (call.hpp), and the
//        field ":", a second until which the key lives at least
// ARGV   with a caller's clock now, as seconds, microseconds and three digits
//        of nanoseconds; if a level can hold units, the 16 bytes of the
//        reservation; Plan::charged_at, if there is one; if units are leased,
//        Plan::lease as `most` and `parts`, and leased_unit() of each level
//        unless it is written; then what the layout asks for
// Returns, separated by blanks: "+" if anything was charged, else "-", and
// after "+" how many units were leased, if any may be; now, as
// seconds and nanoseconds; and a word about each bucket as it was found, empty
// if there was nothing: its state, and of a log what became of it.  Of a bucket
// that can hold units, the word has all that a Usage has: read_held().
//
// A bucket never owes more than it holds, unless it is a counter, which counts
// what does not fit.  Where a state is dated after that (a limit was relaxed, a
// clock stepped back), every request that meets the bucket stores what it
// counts for now, whatever else becomes of it.

#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <vector>

#include "base/plan.hpp"
#include "store/redis/script/level_numbers.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/common/family.hpp"
#include "store/siphash.hpp"

namespace limitree::redis {

inline constexpr std::size_t kMaxWrittenScripts = 512;
inline constexpr std::size_t kMaxPassedScripts = 128;

struct Compiled {
  const Script* script;
  Layout layout;
};

// Scripts, found by what they are made of: a table that only grows, so that it
// needs no lock.
class ScriptTable {
 public:
  // Has room for `most` scripts; more are not made.
  explicit ScriptTable(std::size_t most) : most_(most), slots_(2 * most + 1) {}
  ~ScriptTable() {
    for (const std::atomic<const Entry*>& slot : slots_) delete slot.load();
  }
  ScriptTable(const ScriptTable&) = delete;
  ScriptTable& operator=(const ScriptTable&) = delete;

  // Null if there is no room for it.  Requests bring names of fields, which are
  // in signatures.
  template <typename Make>
  const Script* get(const std::string& signature, Make make) {
    std::size_t at = keyed_hash(signature) % slots_.size();
    const Entry* mine = nullptr;
    for (;; at = (at + 1) % slots_.size()) {
      const Entry* found = slots_[at].load(std::memory_order_acquire);
      if (found == nullptr && mine == nullptr) {
        if (count_.fetch_add(1, std::memory_order_relaxed) >= most_) {
          count_.fetch_sub(1, std::memory_order_relaxed);
          return nullptr;
        }
        mine = new Entry{signature, make()};
      }
      if (found == nullptr && slots_[at].compare_exchange_strong(
                                  found, mine, std::memory_order_acq_rel)) {
        return &mine->script;
      }
      if (found->signature == signature) {
        if (mine != nullptr) {  // another thread was faster
          count_.fetch_sub(1, std::memory_order_relaxed);
          delete mine;
        }
        return &found->script;
      }
    }
  }

 private:
  struct Entry {
    std::string signature;
    Script script;
  };

  const std::size_t most_;
  std::vector<std::atomic<const Entry*>> slots_;
  std::atomic<std::size_t> count_{0};
};

// All scripts.  Several threads may use it at once; it takes no lock, and so is
// safe in fork().
class Scripts {
 public:
  explicit Scripts(std::size_t most_written = kMaxWrittenScripts,
                   std::size_t most_passed = kMaxPassedScripts)
      : written_(most_written), passed_(most_passed) {}

  static Scripts& of_process();

  // The script for these levels, in the first layout that there is room for;
  // it stays as long as this.  *scratch is overwritten.
  Compiled find(const Plan& plan, const Families& families, bool callers_clock,
                std::string* scratch);

 private:
  // For each operation, with the server's clock and with a caller's, without
  // levels that can hold and with them; the same with Plan::charged_at.
  static constexpr std::size_t kLoopScripts = 10 + 16 + 4;

  ScriptTable written_;
  ScriptTable passed_;
  ScriptTable loops_{kLoopScripts};
};

}  // namespace limitree::redis
