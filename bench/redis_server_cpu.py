"""What a decision costs a Redis server: limitree beside its peers.

    python3 bench/redis_server_cpu.py build/bench/bench/redis_calls

compare/peers.py installs the peers; their scripts are taken from the packages.
A peer that cannot be installed is left out.  redis-cell is a module of the
server, which managed servers do not have.  Each has one call for each level, as
its library makes them; limitree has one for all levels, and in the rows "of 16"
one for 16 callers who wait at the same time.

A private redis-server runs on one processor and this program on another.  Four
connections have 64 decisions each in flight, of 5120 callers whose keys exist.
Processor time is that of all threads of the server; rounds are interleaved.
"""

import argparse
import hashlib
import json
import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "compare"))
import peers  # noqa: E402

CALLERS = 5120
CONNECTIONS = 4
IN_FLIGHT = 64
BATCH = CONNECTIONS * IN_FLIGHT
ACTIONS = ["trade", "spot", "orders", "cancel"]
END = b"$5\r\n=END=\r\n"

# Run in the peers' own Python: their scripts, and the keys they make.
ASK_LIMITS = """
import json
from importlib import resources
from limits import RateLimitItemPerMinute
from limits.storage.redis import RedisStorage as Storage
path = resources.files("limits") / "resources/redis/lua_scripts"
print(json.dumps({
    "script": (path / "incr_expire.lua").read_text(),
    "key": "LIMITS:" + RateLimitItemPerMinute(1000000).key_for("NAME")}))
"""
ASK_THROTTLED = """
import json
from throttled.rate_limiter.gcra import RedisLimitAtomicActionSpec as Spec
print(json.dumps({"script": Spec.SCRIPTS, "key": "throttled:v1:gcra:NAME"}))
"""
ASK_FLEXIBLE = """
const {RateLimiterRedis} = require('rate-limiter-flexible');
const limiter = new RateLimiterRedis(
  {storeClient: {}, points: 1000000, duration: 60});
console.log(JSON.stringify(
  {script: limiter._incrTtlLuaScript, key: limiter.getKey('NAME')}));
"""


def command(*words):
    """The words in RESP."""
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Server:
    """A private redis-server."""

    def __init__(self, module=(), variables=None):
        cpus = sorted(os.sched_getaffinity(0))
        self.folder = tempfile.mkdtemp(prefix="limitree-bench-")
        path = self.folder + "/redis.sock"
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", "",
             "--appendonly", "no", "--dir", self.folder, "--unixsocket", path,
             "--logfile", self.folder + "/log", *module],
            env={**os.environ, **(variables or {})},
            preexec_fn=lambda: os.sched_setaffinity(0, cpus[:1]))
        if len(cpus) > 1:
            os.sched_setaffinity(0, cpus[1:2])
        while not os.path.exists(path):
            if self.process.poll() is not None:
                raise SystemExit("redis-server ended")
            time.sleep(0.01)
        self.connections = []
        for _ in range(CONNECTIONS):
            one = socket.create_connection(("127.0.0.1", port))
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections.append(one)

    def close(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        shutil.rmtree(self.folder)

    def ask(self, commands):
        """Sends commands over one connection, and returns all that is said."""
        one = self.connections[0]
        one.sendall(commands + command("ECHO", "=END="))
        said = b""
        while not said.endswith(END):
            said += one.recv(1 << 16)
        return said[:-len(END)]

    def carry_out(self, batch):
        """Sends a string to each connection, and waits for all answers."""
        for one, commands in zip(self.connections, batch):
            one.sendall(commands + command("ECHO", "=END="))
        for one in self.connections:
            tail = b""
            while not tail.endswith(END):
                tail = (tail + one.recv(1 << 18))[-32:]

    def load(self, script):
        sha = hashlib.sha1(script.encode()).hexdigest()
        if sha.encode() not in self.ask(command("SCRIPT", "LOAD", script)):
            raise SystemExit("a script does not compile")
        return sha

    def cpu_us(self):
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0])
                   for task in tasks) / 1000

    def used_memory(self):
        info = self.ask(command("INFO", "memory")).decode()
        return int(info.split("used_memory:")[1].split("\r")[0])


class Row:
    """One kind of decision, and what it took in each round."""

    def __init__(self, name, calls, together=1):
        self.name = name
        random.Random(1).shuffle(calls)
        each = IN_FLIGHT // together  # of the calls on a connection
        self.batches = [
            [b"".join(calls[at + i * each:at + (i + 1) * each])
             for i in range(CONNECTIONS)]
            for at in range(0, len(calls) - CONNECTIONS * each + 1,
                            CONNECTIONS * each)]
        self.next = 0
        self.rounds = []

    def run(self, server, seconds):
        end = time.monotonic() + seconds
        count, before = 0, server.cpu_us()
        while time.monotonic() < end or count < CALLERS:
            server.carry_out(self.batches[self.next % len(self.batches)])
            self.next += 1
            count += BATCH
        self.rounds.append((server.cpu_us() - before) / count)

    def best(self):
        return min(self.rounds)

    def median(self):
        return sorted(self.rounds)[len(self.rounds) // 2]


def ask_peer(words, folder, environment=None):
    try:
        said = subprocess.run(words, cwd=folder, env=environment, check=True,
                              capture_output=True, text=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    return json.loads(said)


def calls_of_peers(server, has_cell):
    """Returns for each peer what makes the call for a bucket's name."""
    calls = {}
    if has_cell:
        calls["redis-cell"] = lambda bucket: command(
            "CL.THROTTLE", bucket, 999999, 1000000, 60, 1)
    folder = peers.python_peers()
    if folder is None or peers.node_peers() is None:
        return calls
    python = str(folder / "bin/python")
    found = {
        "limits": ask_peer([python, "-c", ASK_LIMITS], folder),
        "rate-limiter-flexible": ask_peer(["node", "-e", ASK_FLEXIBLE], folder),
        "throttled-py": ask_peer([python, "-c", ASK_THROTTLED], folder),
    }
    arguments = {  # beside the key
        "limits": (60, 1),
        "rate-limiter-flexible": (1, 60, 1000000, 60),
        "throttled-py": (1, 1000000, 1),
    }
    for name, one in found.items():
        if one is None:
            print(f"{name} is left out: it does not run")
            continue
        sha = server.load(one["script"])
        calls[name] = lambda bucket, sha=sha, key=one["key"], name=name: (
            command("EVALSHA", sha, 1, key.replace("NAME", bucket),
                    *arguments[name]))
    return calls


def bucket(caller, level):
    return ":".join([f"user:{caller:07d}"] + ACTIONS[:level])


def decisions_of_peer(call, levels):
    return [b"".join(call(bucket(caller, level)) for level in range(levels))
            for caller in range(CALLERS)]


def decisions_of_limitree(server, program, what, levels, together=1):
    words = [program, what, str(levels), str(CALLERS)]
    said = subprocess.run(words + ([str(together)] if together > 1 else []),
                          check=True, capture_output=True).stdout
    calls = []
    while said:
        size, = struct.unpack_from("<I", said)
        calls.append(said[4:4 + size])
        said = said[4 + size:]
    server.ask(calls[0])  # the script's text
    return calls[1:]


def compare(server, rows, options):
    """Prints a table of rows, with their share of the first one's time."""
    for row in rows:
        row.run(server, 0.3)
        row.rounds.clear()
    for _ in range(options.rounds):
        for row in rows:
            row.run(server, options.seconds)
    for row in rows:
        print(f"  {row.name:28} {row.best():7.2f} {row.median():8.2f}"
              f" {rows[0].best() / row.best():9.2f}"
              f" {rows[0].median() / row.median():8.2f}")


def measure_cpu(server, options, has_cell):
    calls = calls_of_peers(server, has_cell)
    print("us of the server's processor for each decision, and limitree's"
          " share of it")
    print(f"  {'':28} {'least':>7} {'median':>8} {'of least':>9} {'median':>8}")
    for levels in map(int, options.levels.split(",")):
        print(f"{levels} level{'s' if levels > 1 else ''}")
        server.ask(command("FLUSHALL"))

        def ours(what, together=1):
            return decisions_of_limitree(server, options.calls, what, levels,
                                         together)

        rows = [Row("limitree, of 16", ours("allowed", 16), 16),
                Row("limitree", ours("allowed"))]
        rows += [Row(name, decisions_of_peer(call, levels))
                 for name, call in calls.items()]
        rows.append(Row("limitree, cost 2", ours("cost")))
        # Of the same callers: they owe by now, and a denial writes nothing.
        rows.append(Row("limitree, denied, of 16", ours("denied", 16), 16))
        rows.append(Row("limitree, denied", ours("denied")))
        compare(server, rows, options)


ALGORITHMS = ["gcra", "fixed_window", "sliding_tail", "leaky_bucket",
              "sliding_window", "sliding_log"]


def measure_algorithms(server, options):
    print("one level by each algorithm: us of the server's processor, GCRA's"
          " share\nof it, and bytes of used_memory for a caller who asked 3"
          " times")
    rows, memory = [], []
    for name in ALGORITHMS:
        server.ask(command("FLUSHALL"))
        calls = decisions_of_limitree(server, options.calls, name, 1)
        before = server.used_memory()
        for at in range(0, 3 * len(calls), 256):
            server.ask(b"".join(calls[i % len(calls)]
                                for i in range(at, at + 256)))
        memory.append((server.used_memory() - before) / len(calls))
        rows.append(Row(name, calls))
    server.ask(command("FLUSHALL"))
    compare(server, rows, options)
    for name, used in zip(ALGORITHMS, memory):
        print(f"  {name:28} {used:7.0f} bytes")


def measure_memory(server, options):
    print("bytes of used_memory for a caller with 3 levels")
    in_time = time.time_ns() + 10**12

    def grown_by(decisions):
        server.ask(command("FLUSHALL"))
        before = server.used_memory()
        for at in range(0, len(decisions), 256):
            server.ask(b"".join(decisions[at:at + 256]))
        return (server.used_memory() - before) / len(decisions)

    server.ask(b"".join(decisions_of_limitree(
        server, options.calls, "allowed", 3)[:1]))
    ours = grown_by(
        decisions_of_limitree(server, options.calls, "allowed", 3))
    strings = grown_by([
        b"".join(command("SET", "limitree:" + bucket(caller, level),
                         in_time + caller, "PX", 10**6) for level in range(3))
        for caller in range(CALLERS)])
    print(f"  limitree, one hash {ours:9.0f}")
    print(f"  three strings      {strings:9.0f} {ours / strings:9.2f}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("calls", help="the program redis_calls")
    parser.add_argument("--levels", default="1,2,3,5")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=0.2)
    parser.add_argument("--algorithms", action="store_true",
                        help="those alone")
    options = parser.parse_args()
    cell = None if options.algorithms else peers.redis_cell()
    server = Server(*(cell or ()))
    try:
        if not options.algorithms:
            measure_cpu(server, options, cell is not None)
            measure_memory(server, options)
        measure_algorithms(server, options)
    finally:
        server.close()


if __name__ == "__main__":
    main()
