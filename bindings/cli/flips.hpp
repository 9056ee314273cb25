// Requests that two trees of limits decide differently.

#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "format.hpp"
#include "heavy_hitters.hpp"

namespace limitree::cli {

enum class Outcome { kAllowed, kLimited, kRefused };

// "allowed", "limited", "refused": the limits refused the path, such as a host
// name below `key: ip`.
const char* outcome_name(Outcome outcome);

// "1 decision flips", "2,345 decisions flip"
std::string flips_text(std::int64_t count);

struct Flip {
  std::string file;
  std::int64_t line = 0;
  CivilTime time{};
  Outcome before = Outcome::kAllowed;
  Outcome after = Outcome::kAllowed;
  std::string limit;  // that limits it in one of the trees; "" if none does
  std::string path;   // that this limit is on, in the form of a template
};

class Flips {
 public:
  // How many flips are kept, the first ones of the log.
  static constexpr std::size_t kMaxList = 100;
  static constexpr std::size_t kCounters = 4096;

  // The limit that decides it and both outcomes.
  using Kind = std::tuple<std::string, Outcome, Outcome>;

  void add(Flip flip);

  std::int64_t total() const { return total_; }

  // By limit and outcomes, in falling order.
  std::vector<std::pair<Kind, std::int64_t>> by_limit() const;

  const HeavyHitters& paths() const { return paths_; }
  const std::vector<Flip>& list() const { return list_; }

 private:
  std::int64_t total_ = 0;
  std::map<Kind, std::int64_t> kinds_;  // as many as there are limits
  HeavyHitters paths_{kCounters};
  std::vector<Flip> list_;
};

}  // namespace limitree::cli
