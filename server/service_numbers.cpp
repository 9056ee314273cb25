#include "service_numbers.hpp"

#include <sstream>

#include "stats/prometheus.hpp"
#include "stats/snapshot.hpp"

namespace limitree::server {

void ServiceNumbers::append_metrics(std::string* text) {
  *text += prometheus_text(stats_->snapshot());
}

void ServiceNumbers::append_stats(std::vector<std::string>* lines) {
  std::istringstream text(stats_text(stats_->snapshot()));
  for (std::string line; std::getline(text, line);) lines->push_back(line);
}

}  // namespace limitree::server
