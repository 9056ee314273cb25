// Prints statistics for Prometheus, for a test that reads them.

#include <cstdio>

#include "stats/snapshot.hpp"

int main() {
  using namespace limitree::server;
  Snapshot snapshot;
  snapshot.add_limit("web.key_a", {50, 40, 30, 20, 10, 1, 0, 0});
  snapshot.add_limit("web.key_a.path_/x.deep", {1, 2, 3, 4, 5, 6, 7, 0});
  snapshot.add_limit("web.key_a.path_/x.other", {1, 0, 0, 0, 0, 0, 0, 0});
  snapshot.add_limit("web.ip_10.0.0.1", {3, 0, 0, 0, 3, 0, 0, 0});
  snapshot.add_limit("web.\"quoted\\\n\xFF\xC3\xA9:|",
                     {2, 0, 0, 0, 2, 0, 0, 0});
  snapshot.add_limit("nowhere", {0, 0, 0, 0, 0, 0, 0, 9});
  snapshot.at(ServiceCounter::kGlobalShadowMode) = 11;
  snapshot.at(ServiceCounter::kServiceError) = 12;
  snapshot.at(ServiceCounter::kRedisError) = 13;
  snapshot.set_cache(10, 4, 2, 1);
  snapshot.at(ServiceCounter::kConfigLoadSuccess) = 14;
  snapshot.at(ServiceCounter::kConfigLoadError) = 15;
  Histogram times;
  times.add(limitree::kMicrosecond);
  times.add(limitree::Duration(1'001), 2);
  times.add(15 * limitree::kOneSecond);
  snapshot.methods["ShouldRateLimit"] = times.get();
  snapshot.methods["Check"];
  snapshot.losses["limitree.spans_lost"] = 16;
  snapshot.process = {1.5, 2000, 3000, 4, 5, 1.7e9 + 0.25};
  std::fputs(prometheus_text(snapshot).c_str(), stdout);
}
