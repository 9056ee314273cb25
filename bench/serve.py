"""What a request costs `limitree serve`, with h2load as the client.

    python3 bench/serve.py build/bench/bindings/cli/limitree \\
        --peer /path/to/the/binary/of/envoyproxy/ratelimit

The service has one worker and one processor.  h2load, of Debian's package
nghttp2-client, has another, which a private redis-server shares.  Without
--peer, rows of envoyproxy/ratelimit are left out.  `go install` makes it:

    go install github.com/envoyproxy/ratelimit/src/service_cmd@latest

With nghttpd, of Debian's package nghttp2-server, one more row has what HTTP/2
alone costs one request at a time: it answers with a file of seven bytes.

Processor time is that of all threads of a process, as the scheduler counts it.
Rounds of all rows are interleaved, and the least of each row is shown: other
work on the machine can only add.  Latencies are medians of the rounds.
"""

import argparse
import shutil
import statistics

from service import asked, load, memory, reload
from service.load import Load
from service.running import Services

USER = [("user", "alex")]
PATH = asked.asked_path("user", "alex", "trade")

ONE = Load(asked.ENVOY, asked.asked_descriptors(USER))
TREE = Load(asked.AUTHORIZE, PATH)
JSON = Load("/json", asked.asked_json(USER), is_grpc=False)
JSON_HTTP1 = Load("/json", asked.asked_json(USER), connections=64, in_flight=1,
                  is_grpc=False, is_http1=True)


def alone(one):
    """With one connection, and one request at a time."""
    return Load(one.path, one.body, connections=1, in_flight=1)


class Row:
    """One service and its load; what was found in each round."""

    def __init__(self, name, service, asks, port=None):
        self.name = name
        self.service = service
        self.asks = asks
        self.port = port or service.grpc
        self.costs = []  # of the service and of Redis
        self.rates = []
        self.p50s = []
        self.p99s = []

    def measure(self, arguments, amount, timed):
        used = [one for one in (self.service, self.service.redis) if one]
        before = [one.processor_time() for one in used]
        found = load.run(self.asks, self.port, amount, timed=timed,
                         processor=arguments.client)
        self.costs.append([
            (one.processor_time() - start) / found.count
            for one, start in zip(used, before)])
        self.rates.append(found.rate)
        if timed:
            self.p50s.append(found.percentile(0.5))
            self.p99s.append(found.percentile(0.99))

    def cost(self, of=0):
        return min(costs[of] for costs in self.costs)

    def cells(self, timed):
        redis = f"{self.cost(1):.1f}" if self.service.redis else ""
        cells = [self.name, f"{self.cost():.2f}", redis]
        if timed:
            cells += [f"{statistics.median(self.p50s):,.0f}",
                      f"{statistics.median(self.p99s):,.0f}"]
        else:
            cells.append(f"{max(self.rates):,.0f}")
        return cells


def print_table(title, *rows):
    print(f"\n{title}\n")
    head, *rest = rows
    print("|", " | ".join(head), "|")
    print("|---|" + "--:|" * (len(head) - 1))
    for row in rest:
        print("|", " | ".join(row), "|", flush=True)


def measure(arguments, rows, amount, timed=False):
    for _ in range(arguments.rounds):
        for row in rows:
            row.measure(arguments, amount, timed)


def started(services, arguments):
    """All services, by name."""
    found = {"memory": services.limitree()}
    redis = services.redis()
    urls = {"unix": f"redis+unix://{redis.path}",
            "tcp": f"redis://127.0.0.1:{redis.port}"}
    for kind, url in urls.items():
        found[kind] = services.limitree("--store", url)
        found[kind].redis = redis
        if arguments.peer:
            found["peer " + kind] = services.peer(redis, kind)
            found["peer " + kind].redis = redis
    return found


def many_rows(found):
    rows = [
        Row("memory, one descriptor", found["memory"], ONE),
        Row("memory, two levels", found["memory"], TREE),
        Row("the same without `levels`", found["memory"],
            Load(asked.AUTHORIZE, asked.asked_path(
                "user", "alex", "trade", omits_levels=True))),
        Row("a constant answer (health)", found["memory"],
            Load(asked.HEALTH, asked.framed(b""))),
        Row("memory, `/json` over HTTP/2", found["memory"], JSON,
            found["memory"].http),
        Row("memory, `/json` over HTTP/1.1", found["memory"], JSON_HTTP1,
            found["memory"].http),
    ]
    for kind, name in (("unix", "Redis by a Unix socket"),
                       ("tcp", "Redis by TCP")):
        rows += [Row(f"{name}, one descriptor", found[kind], ONE),
                 Row(f"{name}, two levels", found[kind], TREE)]
    return rows


def peer_rows(found):
    return [
        Row("ratelimit, Redis by a Unix socket", found["peer unix"], ONE),
        Row("ratelimit, Redis by TCP", found["peer tcp"], ONE),
        Row("ratelimit, `/json` over HTTP/1.1", found["peer unix"], JSON_HTTP1,
            found["peer unix"].http),
    ]


def costs(arguments, found):
    """Returns the peak rate of the peer."""
    rows = many_rows(found)
    measure(arguments, rows, arguments.requests)
    peers = peer_rows(found) if arguments.peer else []
    measure(arguments, peers, arguments.requests // 10)
    print_table("Four connections of 64 requests (HTTP/1.1: 64 of one)",
                ["", "us of the server", "us of Redis", "requests per second"],
                *(row.cells(False) for row in rows + peers))
    return max((max(row.rates) for row in peers[:2]), default=18_000)


def named_services(found):
    names = {"memory": "memory", "unix": "Redis by a Unix socket",
             "peer unix": "ratelimit, Redis by a Unix socket"}
    return [(name, found[key]) for key, name in names.items() if key in found]


def one_in_flight(arguments, services, found):
    rows = [Row(name, service, alone(ONE))
            for name, service in named_services(found)]
    rows.insert(1, Row("memory, two levels", found["memory"], alone(TREE)))
    rows.insert(2, Row("memory, `--low-latency on`", services.limitree(
        "--low-latency", "on"), alone(ONE)))
    if shutil.which("nghttpd") is None:
        print("nghttpd is left out: it is not installed")
    else:
        rows.append(Row("nghttpd, a file of 7 bytes", services.file_server(
            ONE.path, b"7 bytes"), alone(ONE)))
    measure(arguments, rows, arguments.requests // 50, timed=True)
    print_table("One request at a time", ["", "us of the server",
                "us of Redis", "p50 us", "p99 us"],
                *(row.cells(True) for row in rows))


def at_rate(arguments, found, rate):
    rows = [Row(name, service,
                Load(ONE.path, ONE.body, rate=int(rate / 4) * 4))
            for name, service in named_services(found)]
    measure(arguments, rows, arguments.seconds, timed=True)
    print_table(f"{rate:,.0f} requests per second",
                ["", "us of the server", "us of Redis", "p50 us", "p99 us"],
                *(row.cells(True) for row in rows))


def many_rules(arguments, services):
    """A thousand times as many rules."""
    rows = []
    for count in (10, 10_000):
        service = services.limitree(
            descriptors=asked.deep_descriptors(count))
        rules = asked.deep_rules(count)
        spread = rules[::count // 10]
        rows += [Row(f"{count:,} rules, one descriptor", service,
                     Load(asked.ENVOY, asked.asked_descriptors(spread[7]))),
                 Row(f"{count:,} rules, ten descriptors", service,
                     Load(asked.ENVOY, asked.asked_descriptors(*spread)))]
    measure(arguments, rows, arguments.requests // 4)
    print_table("Rules five levels deep",
                ["", "us of the server", "us of Redis", "requests per second"],
                *(row.cells(False) for row in rows))
    for few, many in zip(rows[:2], rows[2:]):
        print(f"{many.name}: {many.cost() / few.cost():.2f} times the time")


#: What --parts names.
PARTS = ["many", "alone", "rate", "rules", "reload", "memory"]


def measure_costs(arguments):
    parts = arguments.parts
    with Services(arguments) as services:
        found = started(services, arguments)
        peak = costs(arguments, found) if "many" in parts else 18_000
        if "alone" in parts:
            one_in_flight(arguments, services, found)
        if "rate" in parts:
            at_rate(arguments, found, peak / 2)
        if "rules" in parts:
            many_rules(arguments, services)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("command", help="the limitree command")
    parser.add_argument("--peer", help="the binary of envoyproxy/ratelimit")
    parser.add_argument("--requests", type=int, default=500_000)
    parser.add_argument("--seconds", type=int, default=4,
                        help="of each round at a rate")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server", default="0", help="its processor")
    parser.add_argument("--client", default="1", help="its processor")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    arguments = parser.parse_args()
    measure_costs(arguments)
    if "reload" in arguments.parts:
        with Services(arguments) as services:
            reload.measure(arguments, services, print_table)
    if "memory" in arguments.parts:
        with Services(arguments) as services:
            memory.measure(services, print_table)


if __name__ == "__main__":
    main()
