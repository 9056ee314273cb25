"""Requests that h2load sends."""

import dataclasses
import re
import subprocess
import tempfile


@dataclasses.dataclass(frozen=True)
class Load:
    """A request, the connections that send it, and how many at a time."""

    path: str
    body: bytes
    connections: int = 4
    in_flight: int = 64
    is_grpc: bool = True
    is_http1: bool = False
    rate: float = 0  # per second; 0: the next as soon as one is answered


@dataclasses.dataclass(frozen=True)
class Found:
    rate: float
    count: int
    failed: int
    latencies: list  # in microseconds, sorted

    def percentile(self, share):
        last = len(self.latencies) - 1
        return self.latencies[min(last, int(share * len(self.latencies)))]


def words_of(load, amount):
    words = ["-c", load.connections, "-m", load.in_flight]
    if load.rate:
        words += ["-D", amount, "--rps", load.rate / load.connections]
    else:
        words += ["-n", amount]
    if load.is_http1:
        words.append("--h1")
    kind = "application/grpc" if load.is_grpc else "application/json"
    return [*words, "-H", f"content-type: {kind}", "-H", "te: trailers"]


def run(load, port, amount, *, processor, timed=False):
    """Sends `amount` requests, or with a rate for so many seconds."""
    with tempfile.NamedTemporaryFile() as body, \
            tempfile.NamedTemporaryFile() as log:
        body.write(load.body)
        body.flush()
        words = words_of(load, amount)
        if timed:
            words += ["--log-file", log.name]
        said = subprocess.run(
            ["taskset", "-c", processor, "h2load", *map(str, words), "-d",
             body.name, f"http://127.0.0.1:{port}{load.path}"],
            check=True, capture_output=True, text=True).stdout
        lines = log.read().decode().splitlines()
    return found_in(said, load, sorted(int(line.split()[2]) for line in lines))


def found_in(said, load, latencies):
    """What h2load says at the end."""
    totals = re.search(r"requests: (\d+) total, .*, (\d+) done, "
                       r"(\d+) succeeded", said)
    total, done, succeeded = map(int, totals.groups())
    data = int(re.search(r"\((\d+)\) data", said)[1])
    # Errors of gRPC are successes of HTTP, but have no message.  With a rate,
    # some requests may be on their way at the end.
    if succeeded != done or data < 7 * done or (done < total and not load.rate):
        raise SystemExit(f"not all requests were answered:\n{said}")
    rate = float(re.search(r"([\d.]+) req/s", said)[1])
    return Found(rate, done, total - done, latencies)
