// The pages for people and for Prometheus, on their own port.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/handler.hpp"
#include "limitree.hpp"

namespace limitree::server {

// Belongs to the thread of one loop, which must not decide requests: a page may
// take a millisecond for each million buckets.
class AdminPages {
 public:
  using Write = std::function<std::string()>;

  // `limiter` outlives this.  The functions write what the service counts:
  // families in the text format of Prometheus, and lines "name: value".
  AdminPages(const Limiter* limiter, Write service_metrics,
             Write service_stats);

  void add_to(HandlerTable* handlers);
  // Only the page for Prometheus.
  void add_metrics_to(const std::string& path, HandlerTable* handlers);
  // Its text.  From any thread.
  std::string metrics() const { return pages_.back().write(); }

 private:
  struct Page {
    const char* path;
    const char* about;
    std::string_view type;
    Write write;

    void answer(Exchange* exchange) const;
  };

  std::string list() const;
  std::string stats() const;

  const Limiter& limiter_;
  const Write service_metrics_;
  const Write service_stats_;
  std::vector<Page> pages_;
};

}  // namespace limitree::server
