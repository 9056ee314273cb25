// What `limitree simulate` finds out: the same traffic, decided by each of
// several algorithms.

#ifndef LIMITREE_CLI_SIMULATE_HPP
#define LIMITREE_CLI_SIMULATE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace limitree::cli {

// One algorithm's part.  Times are nanoseconds since the start.
struct Simulated {
  std::string name;
  std::vector<std::int64_t> admitted_ns;  // of each request
  std::int64_t most_in_a_period = 0;      // of any length-one window of time
};

struct Simulation {
  std::int64_t count = 0;  // requests per period
  std::int64_t period_ns = 0;
  std::int64_t length_ns = 0;
  std::vector<std::int64_t> offered_ns;  // when requests came, ascending
  std::vector<Simulated> algorithms;
};

// A picture of it: SVG.
std::string draw(const Simulation& simulation);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_SIMULATE_HPP
