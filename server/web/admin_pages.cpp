#include "web/admin_pages.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <sstream>
#include <utility>
#include <vector>

namespace limitree::server {

namespace {

constexpr std::string_view kPlainText = "text/plain; charset=utf-8";
// The content type of the text format 0.0.4.
constexpr std::string_view kPrometheus =
    "text/plain; version=0.0.4; charset=utf-8";

using Lines = std::vector<std::string>;

void add(const std::string& name, std::int64_t value, Lines* lines) {
  lines->push_back("limitree." + name + ": " + std::to_string(value));
}

// "store.bytes" for "store_bytes" of a store
std::string name_of(const limitree_counter& counter) {
  std::string name = counter.name;
  if (counter.scope != LIMITREE_SCOPE_STORE) return name;
  const std::string_view prefix = "store_";
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  return "store." + name;
}

}  // namespace

AdminPages::AdminPages(const Limiter* limiter, Write service_metrics,
                       Write service_stats)
    : limiter_(*limiter),
      service_metrics_(std::move(service_metrics)),
      service_stats_(std::move(service_stats)) {
  pages_ = {{"/", "this list", kPlainText, [this] { return list(); }},
            {"/limits", "the limit tree", kPlainText,
             [limiter] { return std::string(limiter->describe().view()); }},
            {"/rlconfig", "the descriptors of Envoy", kPlainText,
             [limiter] {
               return std::string(limiter->describe_descriptors().view());
             }},
            {"/stats", "counters, one in each line", kPlainText,
             [this] { return stats(); }},
            // The last one: add_metrics_to().
            {"/metrics", "the same for Prometheus", kPrometheus, [this] {
               return std::string(limiter_.prometheus().view()) +
                      service_metrics_();
             }}};
}

void AdminPages::add_to(HandlerTable* handlers) {
  for (const Page& page : pages_) {
    handlers->add(page.path, HttpMethods::kGet,
                  [&page](Exchange* exchange) { page.answer(exchange); });
  }
}

void AdminPages::Page::answer(Exchange* exchange) const {
  std::string text;
  try {
    text = write();
  } catch (const std::exception& error) {
    answer_text(exchange, 500, error.what());
    return;
  }
  exchange->answer()->content_type = type;
  exchange->answer()->body = std::move(text);
  exchange->finish();
}

void AdminPages::add_metrics_to(const std::string& path,
                                HandlerTable* handlers) {
  handlers->add(path, HttpMethods::kGet,
                [this](Exchange* exchange) { pages_.back().answer(exchange); });
}

std::string AdminPages::list() const {
  std::string text;
  for (const Page& page : pages_) {
    std::string path = page.path;
    path.resize(std::max<std::size_t>(path.size() + 1, 12), ' ');
    text += path + page.about + '\n';
    if (&page == &pages_.front()) {  // Live adds it
      text += "/ui         what the limits do now, for a browser\n";
    }
  }
  return text;
}

std::string AdminPages::stats() const {
  Lines lines;
  const Counters all =
      totals(limiter_.get(), LIMITREE_SCOPE_REQUESTS | LIMITREE_SCOPE_STORE);
  for (const auto& [counter, value] : all.values) {
    add(name_of(*counter), value, &lines);
  }
  for (const Counters& limit :
       counters(limiter_.get(), LIMITREE_SCOPE_LIMITS)) {
    const std::string prefix = "limit." + std::string(limit.label) + '.';
    for (const auto& [counter, value] : limit.values) {
      add(prefix + counter->name, value, &lines);
    }
  }
  std::istringstream service(service_stats_());
  for (std::string line; std::getline(service, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

}  // namespace limitree::server
