#include "bucket_sample.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "command.hpp"

namespace limitree::cli {

namespace {

// More debt first.
bool owes_more(const SampledBucket* a, const SampledBucket* b) {
  return std::tuple(a->is_empty(), a->full_after_ns, a->used(), b->caller) >
         std::tuple(b->is_empty(), b->full_after_ns, b->used(), a->caller);
}

// How a path is written in a text: what is unclear there is escaped by
// whoever prints it.
std::string joined(const std::vector<std::string>& path) {
  std::string text;
  for (const std::string& segment : path) {
    text += (text.empty() ? "" : ":") + segment;
  }
  return text;
}

// "2001:db8::" for "2001:db8::/64".
std::vector<std::string> without_sizes(std::vector<std::string> path) {
  for (std::string& segment : path) {
    const std::size_t slash = segment.rfind('/');
    if (slash != segment.npos && segment.find(':') < slash &&
        segment.find_first_not_of("0123456789", slash + 1) == segment.npos) {
      segment.erase(slash);
    }
  }
  return path;
}

}  // namespace

void BucketSample::refresh(std::size_t again) {
  for (const SampledBucket* const one : top(again)) {
    // Not by reference: the bucket may be erased.
    const std::string policy = one->policy;
    look(std::vector<std::string>(paths_.at({policy, one->caller})),
         [&policy](const std::string& met) { return met == policy; });
  }
  for (int i = 0; i < kScans && !scanned_ && waiting_.size() < kMostCallers;
       ++i) {
    scanned_ = scan_->next(&waiting_);
  }
  const std::size_t count = std::min(waiting_.size(), kMostCallers);
  for (std::size_t i = 0; i < count; ++i) look(waiting_[i]);
  waiting_.erase(waiting_.begin(),
                 waiting_.begin() + static_cast<std::ptrdiff_t>(count));
  if (scanned_ && waiting_.empty()) {
    scanned_ = false;
    ++pass_;
    forget();
  } else if (buckets_.size() > 2 * kMostBuckets) {
    forget();  // a pass may take long
  }
}

// A path that goes on below another one meets its limits again.
void BucketSample::look(const FoundCaller& caller) {
  std::set<std::string> met;
  const auto is_new = [&met](const std::string& policy) {
    return met.insert(policy).second;
  };
  look(caller.path, is_new);
  std::size_t paths = 0;
  for (const std::vector<std::string>& below : caller.below) {
    if (below.empty()) continue;
    if (++paths > kMostPaths) return;
    std::vector<std::string> path = caller.path;
    path.insert(path.end(), below.begin(), below.end());
    look(path, is_new);
  }
}

// Empty if the path is not one of the tree, or its bucket is not ours: keys of
// others may have the same prefix.
std::vector<limitree_level> BucketSample::levels_on(
    const std::vector<std::string>& path) const {
  const std::vector<limitree_str> segments = to_path(path);
  const limitree_path one = {segments.data(), segments.size(), 0,
                             LIMITREE_PART_CHARGE};
  std::vector<limitree_level> levels(kMaxLevels);
  try {
    const Decision decision =
        limiter_->decide(LIMITREE_LOOK, {&one, 1}, levels);
    levels.resize(std::min(levels.size(),
                           static_cast<std::size_t>(decision.level_count)));
    return levels;
  } catch (const Error& error) {
    if (error.status() != LIMITREE_UNKNOWN_ROOT &&
        error.status() != LIMITREE_INVALID_ARGUMENT &&
        std::string_view(error.reason()) != "wrongtype") {
      throw;
    }
    return {};
  }
}

// Takes the levels whose policies `wants`.  A cost of 0 fits limits of any
// unit, and changes nothing.
void BucketSample::look(
    const std::vector<std::string>& path,
    const std::function<bool(const std::string& policy)>& wants) {
  std::vector<limitree_level> levels = levels_on(path);
  // An IPv6 address that stands for its network has the size after it.
  if (levels.empty()) levels = levels_on(without_sizes(path));
  if (levels.empty()) return;
  ++looked_;
  const std::string caller = joined(path);
  for (const limitree_level& level : levels) {
    const std::string policy(to_view(level.policy));
    if (!wants(policy)) continue;
    const auto key = std::pair(policy, caller);
    if (level.reset_after_ns == 0) {  // full: nobody owes anything
      buckets_.erase(key);
      paths_.erase(key);
      continue;
    }
    buckets_[key] = {
        policy, caller, level.limit, level.remaining, level.reset_after_ns,
        pass_};
    paths_[key] = path;
  }
}

// Those that a whole pass has not seen are full again, or gone.
void BucketSample::forget() {
  std::erase_if(buckets_, [this](const auto& one) {
    return one.second.pass + 1 < pass_;
  });
  if (buckets_.size() > kMostBuckets) {
    std::vector<const SampledBucket*> all = top(buckets_.size());
    for (std::size_t i = kMostBuckets; i < all.size(); ++i) {
      buckets_.erase({all[i]->policy, all[i]->caller});
    }
  }
  std::erase_if(paths_, [this](const auto& one) {
    return !buckets_.contains(one.first);
  });
}

std::vector<const SampledBucket*> BucketSample::top(std::size_t count) const {
  std::vector<const SampledBucket*> all;
  for (const auto& one : buckets_) all.push_back(&one.second);
  count = std::min(count, all.size());
  std::partial_sort(all.begin(),
                    all.begin() + static_cast<std::ptrdiff_t>(count), all.end(),
                    owes_more);
  all.resize(count);
  return all;
}

std::map<std::string, SampledLimit> BucketSample::limits() const {
  std::map<std::string, SampledLimit> all;
  for (const auto& one : buckets_) {
    SampledLimit& limit = all[one.second.policy];
    ++limit.buckets;
    limit.empty += one.second.is_empty() ? 1 : 0;
  }
  return all;
}

}  // namespace limitree::cli
