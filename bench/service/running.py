"""The processes that are measured: limitree, its peer, and Redis."""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import tempfile
import time

from service import asked


class Running:
    """A process that is confined to processors, and what it has used."""

    def __init__(self, processors, words, ready, **options):
        """`ready` is what it logs when it listens."""
        self.log = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen(
            ["taskset", "-c", processors, *map(str, words)],
            stdout=self.log, stderr=self.log, **options)
        self.ready = self.wait_for(ready)
        self.grpc = self.http = self.redis = None

    def logged(self):
        return pathlib.Path(self.log.name).read_text("utf-8")

    def wait_for(self, pattern):
        """The match of `pattern` in its log."""
        until = time.monotonic() + 30
        while (found := re.search(pattern, self.logged())) is None:
            if self.process.poll() is not None or time.monotonic() > until:
                self.stop()
                raise SystemExit(f"no {pattern!r}:\n{self.logged()}")
            time.sleep(0.02)
        return found

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def processor_time(self):
        """Of all threads, in microseconds, as the scheduler counts it."""
        tasks = pathlib.Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text("ascii").split()[0])
                   for task in tasks) / 1000

    def resident(self):
        """In megabytes."""
        status = pathlib.Path(f"/proc/{self.process.pid}/status")
        found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text("ascii"))
        return int(found[1]) * 1024 / 1e6


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Services:
    """Starts processes, and stops them all in the end."""

    def __init__(self, arguments):
        self.arguments = arguments
        self.stack = contextlib.ExitStack()
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        self.folder = pathlib.Path(folder)
        self.count = 0

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self.stack.__exit__(*error)

    def start(self, *words, **options):
        running = Running(*words, **options)
        self.stack.callback(running.stop)
        return running

    def redis(self):
        """One that listens on a Unix socket and on TCP."""
        path, port = self.folder / "redis.sock", free_port()
        running = self.start(
            self.arguments.client,
            ["redis-server", "--save", "", "--bind", "127.0.0.1", "--port",
             port, "--unixsocket", path], "accept connections.* at")
        running.path, running.port = path, port
        return running

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "ascii")
        return path

    def limitree(self, *words, descriptors=asked.DESCRIPTORS,
                 limits=asked.LIMITS, workers=1, processors=None):
        # Files of each of the services.
        self.count += 1
        limits = self.write(f"{self.count}/limits.yaml", limits)
        rules = self.write(f"{self.count}/rules.yaml", descriptors)
        running = self.start(
            processors or self.arguments.server,
            [self.arguments.command, "serve", limits, "--ignore-environment",
             "--descriptors", rules, "--workers", workers, "--listen",
             "127.0.0.1:0", "--http-listen", "127.0.0.1:0", "--admin-listen",
             "127.0.0.1:0", *words],
            r"on 127.0.0.1:(\d+), http://127.0.0.1:(\d+), "
            r"admin http://127.0.0.1:(\d+) with")
        running.grpc, running.http, running.admin = map(
            int, running.ready.groups())
        running.rules = rules
        return running

    def peer(self, redis, kind):
        """envoyproxy/ratelimit, without its statistics."""
        self.write(f"{kind}/bench/config/rules.yaml", asked.DESCRIPTORS)
        ports = {name: str(free_port())
                 for name in ("PORT", "GRPC_PORT", "DEBUG_PORT")}
        url = redis.path if kind == "unix" else f"127.0.0.1:{redis.port}"
        running = self.start(
            self.arguments.server, [self.arguments.peer], "for gRPC on",
            env=os.environ | ports | {
                "GOMAXPROCS": "1", "DISABLE_STATS": "true",
                "USE_STATSD": "false", "RUNTIME_ROOT": str(self.folder / kind),
                "RUNTIME_SUBDIRECTORY": "bench", "REDIS_SOCKET_TYPE": kind,
                "REDIS_URL": str(url)})
        running.grpc, running.http = int(ports["GRPC_PORT"]), int(ports["PORT"])
        return running

    def file_server(self, path, text):
        """nghttpd, which answers requests for `path` with `text`."""
        file = self.folder / f"files{path}"
        file.parent.mkdir(parents=True)
        file.write_bytes(text)
        port = free_port()
        running = self.start(
            self.arguments.server,
            ["nghttpd", "--no-tls", "-a", "127.0.0.1", "-d",
             self.folder / "files", port], "")  # it logs nothing
        running.grpc = port
        until = time.monotonic() + 30
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                return running
            except OSError:
                if running.process.poll() is not None or (
                        time.monotonic() > until):
                    raise
                time.sleep(0.02)
