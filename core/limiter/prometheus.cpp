#include "limiter/prometheus.hpp"

#include <cstdint>
#include <initializer_list>
#include <string_view>

namespace limitree {

namespace {

struct Label {
  std::string_view name;
  std::string_view value;
};
using Labels = std::initializer_list<Label>;

void append_escaped(std::string_view text, std::string* out) {
  for (const char c : text) {
    if (c == '\\' || c == '"') *out += '\\';
    if (c == '\n') {
      *out += "\\n";
    } else {
      *out += c;
    }
  }
}

// Seconds without rounding: "0.000016".
std::string seconds_text(std::int64_t time_ns) {
  constexpr std::int64_t kSecond = 1'000'000'000;
  std::string text = std::to_string(time_ns / kSecond);
  if (const std::int64_t rest = time_ns % kSecond; rest != 0) {
    std::string decimals = std::to_string(kSecond + rest);
    decimals[0] = '.';  // replaces the 1 that kept the zeros
    decimals.erase(decimals.find_last_not_of('0') + 1);
    text += decimals;
  }
  return text;
}

class Exposition {
 public:
  // Begins a metric; its samples follow.
  void metric(std::string_view name, std::string_view type,
              std::string_view help) {
    name_ = name;
    text_.append("# HELP ").append(name).append(" ").append(help);
    text_.append("\n# TYPE ").append(name).append(" ").append(type);
    text_ += '\n';
  }

  void sample(Labels labels, std::int64_t value) {
    sample("", labels, std::to_string(value));
  }
  void sample(std::string_view suffix, Labels labels,
              const std::string& value) {
    text_.append(name_).append(suffix);
    char before = '{';
    for (const Label& label : labels) {
      text_ += before;
      text_.append(label.name).append("=\"");
      append_escaped(label.value, &text_);
      text_ += '"';
      before = ',';
    }
    if (labels.size() != 0) text_ += '}';
    text_.append(" ").append(value);
    text_ += '\n';
  }

  void single(std::string_view name, std::string_view type,
              std::string_view help, std::int64_t value) {
    metric(name, type, help);
    sample({}, value);
  }

  std::string take() { return std::move(text_); }

 private:
  std::string_view name_;
  std::string text_;
};

constexpr std::string_view kCounter = "counter";
constexpr std::string_view kGauge = "gauge";

void add_requests(const LimiterStats& stats, Exposition* out) {
  out->metric("limitree_decisions_total", kCounter,
              "Requests decided, by who decided and by the answer.");
  for (std::size_t i = 0; i < kSourceCount; ++i) {
    const char* const source = source_name(static_cast<Source>(i));
    const auto& decided = stats.totals.decided[i];
    out->sample({{"source", source}, {"answer", "allowed"}}, decided[0]);
    out->sample({{"source", source}, {"answer", "limited"}}, decided[1]);
  }
  out->single("limitree_shadow_limited_total", kCounter,
              "Requests allowed that a limit in shadow mode would deny.",
              stats.totals.shadow_limited);
  out->single("limitree_soft_total", kCounter,
              "Requests allowed above a capacity, by its overrun.",
              stats.totals.soft);
  out->single("limitree_errors_total", kCounter,
              "Requests that could not be decided.", stats.totals.errors);
}

void add_policies(std::span<const PolicyStats> policies, Exposition* out) {
  out->metric("limitree_limit_requests_total", kCounter,
              "Requests that met a limit, by what became of them there.");
  for (const PolicyStats& one : policies) {
    const Label policy{"policy", one.policy};
    out->sample({policy, {"answer", "allowed"}}, one.tally.allowed);
    out->sample({policy, {"answer", "limited"}}, one.tally.limited);
    out->sample({policy, {"answer", "shadow_limited"}},
                one.tally.shadow_limited);
  }
  out->metric("limitree_limit_soft_total", kCounter,
              "Requests that a limit allowed above its capacity.");
  for (const PolicyStats& one : policies) {
    out->sample({{"policy", one.policy}}, one.tally.soft);
  }
  out->metric("limitree_limit_near_total", kCounter,
              "Requests allowed that left a limit nearly used up.");
  for (const PolicyStats& one : policies) {
    out->sample({{"policy", one.policy}}, one.tally.near_limit);
  }
}

void add_reasons(std::span<const ReasonCount> reasons, Exposition* out) {
  for (const ReasonCount& one : reasons) {
    out->sample({{"reason", one.reason}}, one.count);
  }
}

void add_round_trips(const StoreStats& stats, Exposition* out) {
  out->metric("limitree_store_round_trip_seconds", "histogram",
              "Time from asking a store to its answer.");
  std::int64_t count = 0;
  Duration bound = StoreStats::kShortestRoundTrip;
  for (std::size_t i = 0; i < stats.round_trips.size(); ++i, bound *= 2) {
    count += stats.round_trips[i];
    const bool last = i + 1 == stats.round_trips.size();
    const std::string text = last ? "+Inf" : seconds_text(bound.count());
    out->sample("_bucket", {{"le", text}}, std::to_string(count));
  }
  out->sample("_sum", {}, seconds_text(stats.round_trip_ns));
  out->sample("_count", {}, std::to_string(count));
}

void add_store(const StoreStats& stats, Exposition* out) {
  out->metric("limitree_store_errors_total", kCounter,
              "Calls to the store that failed, by reason.");
  add_reasons(stats.errors, out);
  out->metric("limitree_store_troubles_total", kCounter,
              "What went wrong with servers, mended or not, by reason.");
  add_reasons(stats.troubles, out);
  out->single("limitree_store_connects_total", kCounter,
              "Connections made to servers.", stats.connects);
  add_round_trips(stats, out);
  out->single("limitree_buckets", kGauge,
              "Buckets in memory that are not full.", stats.buckets);
  out->single("limitree_max_buckets", kGauge, "The most that may be kept.",
              stats.max_buckets);
  out->single("limitree_bucket_bytes", kGauge, "Memory taken by buckets.",
              stats.bytes);
  out->single("limitree_evictions_total", kCounter,
              "Buckets forgotten to make room for others.", stats.evictions);
  out->single("limitree_forgotten_limited_total", kCounter,
              "Of the forgotten buckets, those that would still have denied.",
              stats.forgotten_limited);
}

}  // namespace

std::string prometheus_text(const LimiterStats& stats,
                            std::span<const PolicyStats> policies) {
  Exposition out;
  add_requests(stats, &out);
  add_policies(policies, &out);
  add_store(stats.store, &out);
  out.single("limitree_reloads_total", kCounter, "Trees of limits swapped in.",
             stats.reloads);
  out.single("limitree_limits", kGauge, "Limits in the tree.", stats.limits);
  return out.take();
}

}  // namespace limitree
