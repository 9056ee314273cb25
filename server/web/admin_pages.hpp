// The pages for people and for Prometheus, on a port of their own.

#ifndef LIMITREE_SERVER_WEB_ADMIN_PAGES_HPP
#define LIMITREE_SERVER_WEB_ADMIN_PAGES_HPP

#include <functional>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "http/handler.hpp"
#include "limitree.h"

namespace limitree::server {

// More numbers for /metrics and /stats.
class NumbersSource {
 public:
  // Appends families of metrics in the text format of Prometheus.
  virtual void append_metrics(std::string* text) = 0;
  // Appends lines "name: value".
  virtual void append_stats(std::vector<std::string>* lines) = 0;

 protected:
  ~NumbersSource() = default;
};

// Belongs to the thread of one loop, which may wait a millisecond for each
// million of buckets: not to one that decides.
class AdminPages {
 public:
  // `limiter` outlives this.
  explicit AdminPages(limitree_limiter* limiter);

  // `source` outlives this, and is called on the loop's thread.
  void add_numbers(NumbersSource* source) { sources_.push_back(source); }

  void add_to(HandlerTable* handlers);
  // Only the page for Prometheus.
  void add_metrics_to(const std::string& path, HandlerTable* handlers);

 private:
  class Page final : public Handler {
   public:
    using Write = std::function<std::string()>;

    Page(const char* path, const char* about, std::string_view type,
         Write write)
        : path_(path), about_(about), type_(type), write_(std::move(write)) {}

    const char* path() const { return path_; }
    const char* about() const { return about_; }
    void on_request(Exchange* exchange) override;

   private:
    const char* path_;
    const char* about_;
    std::string_view type_;
    Write write_;
  };

  std::string list() const;
  std::string metrics() const;
  std::string stats() const;

  limitree_limiter* limiter_;
  std::vector<NumbersSource*> sources_;
  std::list<Page> pages_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_WEB_ADMIN_PAGES_HPP
