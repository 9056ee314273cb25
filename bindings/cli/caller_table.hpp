// The callers of a log, in bounded memory.
//
// If there are more than fit, the table keeps one caller of 2, of 4, of 8, ...,
// chosen by a hash of the name: a random sample of the callers, each with all
// of its requests.

#ifndef LIMITREE_CLI_CALLER_TABLE_HPP
#define LIMITREE_CLI_CALLER_TABLE_HPP

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "use_meter.hpp"

namespace limitree::cli {

class CallerTable {
 public:
  // Longer names are cut.  Callers are distinguished by the hash of the whole
  // name, of 64 bits.
  static constexpr std::size_t kMaxName = 80;

  struct Caller {
    std::string name;
    CallerUse use;
  };

  CallerTable(const Candidates* candidates, std::size_t max_callers);

  void add(std::string_view name, std::int64_t now_ns);

  std::int64_t requests() const { return requests_; }  // of all callers
  std::int64_t sampled() const { return std::int64_t{1} << halvings_; }
  std::size_t size() const { return callers_.size(); }

  template <typename Take>
  void for_each(const Take& take) const {
    for (const auto& [hash, caller] : callers_) take(caller);
  }

 private:
  // A hash is one already, but a log must not choose the chains of the map.
  struct Mixed {
    std::uint64_t secret;
    std::size_t operator()(std::uint64_t hash) const {
      const std::uint64_t mixed = (hash ^ secret) * 0x9e3779b97f4a7c15u;
      return static_cast<std::size_t>(mixed ^ mixed >> 32);
    }
  };

  bool is_kept(std::uint64_t hash) const;
  void halve();

  const Candidates* candidates_;
  std::size_t max_callers_;
  int halvings_ = 0;
  std::int64_t requests_ = 0;
  std::unordered_map<std::uint64_t, Caller, Mixed> callers_;
};

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_CALLER_TABLE_HPP
