"""Each path of limitree beside the fastest peer that has it, in one run.

    ./dev bench rows                        all of them
    ./dev bench rows --only memory service  some of them
    ./dev bench rows --busy                 with spinning processes beside, too

The parts are programs that can be run alone, with more choice; --rounds is for
those that have it.  What a part has no tool for is left out with a line, and a
part that fails ends none of the others.
"""

import argparse
import os
import subprocess
import sys
import time

import peers
from callers_bench import spinning

COMPARE = peers.HERE
BENCH = COMPARE.parent
PROGRAMS = peers.BUILD / "bench/bench"
COMMAND = peers.BUILD / "bench/bindings/cli/limitree"


def memory(options):
    yield [sys.executable, COMPARE / "native_bench.py", "--rounds",
           options.rounds]


def node(options):
    if (folder := peers.node_peers()) is not None:
        yield ["node", COMPARE / "node_pairs.mjs", folder]


def loop(options):
    yield [PROGRAMS / "redis_client_bench", 1, "loops"]


def server(options):
    yield [sys.executable, BENCH / "redis_server_cpu.py",
           PROGRAMS / "redis_calls", "--rounds", options.rounds]


def callers(options):
    """Has its own --busy."""
    yield [sys.executable, COMPARE / "callers_bench.py", "--rounds",
           options.rounds, *(["--busy"] if options.busy else [])]


def service(options):
    peer = peers.ratelimit()
    yield [sys.executable, BENCH / "serve.py", COMMAND, "--parts", "many",
           "alone", "rate", "--rounds", options.rounds, "--requests", 100_000,
           *(["--peer", peer] if peer else [])]


PARTS = {
    "memory": (memory, "In memory, through the C interface"),
    "node": (node, "In memory, from Node.js"),
    "loop": (loop, "An event loop and Redis"),
    "server": (server, "What a decision costs the Redis server"),
    "callers": (callers, "Threads and Redis"),
    "service": (service, "The service"),
}
# A load on all processors says nothing about the others, which count processor
# time.
WHEN_BUSY = ("memory", "loop", "service")


def run(name, options, state=""):
    make, title = PARTS[name]
    print(f"\n==== {title}{state}", flush=True)
    for words in make(options):
        done = subprocess.run([str(word) for word in words])
        if done.returncode != 0:
            print(f"{name} failed: {done.returncode}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=[*PARTS])
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    began = time.monotonic()
    for name in options.only:
        run(name, options)
        if options.busy and name in WHEN_BUSY:
            with spinning([None] * len(os.sched_getaffinity(0))):
                run(name, options, ", busy")
    print(f"\n{time.monotonic() - began:.0f} seconds")


if __name__ == "__main__":
    main()
