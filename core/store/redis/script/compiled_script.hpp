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
//        reservation; if units are leased, Plan::lease as `most` and `parts`,
//        and leased_unit() of each level unless it is written; then what the
//        layout asks for
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

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/plan.hpp"
#include "store/redis/script/level_numbers.hpp"
#include "store/redis/script/script_table.hpp"
#include "store/redis/wire/resp.hpp"
#include "store/remote/common/family.hpp"

namespace limitree::redis {

inline constexpr std::size_t kMaxWrittenScripts = 512;
inline constexpr std::size_t kMaxPassedScripts = 128;

struct Compiled {
  const Script* script;
  Layout layout;
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
  // levels that can hold and with them.
  static constexpr std::size_t kLoopScripts = 10 + 16;

  ScriptTable written_;
  ScriptTable passed_;
  ScriptTable loops_{kLoopScripts};
};

}  // namespace limitree::redis
