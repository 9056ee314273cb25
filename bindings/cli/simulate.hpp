// The result of `limitree simulate`: the same traffic, decided by several
// algorithms.

#ifndef LIMITREE_CLI_SIMULATE_HPP
#define LIMITREE_CLI_SIMULATE_HPP

#include <cstdint>
#include <string>
#include <vector>

namespace limitree::cli {

// The result of one algorithm.  Times are nanoseconds since the start.
struct Simulated {
  std::string name;
  std::vector<std::int64_t> admitted_ns;  // of each request
  std::int64_t most_in_a_period = 0;      // in any interval of one period
};

struct Simulation {
  std::int64_t count = 0;  // requests per period
  std::int64_t period_ns = 0;
  std::int64_t length_ns = 0;
  std::vector<std::int64_t> offered_ns;  // times of the requests, ascending
  std::vector<Simulated> algorithms;
};

// Draws it as SVG.
std::string draw(const Simulation& simulation);

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_SIMULATE_HPP
