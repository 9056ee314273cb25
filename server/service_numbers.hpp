// The statistics of the service, on the pages of the admin port.

#ifndef LIMITREE_SERVER_SERVICE_NUMBERS_HPP
#define LIMITREE_SERVER_SERVICE_NUMBERS_HPP

#include <string>
#include <vector>

#include "stats/service_stats.hpp"
#include "web/admin_pages.hpp"

namespace limitree::server {

class ServiceNumbers final : public NumbersSource {
 public:
  // `stats` outlives this.
  explicit ServiceNumbers(const ServiceStats* stats) : stats_(stats) {}

  void append_metrics(std::string* text) override;
  void append_stats(std::vector<std::string>* lines) override;

 private:
  const ServiceStats* stats_;
};

}  // namespace limitree::server

#endif  // LIMITREE_SERVER_SERVICE_NUMBERS_HPP
