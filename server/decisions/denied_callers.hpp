// Who is denied now: the callers with the most denials, in bounded memory.

#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <string_view>

#include "heavy_hitters.hpp"
#include "io/timer.hpp"
#include "limitree.h"

namespace limitree::server {

// The paths of a request as one text: "user:alex:trade", several with blanks
// between them.  What would be unclear, or is not ASCII, is written %XX.
std::string caller_text(std::span<const limitree_path> paths);
// The same for descriptors: "domain:key=value:key=value".
std::string caller_text(const limitree_envoy_request& request);

// One loop adds, any thread reads.  At most 320 KB.
class DeniedCallers {
 public:
  // Beyond this many callers counts are estimates: see heavy_hitters.hpp.
  static constexpr std::size_t kCallers = 256;
  // How long denials count, at least; at most twice as long.
  static constexpr Duration kSpan = std::chrono::seconds(60);

  struct Counts {
    std::int64_t denied = 0;
    std::int64_t shadowed = 0;  // allowed, but limits in shadow would deny
  };
  using Callers = std::map<std::string, Counts, std::less<>>;

  // Counts nothing if there is no memory.
  void add(std::string_view caller, bool shadowed, Monotonic now) noexcept;
  // Adds those of the last one or two spans.
  void add_to(Callers* all, Monotonic now) const;

 private:
  using Sketches = std::array<HeavyHitters, 2>;  // denied, shadowed

  static Sketches make();

  mutable std::mutex mutex_;
  Sketches now_ = make();
  Sketches before_ = make();
  Monotonic begun_{};  // the span of now_
};

}  // namespace limitree::server
