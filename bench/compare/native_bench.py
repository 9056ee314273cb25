"""One decision in memory: C's interface beside governor and bucket4j.

All find the caller's bucket by a name, in an order that the processor cannot
guess.  limitree decides one or two levels, all or nothing; the peers make one
call for each level, and charge the first even if the second denies.  Each runs
in its own process, and they alternate in each round.

Nanoseconds that a decision takes a thread, least and median of the rounds: of
processor time, and by the clock for several threads.

--busy has as many spinning processes beside as there are processors.
"""

import argparse
import json
import os
import statistics
import subprocess

import peers
from callers_bench import spinning

# Levels, callers, threads.
ROWS = [(1, 1, 1), (2, 1, 1), (1, 1_000_000, 1), (2, 1_000_000, 1),
        (1, 1, 2), (2, 1, 2)]


def said_by(words):
    return json.loads(subprocess.run(
        [str(word) for word in words], check=True, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)


def limitree(levels, callers, threads, seconds):
    name = f"limitree_authorize/levels:{levels}/callers:{callers}"
    if threads > 1:
        name += f"/real_time/threads:{threads}"
    found, = said_by(
        [peers.BUILD / "bench/bench/capi_bench", "--benchmark_format=json",
         f"--benchmark_filter=^{name}$",
         f"--benchmark_min_time={seconds}"])["benchmarks"]
    # The clock's time is shared by the threads.
    return {"real": found["real_time"] * threads, "cpu": found["cpu_time"]}


def peer(command):
    return lambda *row: said_by([*command, *row])


def compare(row, programs, options):
    levels, callers, threads = row
    kind = "cpu" if threads == 1 else "real"
    found = {name: [] for name in programs}
    for _ in range(options.rounds):
        for name, run in programs.items():
            found[name].append(run(*row, options.seconds)[kind])
    of_ours = [min(found["limitree"]), statistics.median(found["limitree"])]
    for name, times in found.items():
        least, median = min(times), statistics.median(times)
        print(f"{levels} level{'s' if levels > 1 else ' '} {callers:>9,} "
              f"{threads:>7}  {name:<9} {least:>7.1f} {median:>7.1f} "
              f"{of_ours[0] / least:>7.2f} {of_ours[1] / median:>7.2f}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    programs = {"limitree": limitree}
    for name, build in (("governor", peers.governor),
                        ("bucket4j", peers.bucket4j)):
        if (command := build()) is not None:
            programs[name] = peer(command)
    print(f"{'':8}   callers threads  {'':<9} {'least':>7} {'median':>7} "
          "  limitree's share of each")
    beside = [None] * len(os.sched_getaffinity(0)) if options.busy else []
    with spinning(beside):
        for row in ROWS:
            compare(row, programs, options)


if __name__ == "__main__":
    main()
