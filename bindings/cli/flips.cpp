#include "flips.hpp"

#include <algorithm>
#include <utility>

namespace limitree::cli {

const char* outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kAllowed:
      return "allowed";
    case Outcome::kLimited:
      return "limited";
    case Outcome::kRefused:
      break;
  }
  return "refused";
}

std::string flips_text(std::int64_t count) {
  return count_text(count) +
         (count == 1 ? " decision flips" : " decisions flip");
}

void Flips::add(Flip flip) {
  ++total_;
  ++kinds_[Kind(flip.limit, flip.before, flip.after)];
  paths_.add(flip.path);
  if (list_.size() >= kMaxList) return;
  flip.path.resize(std::min(flip.path.size(), HeavyHitters::kMaxText));
  list_.push_back(std::move(flip));
}

std::vector<std::pair<Flips::Kind, std::int64_t>> Flips::by_limit() const {
  std::vector<std::pair<Kind, std::int64_t>> all(kinds_.begin(), kinds_.end());
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
    return a.second > b.second;
  });
  return all;
}

}  // namespace limitree::cli
