// Statistics in the text format that Prometheus reads (version 0.0.4).
//
// There is a series for each limit of the trees loaded so far, each source, and
// each reason of an error; there are none for callers.

#ifndef LIMITREE_LIMITER_PROMETHEUS_HPP
#define LIMITREE_LIMITER_PROMETHEUS_HPP

#include <string>

#include "limiter/counters.hpp"

namespace limitree {

std::string prometheus_text(const CounterValues& values);

}  // namespace limitree

#endif  // LIMITREE_LIMITER_PROMETHEUS_HPP
