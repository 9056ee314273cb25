"""What a request costs `limitree serve`, with h2load as the client.

    python3 bench/serve.py build/release/bindings/cli/limitree

The server has one worker and runs on one processor, h2load on another: Debian's
package nghttp2-client has it.  Processor time is that of all threads of the
server, as the scheduler counts it.  Rounds of all rows are interleaved, and the
least of each row is shown: other work on the machine can only add.
"""

import argparse
import contextlib
import pathlib
import re
import subprocess
import tempfile

LIMITS = """\
schema:
  user:
    children:
      "*":
        limits: 1000000000/second
        children:
          trade: {limits: 1000000000/second}
"""

AUTHORIZE = "/limitree.v1.Limiter/Authorize"
CHECK = "/grpc.health.v1.Health/Check"


def field(number, content):
    """A text or a message of protobuf, shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def framed(message):
    return b"\0" + len(message).to_bytes(4, "big") + message


PATH = field(1, b"".join(
    field(1, segment) for segment in (b"user", b"alex", b"trade")))

#: Name, method, message, connections, calls of each at a time.
ROWS = [
    ("two levels, 4 connections of 64", AUTHORIZE, PATH, 4, 64),
    ("the same without `levels`", AUTHORIZE, PATH + b"\x18\x01", 4, 64),
    ("a constant answer (health)", CHECK, b"", 4, 64),
    ("two levels, one at a time", AUTHORIZE, PATH, 1, 1),
]


@contextlib.contextmanager
def running(command, processor, *words):
    """The process of a service, and its port."""
    with tempfile.TemporaryDirectory() as folder:
        limits = pathlib.Path(folder) / "limits.yaml"
        limits.write_text(LIMITS, "ascii")
        process = subprocess.Popen(
            ["taskset", "-c", processor, command, "serve", limits, "--workers",
             "1", "--listen", "127.0.0.1:0", *words],
            stderr=subprocess.PIPE, text=True)
        try:
            line = process.stderr.readline()
            yield process, int(re.search(r":(\d+) with", line)[1])
        finally:
            process.terminate()
            process.communicate()


def processor_time(process):
    """Of all threads, in nanoseconds."""
    return sum(int(task.joinpath("schedstat").read_text("ascii").split()[0])
               for task in pathlib.Path(f"/proc/{process.pid}/task").iterdir())


def ask(arguments, port, row, body):
    """Requests per second, of so many."""
    _, method, _, connections, in_flight = row
    # One at a time takes longer.
    count = arguments.requests if in_flight > 1 else arguments.requests // 10
    said = subprocess.run(
        ["taskset", "-c", arguments.client, "h2load", "-n", str(count), "-c",
         str(connections), "-m", str(in_flight), "-d", body, "-H",
         "content-type: application/grpc", "-H", "te: trailers",
         f"http://127.0.0.1:{port}{method}"],
        check=True, capture_output=True, text=True).stdout
    done = int(re.search(r"(\d+) succeeded", said)[1])
    data = int(re.search(r"\((\d+)\) data", said)[1])
    # Errors of gRPC are successes of HTTP, but have no message.
    if done != count or data < 7 * count:
        raise SystemExit(f"not all calls were answered:\n{said}")
    return float(re.search(r"([\d.]+) req/s", said)[1]), count


def measure(arguments, row, process, port, folder):
    body = pathlib.Path(folder) / "body"
    body.write_bytes(framed(row[2]))
    before = processor_time(process)
    rate, count = ask(arguments, port, row, str(body))
    return (processor_time(process) - before) / count / 1000, rate


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("command", help="the limitree command")
    parser.add_argument("--requests", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--server", default="0", help="its processor")
    parser.add_argument("--client", default="1", help="its processor")
    arguments = parser.parse_args()
    found = {row: [] for row in ROWS}
    with running(arguments.command, arguments.server) as (process, port), \
            tempfile.TemporaryDirectory() as folder:
        for _ in range(arguments.rounds):
            for row, results in found.items():
                results.append(measure(arguments, row, process, port, folder))
    print("| | us of the server | calls per second |\n|---|--:|--:|")
    for row, results in found.items():
        cost = min(cost for cost, _ in results)
        rate = max(rate for _, rate in results)
        print(f"| {row[0]} | {cost:.2f} | {rate:,.0f} |")


if __name__ == "__main__":
    main()
