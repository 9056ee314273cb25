"""What leases save: processes that share one hot limit, with and without.

    python3 bench/leases.py build/bench/bench/lease_callers

Each row runs its processes against a private redis-server, once without leases
and once with.  Requests come at random, at the given multiple of the limit, to
all processes alike.  Round trips are the scripts that the server has run, by
its own count.  "Admitted" is beside one exact bucket that sees every request
at the instant at which it was made.  "Over" is the most units by which any
window of the run was over the limit, by the clock of the processes: a use
counts in a window only if it lies in it as a whole.
"""

import argparse
import array
import contextlib
import json
import os
import pathlib
import subprocess
import tempfile
import time

SECOND = 1_000_000_000
#: The limit per second, the load as its multiple, and what `lease` says.
ROWS = [
    (1000, 0.9, "100ms"),
    (1000, 0.9, "250ms"),
    (1000, 2, "{time: 100ms, ahead: true}"),
    (1000, 10, "{time: 100ms, ahead: true}"),
    (10_000, 0.9, "100ms"),
]


class Server:
    """A private redis-server on a socket of its own."""

    def __init__(self, folder):
        self.path = f"{folder}/redis.sock"
        self.process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", self.path,
             "--save", "", "--dir", folder], stdout=subprocess.DEVNULL)
        while not os.path.exists(self.path):
            if self.process.poll() is not None:
                raise SystemExit("redis-server ended")
            time.sleep(0.01)

    url = property(lambda self: f"redis+unix://{self.path}")

    def close(self):
        self.process.kill()
        self.process.wait()

    def ask(self, *words):
        return subprocess.run(["redis-cli", "-s", self.path, *words],
                              check=True, capture_output=True,
                              text=True).stdout

    def scripts(self):
        """How many scripts it has run."""
        calls = 0
        for line in self.ask("INFO", "commandstats").splitlines():
            name, _, values = line.partition(":")
            if name in ("cmdstat_evalsha", "cmdstat_eval"):
                calls += int(values.split("calls=")[1].split(",")[0])
        return calls

    def cpu_us(self):
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0])
                   for task in tasks) / 1000


@contextlib.contextmanager
def server():
    with tempfile.TemporaryDirectory() as folder:
        one = Server(folder)
        try:
            yield one
        finally:
            one.close()


def limits(rate, lease):
    more = f", lease: {lease}" if lease else ""
    return json.dumps({"schema": {"c": {"children": {"*": {
        "limits": "LIMIT"}}}}}).replace(
            '"LIMIT"', f"{{count: {rate}, period: 1s{more}}}")


# ---- Judging ----------------------------------------------------------------


def exact(asked, rate):
    """How many of the requests one bucket admits."""
    interval, most = SECOND / rate, SECOND
    debt, last, admitted = 0.0, 0, 0
    for before, _, _ in asked:
        debt = max(0.0, debt - (before - last))
        last = before
        if debt + interval <= most:
            debt += interval
            admitted += 1
    return admitted


def most_over(asked, rate):
    """The most units above the limit in any window; at most 0 if all is well.

    Windows begin where a request began and end where one ended.
    """
    uses = [one for one in asked if one[2]]
    by_end = sorted(uses, key=lambda use: use[1])
    worst = -rate
    for start, _, _ in uses[::max(1, len(uses) // 400)]:
        units = 0
        for before, after, _ in by_end:
            if before >= start:
                units += 1
                allowed = (SECOND + after - start) * rate // SECOND
                worst = max(worst, units - allowed)
    return worst


# ---- Running ----------------------------------------------------------------


def run(options, rate, load, lease):
    """Returns what happened, as a dictionary."""
    with server() as one, tempfile.TemporaryDirectory() as folder:
        files = [f"{folder}/{i}" for i in range(options.processes)]
        each = rate * load / options.processes
        cpu, scripts = one.cpu_us(), one.scripts()
        processes = [subprocess.Popen(
            [options.program, one.url, limits(rate, lease), "1", "open",
             str(each), str(options.seconds), str(i + 1), file])
            for i, file in enumerate(files)]
        if any([process.wait() for process in processes]):
            raise SystemExit("a process has failed")
        cpu, scripts = one.cpu_us() - cpu, one.scripts() - scripts
        asked = []
        for file in files:
            numbers = array.array("q", pathlib.Path(file).read_bytes())
            asked += zip(numbers[::3], numbers[1::3], numbers[2::3])
        asked.sort()
        admitted = sum(one[2] for one in asked)
        return {"requests": len(asked), "trips": scripts / len(asked),
                "admitted": admitted / exact(asked, rate),
                "over": most_over(asked, rate), "cpu": cpu / len(asked)}


def measure_load(options):
    print(f"{options.processes} processes, {options.seconds} s, one caller")
    print(f"{'limit':>8} {'load':>5} {'lease':28} {'round trips':>11} "
          f"{'admitted':>9} {'over':>6} {'Redis us':>9}")
    for rate, load, lease in ROWS:
        for given in (None, lease):
            seen = run(options, rate, load, given)
            print(f"{rate:>6}/s {load:>5} {given or 'none':28} "
                  f"{seen['trips']:>11.4f} {seen['admitted']:>9.4f} "
                  f"{seen['over']:>6} {seen['cpu']:>9.2f}", flush=True)


def closed(options, url, yaml, callers, requests):
    return float(subprocess.run(
        [options.program, url, yaml, str(callers), "closed", str(requests)],
        check=True, capture_output=True, text=True).stdout)


def measure_held(options):
    """A decision from a held lease, beside one in memory."""
    limit = "{count: 1000000000, period: 1s, burst: 1000000000000MORE}"
    yaml = ('{"schema": {"c": {"limits": LIMIT, "children": {"*": '
            '{"limits": LIMIT}}}}}').replace("LIMIT", limit)
    with server() as one:
        held, memory = [], []
        for _ in range(options.rounds):
            memory.append(closed(options, "memory://",
                                 yaml.replace("MORE", ""), 1, 2_000_000))
            held.append(closed(options, one.url,
                               yaml.replace("MORE", ", lease: 1s"), 1,
                               2_000_000))
    print(f"2 levels, one caller: {min(memory):.1f} ns in memory, "
          f"{min(held):.1f} ns from a lease: {min(held) / min(memory):.2f}")


def measure_rare(options):
    """Callers who come too seldom to be leased."""
    times = {"none": [], "100ms": []}
    with server() as one:
        for _ in range(options.rounds):
            for lease, took in times.items():
                one.ask("FLUSHALL")
                yaml = limits(1000, None if lease == "none" else lease)
                took.append(closed(options, one.url, yaml, 100_000, 300_000))
    without, leased = (min(took) for took in times.values())
    print(f"100,000 callers in turn: {without / 1000:.2f} us without leases, "
          f"{leased / 1000:.2f} us with: {leased / without:.3f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="lease_callers")
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", choices=["load", "held", "rare"])
    options = parser.parse_args()
    print("load average:", *os.getloadavg())
    for name, measure in [("load", measure_load), ("held", measure_held),
                          ("rare", measure_rare)]:
        if options.only in (None, name):
            measure(options)
    print("load average:", *os.getloadavg())


if __name__ == "__main__":
    main()
