"""Threads that decide through Redis, beside Go programs that do the same.

All decide one limit of one level: limitree through its C interface
(redis_callers.cpp), redis_rate, and redis-cell by go-redis (go_peers).  Each
runs in its own process, on one fresh, private server, and they alternate in
each round.  peers.py builds them first.

Loads: `idle` runs nothing else.  --busy adds two more: `busy` runs as many
spinning processes as there are processors; in `one core` the client and one
spinning process share a processor.

--only measures under one load, --also measures another build of redis_callers,
too, and --set sets an option of limitree.
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys

import peers
from redis_bench import redis_server


# ---- Loads ------------------------------------------------------------------


@contextlib.contextmanager
def spinning(processors):
    """Runs a spinning process on each of `processors`; None is any of them."""
    processes = []
    try:
        for processor in processors:
            process = subprocess.Popen([sys.executable, "-c", "while 1: pass"])
            processes.append(process)
            if processor is not None:
                os.sched_setaffinity(process.pid, {processor})
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


def loads(busy):
    """Yields the name of each load, where processes spin, where clients run."""
    free = os.sched_getaffinity(0)
    yield "idle", [], free
    if busy:
        yield "busy", [None] * len(free), free
        yield "one core", [min(free)], {min(free)}


# ---- Measuring --------------------------------------------------------------


def run(command, processors):
    answer = subprocess.run(
        [str(word) for word in command], check=True, stdout=subprocess.PIPE,
        text=True, preexec_fn=lambda: os.sched_setaffinity(0, processors))
    return json.loads(answer.stdout)


def commands(options, address, go, cell):
    """Returns the commands to run, without their threads and seconds."""
    url = f"redis://{address}/0"
    found = {"limitree": [peers.BUILD / "bench/bench/redis_callers", url]}
    for also in options.also:
        name, _, program = also.partition("=")
        found[name] = [program, url]
    if go:
        found["redis_rate"] = [go, "redis_rate", address]
    if cell:
        found["redis-cell"] = [go, "redis-cell", address]
    return found


def compare(load, threads, programs, options):
    name, spinners, processors = load
    found = {program: [] for program in programs}
    for _ in range(options.rounds):
        for program, command in programs.items():
            theirs = program in ("redis_rate", "redis-cell")
            with spinning(spinners):
                found[program].append(run(
                    [*command, threads, options.seconds,
                     *([] if theirs else options.set)], processors))
    for program, results in found.items():
        median = {what: statistics.median(result[what] for result in results)
                  for what in results[0]}
        each = " ".join(f"{result['ops'] / 1000:.1f}" for result in results)
        print(f"{name:<8} {threads:>3}  {program:<11} {median['ops']:>9,.0f}/s "
              f"{median['p50']:>7.0f} {median['p99']:>7.0f} "
              f"{median['max']:>7.0f} {median['cpu']:>6.1f}   {each}",
              flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", default="1,16,64")
    parser.add_argument("--only", metavar="LOAD")
    parser.add_argument("--also", action="append", default=[],
                        metavar="NAME=PROGRAM")
    parser.add_argument("--set", action="append", default=[],
                        metavar="OPTION=VALUE")
    return parser.parse_args()


def main():
    options = arguments()
    go = peers.go_peers()
    cell = peers.redis_cell() if go else None
    print(f"{'load':<8} thr  {'':<11} {'':>9}   {'p50 us':>7} {'p99 us':>7} "
          f"{'max us':>7} {'CPU us':>6}   thousands a second, each round")
    module, variables = cell or ([], {})
    with redis_server(module, {**os.environ, **variables}) as url:
        address = url.removeprefix("redis://").removesuffix("/0")
        programs = commands(options, address, go, cell)
        for load in loads(options.busy):
            for threads in options.threads.split(","):
                if options.only in (None, load[0]):
                    compare(load, int(threads), programs, options)


if __name__ == "__main__":
    main()
