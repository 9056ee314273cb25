#include "caller_table.hpp"

#include <functional>
#include <random>

namespace limitree::cli {

namespace {

std::uint64_t random_number() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

}  // namespace

CallerTable::CallerTable(const Candidates* candidates, std::size_t max_callers)
    : candidates_(candidates),
      max_callers_(max_callers),
      callers_(0, Mixed{random_number()}) {}

// Equal logs give equal samples, so this has no secret.
bool CallerTable::is_kept(std::uint64_t hash) const {
  return halvings_ == 0 || hash * 0xd6e8feb86659fd93u >> (64 - halvings_) == 0;
}

void CallerTable::halve() {
  ++halvings_;
  for (auto at = callers_.begin(); at != callers_.end();) {
    at = is_kept(at->first) ? std::next(at) : callers_.erase(at);
  }
}

void CallerTable::add(std::string_view name, std::int64_t now_ns) {
  ++requests_;
  const std::uint64_t hash = std::hash<std::string_view>()(name);
  if (!is_kept(hash)) return;
  const auto [at, is_new] = callers_.try_emplace(hash);
  if (is_new) at->second.name = name.substr(0, kMaxName);
  at->second.use.add(now_ns, *candidates_);
  while (callers_.size() > max_callers_ && halvings_ < 60) halve();
}

}  // namespace limitree::cli
