"""What `limitree serve` sends to StatsD."""

import collections
import re
import signal
import socket
import subprocess
import threading
import time

import grpc
import pytest
from service import COMMAND, PATIENT, error_of, request

INTERVAL = "--stats-interval", "50ms"
LINE = re.compile(r"([^:|\n]+):([0-9.]+)\|(c|ms|g)(?:\|@([0-9.]+))?"
                  r"(?:\|#([^|\n]*))?")
TIME = "ratelimit_server.Authorize.response_time"
REQUESTS = "ratelimit_server.Authorize.total_requests"


class Listener:
    """Collects the lines that a server of StatsD gets."""

    def __init__(self, kind):
        self.kind = kind
        self.socket = socket.socket(socket.AF_INET, kind)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.lock = threading.Condition()
        self.counts = collections.Counter()
        self.times = []
        self.lines = []
        self.sizes = []
        self.connections = []

    def start(self):
        if self.kind == socket.SOCK_STREAM:
            self.socket.listen()
        threading.Thread(target=self.run, daemon=True).start()
        return self

    def run(self):
        try:
            while self.kind == socket.SOCK_DGRAM:
                packet = self.socket.recv(1 << 16)
                self.sizes.append(len(packet))
                self.take(packet)
            while True:
                connection, _ = self.socket.accept()
                self.connections.append(connection)
                threading.Thread(target=self.read, args=[connection],
                                 daemon=True).start()
        except OSError:
            pass  # the test is over

    def read(self, connection):
        rest = b""
        try:
            while got := connection.recv(1 << 16):
                *lines, rest = (rest + got).split(b"\n")
                self.take(b"\n".join(lines))
        except OSError:
            pass

    def take(self, text):
        with self.lock:
            for line in text.decode().splitlines():
                match = LINE.fullmatch(line)
                assert match, line
                name, value, kind, share, _ = match.groups()
                self.lines.append(line)
                if kind == "c":
                    self.counts[name] += int(value)
                elif kind == "ms":
                    self.times += [float(value)] * round(1 / float(share or 1))
            self.lock.notify_all()

    def wait(self, name, value):
        with self.lock:
            assert self.lock.wait_for(lambda: self.counts[name] >= value,
                                      PATIENT), self.counts
            assert self.counts[name] == value

    def wait_for_times(self, count):
        with self.lock:
            assert self.lock.wait_for(lambda: len(self.times) >= count,
                                      PATIENT), self.times
            assert len(self.times) == count

    def close(self):
        for connection in self.connections:
            connection.close()
        self.socket.close()


@pytest.fixture(name="listen")
def make_listen():
    listeners = []

    def listen(kind, now=True):
        listeners.append(Listener(kind))
        if now:
            listeners[-1].start()
        return listeners[-1]

    yield listen
    for listener in listeners:
        listener.close()


def ask(service, count):
    limiter = service.limiter()
    for _ in range(count):
        limiter.Authorize(request("user", "alex"))


@pytest.mark.parametrize("scheme, kind", [
    ("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)])
def test_counters_and_times(serve, listen, scheme, kind):
    listener = listen(kind)
    service = serve("--workers", 2, *INTERVAL, "--statsd",
                    f"{scheme}://127.0.0.1:{listener.port}")
    listener.wait("ratelimit.service.config_load_success", 1)
    ask(service, 30)
    ask(service, 30)
    listener.wait(REQUESTS, 60)
    listener.wait_for_times(60)
    assert all(0 < each < PATIENT * 1000 for each in listener.times)
    assert f"{REQUESTS}:" in "".join(listener.lines)
    assert all(size <= 1432 for size in listener.sizes)


def test_the_last_counts_are_sent_at_the_end(serve, listen):
    listener = listen(socket.SOCK_STREAM)
    service = serve("--stats-interval", "1h", "--statsd",
                    f"tcp://127.0.0.1:{listener.port}")
    ask(service, 7)
    service.terminate()
    assert service.wait() == 0
    listener.wait(REQUESTS, 7)
    listener.wait("ratelimit.service.config_load_success", 1)


def test_tags(serve, listen):
    listener = listen(socket.SOCK_DGRAM)
    dog = listen(socket.SOCK_DGRAM)
    tags = "--stats-tags", "zone:eu.1,app:x"
    serve(*INTERVAL, *tags, "--statsd", f"udp://localhost:{listener.port}")
    serve(*INTERVAL, *tags, "--statsd", f"dogstatsd://localhost:{dog.port}")
    name = "ratelimit.service.config_load_success"
    listener.wait(f"{name}.__app=x.__zone=eu_1", 1)
    dog.wait(name, 1)
    assert f"{name}:1|c|#app:x,zone:eu_1" in dog.lines


def test_refused_limits_are_counted(serve, listen, limits):
    listener = listen(socket.SOCK_STREAM)
    service = serve(*INTERVAL, "--statsd",
                    f"tcp://127.0.0.1:{listener.port}")
    listener.wait("ratelimit.service.config_load_success", 1)
    limits.write_text("nonsense", encoding="utf-8")
    service.signal(signal.SIGHUP)
    listener.wait("ratelimit.service.config_load_error", 1)
    limits.write_text("schema: {b: {}}", encoding="utf-8")
    service.signal(signal.SIGHUP)
    listener.wait("ratelimit.service.config_load_success", 2)


def test_a_server_that_comes_later_gets_all_counts(serve, listen):
    listener = listen(socket.SOCK_STREAM, now=False)
    service = serve(*INTERVAL, "--statsd",
                    f"tcp://127.0.0.1:{listener.port}")
    assert service.wait_for("cannot send statistics").endswith(
        f": 127.0.0.1:{listener.port}: connection refused")
    ask(service, 5)
    listener.start()
    listener.wait(REQUESTS, 5)
    listener.wait("ratelimit.service.config_load_success", 1)
    service.wait_for("the statistics are sent again")


def test_a_connection_that_breaks_is_made_again(serve, listen):
    listener = listen(socket.SOCK_STREAM)
    service = serve(*INTERVAL, "--statsd",
                    f"tcp://127.0.0.1:{listener.port}")
    ask(service, 1)
    listener.wait(REQUESTS, 1)
    for connection in listener.connections:
        connection.shutdown(socket.SHUT_RDWR)
    ask(service, 2)
    listener.wait(REQUESTS, 3)


def test_a_line_longer_than_a_datagram_is_not_sent(serve, listen):
    listener = listen(socket.SOCK_STREAM)
    long = "x" * 1432
    dog = listen(socket.SOCK_DGRAM)
    serve(*INTERVAL, "--stats-tags", f"long:{long}", "--statsd",
          f"dogstatsd://127.0.0.1:{dog.port}")
    service = serve(*INTERVAL, "--stats-tags", f"long:{long}", "--statsd",
                    f"tcp://127.0.0.1:{listener.port}")
    ask(service, 1)
    listener.wait(f"{REQUESTS}.__long={long}", 1)  # a stream has no datagrams
    assert not dog.lines


@pytest.mark.parametrize("url", [
    "tcp://nobody.invalid:8125", "udp://nobody.invalid:8125"])
def test_an_unknown_host_harms_nobody(serve, url):
    service = serve(*INTERVAL, "--statsd", url)
    service.wait_for("cannot send statistics: nobody.invalid:8125: ")
    ask(service, 3)
    service.terminate()
    assert service.wait() == 0


def test_a_server_that_does_not_read_harms_nobody(serve):
    with socket.socket() as silent:
        silent.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        service = serve("--stats-interval", "1ms", "--statsd",
                        f"tcp://127.0.0.1:{silent.getsockname()[1]}")
        limiter = service.limiter()
        until = time.monotonic() + 2
        while time.monotonic() < until:
            limiter.Authorize(request("user", "alex"), timeout=PATIENT)
        service.terminate()
        assert service.wait() == 0


def test_errors_are_requests(serve, listen):
    listener = listen(socket.SOCK_STREAM)
    service = serve(*INTERVAL, "--statsd",
                    f"tcp://127.0.0.1:{listener.port}")
    limiter = service.limiter()
    code, _ = error_of(lambda: limiter.Authorize(request("nobody")))
    assert code == grpc.StatusCode.NOT_FOUND
    listener.wait(REQUESTS, 1)


@pytest.mark.parametrize("words, message", [
    (["--statsd", "localhost:8125"],
     "--statsd: 'localhost:8125' is not tcp://HOST:PORT, udp://HOST:PORT or "
     "dogstatsd://HOST:PORT"),
    (["--statsd", "tcp://localhost:0"],
     "--statsd: 'tcp://localhost:0' is not tcp://HOST:PORT, udp://HOST:PORT "
     "or dogstatsd://HOST:PORT"),
    (["--statsd", "tcp://localhost:1", "--stats-tags", "zone"],
     "EXTRA_TAGS: 'zone' is not NAME:VALUE")])
def test_wrong_settings(limits, words, message):
    done = subprocess.run([COMMAND, "serve", limits, *words], text=True,
                          capture_output=True, check=False, timeout=PATIENT)
    assert done.returncode != 0
    assert done.stderr == f"limitree: {message}\n"
