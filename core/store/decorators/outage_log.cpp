#include "store/decorators/outage_log.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstring>

namespace limitree {

namespace {

// What users see while the store fails, now and in the past tense.
struct PolicyWords {
  const char* name;
  const char* until_then;
  const char* since_then;
};

const PolicyWords& words_of(OnStoreError policy) {
  static constexpr PolicyWords kWords[] = {
      {"raise", "requests fail", "not decided"},
      {"allow", "requests are let through unchecked", "let through unchecked"},
      {"deny", "requests are denied unchecked", "denied unchecked"},
      {"local", "limits are decided in this process",
       "decided in this process"},
  };
  return kWords[static_cast<std::size_t>(policy)];
}

std::string seconds_of(Duration time) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f",
                std::chrono::duration<double>(time).count());
  return text;
}

}  // namespace

void ErrorCounts::count(const char* reason) {
  for (Slot& slot : slots_) {
    const char* known = slot.reason.load();
    if (known == nullptr) {
      slot.reason.compare_exchange_strong(known, reason);
      known = slot.reason.load();
    }
    if (std::strcmp(known, reason) == 0 || &slot == &slots_.back()) {
      slot.count.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

std::vector<ReasonCount> ErrorCounts::all() const {
  std::vector<ReasonCount> counts;
  for (const Slot& slot : slots_) {
    const char* const reason = slot.reason.load();
    if (reason == nullptr) break;
    counts.push_back({reason, slot.count.load(std::memory_order_relaxed)});
  }
  return counts;
}

std::string ErrorCounts::new_reasons() const {
  std::string text;
  for (const Slot& slot : slots_) {
    if (slot.count == slot.taken) continue;
    text += (text.empty() ? "" : ", ") + std::string(slot.reason.load());
  }
  return text;
}

std::string ErrorCounts::take_new() {
  std::string text;
  for (Slot& slot : slots_) {
    const std::int64_t count = slot.count;
    const std::int64_t news = count - slot.taken.exchange(count);
    if (news == 0) continue;
    text += (text.empty() ? "" : ", ") + std::string(slot.reason.load()) + ' ' +
            std::to_string(news);
  }
  return text;
}

void OutageLog::failed(bool limited) noexcept {
  answered_ = kLongAgo;
  ++requests_;
  limited_ += limited ? 1 : 0;
  if (is_away()) return;
  since_ = clock_.now();
  if (away_.exchange(true) || !log_) return;
  try {
    write(LogEvent::kStoreAway,
          " (" + errors_.new_reasons() +
              "), on_store_error=" + words_of(policy_).name + ": " +
              words_of(policy_).until_then + " until it is back");
  } catch (...) {
    // Without memory there is no message: the counters have the rest.
  }
}

void OutageLog::answered() noexcept {
  const Instant now = clock_.now();
  Instant first = kLongAgo;
  if (answered_.compare_exchange_strong(first, now)) first = now;
  if (saturating_sub(now, first) < kQuiet || !away_.exchange(false)) return;
  const std::int64_t requests = requests_.exchange(0);
  const std::int64_t limited = limited_.exchange(0);
  try {
    const std::string reasons = errors_.take_new();
    if (!log_) return;
    write(LogEvent::kStoreBack,
          " after " + seconds_of(first - since_.load()) +
              " s, on_store_error=" + words_of(policy_).name + ": " +
              std::to_string(requests) + " requests were " +
              words_of(policy_).since_then +
              (limited == 0
                   ? ""
                   : ", " + std::to_string(limited) + " of them limited") +
              " (" + reasons + ")");
  } catch (...) {
    // As above.
  }
}

void OutageLog::write(LogEvent event, const std::string& what) const {
  log_(event, "the store " + store_ +
                  (event == LogEvent::kStoreAway ? " fails" : " is back") +
                  " in process " + std::to_string(getpid()) + what);
}

}  // namespace limitree
