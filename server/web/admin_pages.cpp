#include "web/admin_pages.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <utility>

#include "limitree.hpp"

namespace limitree::server {

namespace {

constexpr std::string_view kText = "text/plain; charset=utf-8";
// Of the text format 0.0.4.
constexpr std::string_view kPrometheus =
    "text/plain; version=0.0.4; charset=utf-8";

// Calls a function of the library that makes a text.
template <typename Make>
std::string text_of(const Make& make) {
  limitree_text* text = nullptr;
  check([&](limitree_error** error) { return make(&text, error); });
  const Text owner(text);
  return std::string(owner.view());
}

using Lines = std::vector<std::string>;

void add(const std::string& name, std::int64_t value, Lines* lines) {
  lines->push_back("limitree." + name + ": " + std::to_string(value));
}

void add_requests(const limitree_stats& stats, Lines* lines) {
  add("allowed", stats.allowed, lines);
  add("limited", stats.limited, lines);
  add("shadow_limited", stats.shadow_limited, lines);
  add("soft", stats.soft, lines);
  add("errors", stats.errors, lines);
  add("from_deny_cache", stats.from_deny_cache, lines);
  add("from_local", stats.from_local, lines);
  add("from_allow", stats.from_allow, lines);
  add("from_deny", stats.from_deny, lines);
  add("limits", stats.limits, lines);
  add("reloads", stats.reloads, lines);
}

void add_store(const limitree_stats& stats, Lines* lines) {
  add("store.buckets", stats.buckets, lines);
  add("store.max_buckets", stats.max_buckets, lines);
  add("store.bytes", stats.store_bytes, lines);
  add("store.evictions", stats.evictions, lines);
  add("store.forgotten_limited", stats.forgotten_limited, lines);
  add("store.errors", stats.store_errors, lines);
  add("store.connects", stats.connects, lines);
  add("store.round_trips", stats.round_trips, lines);
  add("store.round_trip_ns", stats.round_trip_ns, lines);
}

void add_limit(const limitree_limit_stats& stats, Lines* lines) {
  const std::string name =
      "limit." + std::string(stats.policy.data, stats.policy.size) + '.';
  add(name + "allowed", stats.allowed, lines);
  add(name + "limited", stats.limited, lines);
  add(name + "shadow_limited", stats.shadow_limited, lines);
  add(name + "near_limit", stats.near_limit, lines);
  add(name + "soft", stats.soft, lines);
}

std::vector<limitree_limit_stats> limits_of(limitree_limiter* limiter) {
  std::vector<limitree_limit_stats> limits;
  std::size_t count = 0;
  do {
    limits.resize(count);
    check([&](limitree_error** error) {
      return limitree_limiter_limit_stats(limiter, limits.data(), limits.size(),
                                          &count, error);
    });
  } while (count > limits.size());
  limits.resize(count);
  return limits;
}

}  // namespace

AdminPages::AdminPages(limitree_limiter* limiter) : limiter_(limiter) {
  pages_.emplace_back("/", "this list", kText, [this] { return list(); });
  pages_.emplace_back("/limits", "the limit tree", kText, [limiter] {
    return text_of([limiter](limitree_text** text, limitree_error** error) {
      return limitree_limiter_describe(limiter, text, error);
    });
  });
  pages_.emplace_back(
      "/rlconfig", "the descriptors of Envoy", kText, [limiter] {
        return text_of([limiter](limitree_text** text, limitree_error** error) {
          return limitree_limiter_describe_descriptors(limiter, text, error);
        });
      });
  pages_.emplace_back("/stats", "counters, one in each line", kText,
                      [this] { return stats(); });
  // The last one: add_metrics_to().
  pages_.emplace_back("/metrics", "the same for Prometheus", kPrometheus,
                      [this] { return metrics(); });
}

void AdminPages::add_to(HandlerTable* handlers) {
  for (Page& page : pages_) {
    handlers->add(page.path(), HttpMethods::kGet, &page);
  }
}

void AdminPages::Page::on_request(Exchange* exchange) {
  std::string text;
  try {
    text = write_();
  } catch (const std::exception& error) {
    answer_text(exchange, 500, error.what());
    return;
  }
  exchange->answer()->content_type = type_;
  exchange->answer()->body = std::move(text);
  exchange->finish();
}

void AdminPages::add_metrics_to(const std::string& path,
                                HandlerTable* handlers) {
  handlers->add(path, HttpMethods::kGet, &pages_.back());
}

std::string AdminPages::list() const {
  std::string text;
  for (const Page& page : pages_) {
    std::string path = page.path();
    path.resize(std::max<std::size_t>(path.size() + 1, 12), ' ');
    text += path + page.about() + '\n';
  }
  return text;
}

std::string AdminPages::metrics() const {
  std::string text =
      text_of([this](limitree_text** made, limitree_error** error) {
        return limitree_limiter_prometheus(limiter_, made, error);
      });
  for (NumbersSource* const source : sources_) source->append_metrics(&text);
  return text;
}

std::string AdminPages::stats() const {
  limitree_stats stats;
  check([&](limitree_error** error) {
    return limitree_limiter_stats(limiter_, &stats, error);
  });
  Lines lines;
  add_requests(stats, &lines);
  add_store(stats, &lines);
  for (const limitree_limit_stats& limit : limits_of(limiter_)) {
    add_limit(limit, &lines);
  }
  for (NumbersSource* const source : sources_) source->append_stats(&lines);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace limitree::server
