// What the help of commands ends with.

#ifndef LIMITREE_CLI_FOOTERS_HPP
#define LIMITREE_CLI_FOOTERS_HPP

namespace limitree::cli {

inline inline constexpr const char* kSuggestFooter =
    "For each template and period it counts what callers use, and which of "
    "them\nlimits of 1, 2, 5, ... requests would have met.  It suggests a "
    "limit of 1m, or\nof the first --period, with the least burst that keeps "
    "the promise.\n\n"
    "Example:\n"
    "  limitree suggest examples/access.log.gz --path 'ip,{remote_addr}'";

constexpr const char* kTopFooter =
    "Samples a store of Redis with SCAN, a few buckets at a time: 10 calls of "
    "100 to\neach primary per refresh, and at most 500 callers.  limits.yaml "
    "says which limit\na bucket belongs to.  Redis does not know who was "
    "denied: --server reads that\nfrom a running service.  Without a terminal, "
    "as with --once, it prints one time.\n\n"
    "Examples:\n"
    "  limitree top examples/limits.yaml --store redis://localhost:6379\n"
    "  limitree top --server http://127.0.0.1:6070 --once --json";

inline constexpr const char* kSimulateFooter =
    "The traffic lasts six periods: bursts at the seam of two windows, then "
    "more than\nis allowed, a pause, a burst and somewhat less than is "
    "allowed.\n\n"
    "With --lease, processes share one limit, and are asked at random.\n\n"
    "Examples:\n"
    "  limitree simulate --algorithms all --svg algorithms.svg\n"
    "  limitree simulate --lease 100ms --count 1000 --period 1s";

}  // namespace limitree::cli

#endif  // LIMITREE_CLI_FOOTERS_HPP
