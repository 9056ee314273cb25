"""Rate limiters for Python side by side, in one process and one run.

limitree decides two levels a request and returns a Decision; `limits` decides
one fixed window and returns a bool; throttled-py decides one GCRA and returns a
result.  All of them keep their state in the memory of this process.

Each time is the minimum of many short turns, in which the libraries alternate:
on a shared machine, anything above the minimum is the work of others.

Usage: python_bench.py [number of callers ...]        (1, 1000 and 1000000)
"""

import json
import pathlib
import subprocess
import sys
import time

# No request is denied, and a charged bucket is not full again for a minute: a
# full bucket would take no memory.
LIMIT = {"burst": 10**7, "count": 1, "period": "1m"}
LIMITS = {"schema": {"user": {"children": {"*": {
    "limits": LIMIT, "children": {"trade": {"limits": LIMIT}}}}}}}


def make_limitree(callers):
    import limitree

    limiter = limitree.Limiter(LIMITS, max_buckets=max(4096, 3 * callers))
    authorize = limiter.authorize
    return lambda name: authorize("user", name, "trade")


def make_limits(callers):
    import limits

    storage = limits.storage.MemoryStorage()
    limiter = limits.strategies.FixedWindowRateLimiter(storage)
    item = limits.parse("1000000000/minute")
    hit = limiter.hit
    return lambda name: hit(item, "user", name)


def make_throttled(callers):
    import throttled

    throttle = throttled.Throttled(
        using="gcra", quota=throttled.per_min(1, burst=10**7),
        store=throttled.MemoryStore(options={"MAX_SIZE": 2 * callers + 10}))
    limit = throttle.limit
    return limit


MAKERS = {"limitree": make_limitree, "limits": make_limits,
          "throttled-py": make_throttled}

TURNS = 60


def names_of(callers):
    """Returns the callers of one turn, spread over all of them."""
    step = max(1, callers // 1000)
    return [f"caller{(i * step * 7) % callers}" for i in range(1000)]


def time_turn(call, names):
    """Returns nanoseconds for each call, the loop around it included."""
    start = time.perf_counter_ns()
    for name in names:
        call(name)
    return (time.perf_counter_ns() - start) / len(names)


def resident():
    pages = pathlib.Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * 4096


def fill(call, callers):
    for i in range(callers):
        call(f"caller{i}")


def measure(library, callers):
    """Fills one library in this process and returns (ns, bytes per caller)."""
    call = MAKERS[library](callers)
    call("caller0")
    before = resident()
    fill(call, callers)
    size = (resident() - before) / callers
    names = names_of(callers)
    if callers >= 100_000:  # each caller once, so that its data is cold
        names = [f"caller{(i * 7919) % callers}" for i in range(200 * 1000)]
        turns = [names[i:i + 1000] for i in range(0, len(names), 1000)]
        times = sorted(time_turn(call, turn) for turn in turns)
        return times[len(times) // 4], size
    return min(time_turn(call, names) for _ in range(TURNS)), size


def loop_alone(callers):
    names = names_of(callers)
    return min(time_turn(lambda name: None, names) for _ in range(TURNS))


def alternate(callers):
    """Returns {library: (ns, bytes)}, the best of some rounds over all.

    Each library has its own process, so that its memory is measured separately.
    """
    best = {}
    for _ in range(3 if callers < 100_000 else 1):
        for library in MAKERS:
            answer = subprocess.run(
                [sys.executable, __file__, "--one", library, str(callers)],
                check=True, stdout=subprocess.PIPE, text=True).stdout
            ns, size = json.loads(answer)
            least, _ = best.get(library, (ns, size))
            best[library] = (min(ns, least), size)
    return best


def main():
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
        return
    counts = [int(word) for word in sys.argv[1:]] or [1, 1000, 1_000_000]
    loop = loop_alone(1)
    print(f"{'callers':>9}  {'library':<13} {'ns':>7} {'times':>6} "
          f"{'bytes/caller':>12}")
    for callers in counts:
        found = alternate(callers)
        own = found["limitree"][0] - loop
        for library, (ns, size) in found.items():
            taken = ns - loop
            shown = f"{size:.0f}" if callers >= 100_000 else "-"
            print(f"{callers:>9}  {library:<13} {taken:>7.0f} "
                  f"{taken / own:>6.1f} {shown:>12}")


if __name__ == "__main__":
    main()
