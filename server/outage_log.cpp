#include "outage_log.hpp"

#include <unistd.h>

#include <cstdio>
#include <string_view>
#include <utility>
#include <vector>

#include "limitree.hpp"
#include "log.hpp"

namespace limitree::server {

namespace {

struct Policy {
  std::string_view name;
  const char* until_then;
  const char* since_then;
};

constexpr Policy kPolicies[] = {
    {"local", "limits are decided in this process", "decided in this process"},
    {"allow", "requests are let through unchecked", "let through unchecked"},
    {"deny", "requests are denied unchecked", "denied unchecked"},
    {"raise", "requests fail", "not decided"},
};

const Policy& words_of(std::string_view name) {
  for (const Policy& policy : kPolicies) {
    if (policy.name == name) return policy;
  }
  return kPolicies[3];
}

// Reasons that have been counted since `before`.
std::string reasons_of(const StoreCounts& counts, const StoreCounts& before,
                       bool with_counts) {
  std::string text;
  for (const auto& [reason, count] : counts.failures) {
    const auto known = before.failures.find(reason);
    const std::int64_t old = known != before.failures.end() ? known->second : 0;
    if (count == old) continue;
    text += (text.empty() ? "" : ", ") + reason;
    if (with_counts) text += ' ' + std::to_string(count - old);
  }
  return text;
}

std::string in_process() { return " in process " + std::to_string(getpid()); }

std::string seconds_of(Nanoseconds time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f",
                static_cast<double>(time) / static_cast<double>(kSecond));
  return text;
}

std::vector<limitree_reason_stats> read_reasons(limitree_limiter* limiter) {
  std::vector<limitree_reason_stats> reasons;
  std::size_t count = 0;
  do {
    reasons.resize(count);
    check([&](limitree_error** error) {
      return limitree_limiter_reason_stats(limiter, reasons.data(),
                                           reasons.size(), &count, error);
    });
  } while (count > reasons.size());
  reasons.resize(count);
  return reasons;
}

}  // namespace

StoreCounts read_store_counts(limitree_limiter* limiter,
                              const std::string& policy) {
  limitree_stats stats;
  check([&](limitree_error** error) {
    return limitree_limiter_stats(limiter, &stats, error);
  });
  StoreCounts counts;
  const std::int64_t replaced =
      stats.from_local + stats.from_allow + stats.from_deny;
  counts.answers = stats.round_trips + stats.allowed + stats.limited -
                   stats.from_deny_cache - replaced;
  counts.replacements = policy == "raise" ? stats.store_errors : replaced;
  for (const limitree_reason_stats& one : read_reasons(limiter)) {
    if (one.errors > 0) counts.failures[one.reason] = one.errors;
  }
  return counts;
}

std::string policy_of(const ServeSettings& settings) {
  std::string policy = "raise";
  for (const Pairs* const options :
       {&settings.store.options, &settings.options}) {
    for (const auto& [name, value] : *options) {
      if (name == "on_store_error") policy = value;
    }
  }
  return policy;
}

std::string shown_store(const ServeSettings& settings) {
  const std::string& url = settings.store.url;
  if (url.starts_with("shm:")) return url;
  const std::size_t at = url.rfind('@');
  return at == url.npos ? url : url.substr(at + 1);
}

std::string Outage::note(const StoreCounts& counts, Instant now) {
  const StoreCounts last = std::exchange(last_, counts);
  if (counts.failures != last.failures) {
    answered_ = kNever;
    if (std::exchange(away_, true)) return {};
    since_ = now;
    before_ = last;
    return begins(counts);
  }
  if (!away_) return {};
  if (answered_ == kNever && counts.answers > last.answers) answered_ = now;
  if (answered_ == kNever || now - answered_ < kQuiet) return {};
  away_ = false;
  return ends(counts);
}

std::string Outage::begins(const StoreCounts& counts) const {
  return "the store " + store_ + " fails" + in_process() + " (" +
         reasons_of(counts, before_, false) + "), on_store_error=" + policy_ +
         ": " + words_of(policy_).until_then + " until it is back";
}

std::string Outage::ends(const StoreCounts& counts) const {
  return "the store " + store_ + " is back" + in_process() + " after " +
         seconds_of(answered_ - since_) + " s, on_store_error=" + policy_ +
         ": " + std::to_string(counts.replacements - before_.replacements) +
         " requests were " + words_of(policy_).since_then + " (" +
         reasons_of(counts, before_, true) + ")";
}

OutageLog::OutageLog(Loop* loop, const ServeSettings& settings,
                     limitree_limiter* limiter)
    : loop_(loop),
      limiter_(limiter),
      policy_(policy_of(settings)),
      outage_(shown_store(settings), policy_),
      timer_(loop, [this] { look(); }) {
  look();
}

void OutageLog::look() {
  timer_.set(after(loop_->now(), kSecond));
  const std::string message =
      outage_.note(read_store_counts(limiter_, policy_), loop_->now());
  if (!message.empty()) log_line(LogLevel::kWarning, message);
}

}  // namespace limitree::server
