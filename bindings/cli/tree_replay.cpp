#include "tree_replay.hpp"

#include <algorithm>

#include "limits_file.hpp"

namespace limitree::cli {

namespace {

Config config_of(const std::string& limits, const ReplayOptions& options,
                 std::int64_t* clock_ns) {
  Config config;
  read_limits(limits, &config);
  config.set_clock(read_clock, clock_ns);
  if (options.max_buckets) {
    config.set("max_buckets", std::to_string(*options.max_buckets));
  }
  return config;
}

}  // namespace

TreeReplay::TreeReplay(const std::string& limits, const ReplayOptions& options,
                       const std::vector<PathTemplate>& templates,
                       std::int64_t* clock_ns)
    : name_(shown_name(limits)),
      limiter_(config_of(limits, options, clock_ns)),
      templates_(templates),
      clock_ns_(clock_ns) {
  find_roots();
  blamed_.resize(templates_.size());
  if (!options.html.empty()) result_.timeline.emplace(limiter_.get());
}

void TreeReplay::find_roots() {
  for (std::size_t i = 0; i < templates_.size(); ++i) {
    Decision decision;
    ErrorHandle error;
    if (const auto root = templates_[i].root()) {
      const limitree_str segment = to_str(*root);
      const limitree_path path = {&segment, 1, 0, LIMITREE_PART_CHARGE};
      const limitree_status status =
          limiter_.try_decide(LIMITREE_PEEK, {&path, 1}, {}, &decision, &error);
      if (status == LIMITREE_UNKNOWN_ROOT) {
        unknown_roots_.emplace(i, Error::from(status, error.get()));
        continue;
      }
    }
    known_.push_back(i);
  }
}

void TreeReplay::align(std::int32_t utc_offset_s) {
  result_.histogram.align(utc_offset_s);
  if (result_.timeline) result_.timeline->align(utc_offset_s);
}

const Verdict& TreeReplay::decide(std::span<const limitree_path> paths) {
  const std::int64_t unix_s = *clock_ns_ / kSecondNs;
  if (result_.timeline) result_.timeline->before(unix_s);
  if (!unknown_roots_.empty()) {
    known_paths_.clear();
    for (const std::size_t i : known_) known_paths_.push_back(paths[i]);
    paths = known_paths_;
  }
  Decision decision;
  ErrorHandle error;
  const limitree_status status = limiter_.try_decide(
      LIMITREE_AUTHORIZE, paths, levels_, &decision, &error);
  if (status < 0) {
    refuse(paths, status, error);
  } else {
    count(decision, unix_s);
  }
  return verdict_;
}

void TreeReplay::count(const Decision& decision, std::int64_t unix_s) {
  ++result_.requests;
  if (decision.has(LIMITREE_UNLIMITED)) ++result_.unlimited;
  const bool limited = decision.limited != 0;
  const bool shadowed = !limited && decision.has(LIMITREE_SHADOWED);
  verdict_.outcome = limited ? Outcome::kLimited : Outcome::kAllowed;
  verdict_.limit = {};
  verdict_.path = 0;
  if (limited) ++result_.limited;
  if (shadowed) ++result_.shadowed;
  result_.histogram.add(unix_s, limited);
  if (result_.timeline) result_.timeline->add(unix_s, limited, shadowed);
  if (limited || (shadowed && result_.timeline)) blame(decision);
}

// Counts a denial for every path that a level denied.  A level on several paths
// counts for the first of them.
void TreeReplay::blame(const Decision& decision) {
  const std::size_t count =
      std::min(static_cast<std::size_t>(decision.level_count), levels_.size());
  std::fill(blamed_.begin(), blamed_.end(), false);
  const bool shadow = decision.limited == 0;
  HeavyHitters* const callers =
      shadow ? result_.timeline->shadow_callers() : &result_.callers;
  for (std::size_t i = 0; i < count; ++i) {
    const limitree_level& level = levels_[i];
    if (level.limited == 0 || (level.mode == LIMITREE_SHADOW) != shadow) {
      continue;
    }
    const std::size_t path = known_[static_cast<std::size_t>(level.path)];
    if (blamed_[path]) continue;
    if (!shadow && verdict_.limit.empty()) {
      verdict_.limit = to_view(level.policy);
      verdict_.path = path;
    }
    blamed_[path] = true;
    caller_.clear();
    templates_[path].append_text(&caller_);
    callers->add(caller_);
  }
}

// If the limits refuse a path, such as a host name below `key: ip`, the line
// is bad.  Other errors end the replay.
void TreeReplay::refuse(std::span<const limitree_path> paths,
                        limitree_status status, const ErrorHandle& error) {
  if (status != LIMITREE_INVALID_ARGUMENT && status != LIMITREE_UNKNOWN_ROOT) {
    throw Error::from(status, error.get());
  }
  verdict_ = {Outcome::kRefused, {}, refused_path(paths), {}};
  ++result_.skipped;
  if (result_.skipped_notes.size() < ReplayResult::kMaxNotes) {
    verdict_.refusal = Error::from(status, error.get()).what();
  }
}

// The template of the first path that is refused alone; if it is none of the
// others, it is the last.
std::size_t TreeReplay::refused_path(std::span<const limitree_path> paths) {
  for (std::size_t i = 0; i + 1 < paths.size(); ++i) {
    Decision decision;
    ErrorHandle error;
    if (limiter_.try_decide(LIMITREE_LOOK, paths.subspan(i, 1), {}, &decision,
                            &error) < 0) {
      return known_[i];
    }
  }
  return known_.back();
}

void TreeReplay::finish() {
  if (result_.timeline) result_.timeline->finish();
  result_.limits = counters(limiter_.get(), LIMITREE_SCOPE_LIMITS);
  result_.store = totals(limiter_.get(), LIMITREE_SCOPE_STORE);
}

}  // namespace limitree::cli
