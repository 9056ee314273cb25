// What the help of commands ends with.

#pragma once

namespace limitree::cli {

inline constexpr const char* kFooter =
    "limits.yaml and logs may be \"-\" for standard input.\n"
    "Exit codes: 0 fine; 1 a file, the limits in it, or the store, is bad; "
    "2 usage.";

inline constexpr const char* kCheckFooter =
    "With --from boulder there are two files, Boulder's defaults and its "
    "overrides;\n--yaml then prints them as one limits.yaml.  With --from "
    "envoy there are\nconfiguration files of envoyproxy/ratelimit, or folders "
    "of them.\n\n"
    "Example:\n  limitree check examples/limits.yaml";

inline constexpr const char* kConvertFooter =
    "With --from boulder there are two files, Boulder's defaults and its "
    "overrides.\nWith --from envoy there are configuration files of "
    "envoyproxy/ratelimit, or\nfolders of them.  Rules without an equivalent "
    "are named on standard error; the\nexit code is then 1.\n\n"
    "Example:\n  limitree convert examples/descriptors --from envoy";

inline constexpr const char* kExplainFooter =
    "With --from envoy the path is a domain, and the entries of a descriptor "
    "as\nkey=value,key=value.  A backslash takes the character after it "
    "literally.\n\n"
    "Examples:\n  limitree explain examples/limits.yaml user alex trade\n"
    "  limitree explain --from envoy examples/descriptors apis "
    "path=/search,user=7";

inline constexpr const char* kTryFooter =
    "After --then comes another path with its own options; all steps share "
    "their\nbuckets and their clock.  Only --every and --after move the "
    "clock.\n\n"
    "With --store the attempts are real: they charge buckets that others see, "
    "and\n--every and --after are refused.\n\n"
    "response  limited (0 or 1), limit, remaining, retry after, reset after "
    "of the\n          whole decision, in whole seconds; -1: no wait is "
    "needed, or helps\nleft      tokens left of the tokens in a full bucket\n"
    "retry     until the same attempt would fit; \"-\": it does\n"
    "reset     until the bucket is full again\n\n"
    "--cost tokens=812 is the cost in a unit that limits count instead of "
    "requests;\nthe option may come once for each unit.\n\n"
    "Example:\n"
    "  limitree try examples/limits.yaml user alex trade --times 8 \\\n"
    "    --then user alex withdrawal --times 2";

inline constexpr const char* kStoreFooter =
    "The store is a URL such as redis://localhost:6379/0, rediss://host,\n"
    "redis+unix:///path, redis+sentinel://h1,h2/service or "
    "redis+cluster://h1,h2,\nor a file that processes of this machine share: "
    "shm://name or shm:///path.\nOther users of this machine can see command "
    "lines: put a URL with a password\ninto the environment as "
    "LIMITREE_STORE.\n\n"
    "--set names an option of the library, such as timeout or tls_ca_file.  "
    "The\ntimeout is 2s if it is not set.\n\n";

inline constexpr const char* kCallerFooter =
    "With --from envoy the path is a domain, and the entries of each "
    "descriptor as\nkey=value,key=value, as for explain.\n\n";

inline constexpr const char* kPingExample =
    "Example:\n  limitree ping --store redis://localhost:6379";

inline constexpr const char* kShowExample =
    "Example:\n"
    "  limitree show examples/limits.yaml user alex trade \\\n"
    "    --store redis://localhost:6379";

inline constexpr const char* kResetExample =
    "Example:\n"
    "  limitree reset examples/limits.yaml user alex trade --leaf \\\n"
    "    --store redis://localhost:6379";

inline constexpr const char* kReplayFooter =
    "The limits see the log's own time.\n\n"
    "Example:\n"
    "  limitree replay examples/web/limits.yaml examples/access.log.gz \\\n"
    "    --path 'ip,{remote_addr}' --path 'route,{method},{path}'";

inline constexpr const char* kSuggestFooter =
    "For each template and period it counts what callers use, and which of "
    "them\nlimits of 1, 2, 5, ... requests would have met.  It suggests a "
    "limit of 1m, or\nof the first --period, with the least burst that keeps "
    "the promise.\n\n"
    "Example:\n"
    "  limitree suggest examples/access.log.gz --path 'ip,{remote_addr}'";

inline constexpr const char* kTopFooter =
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
