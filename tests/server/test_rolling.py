"""Services that come and go under load, behind a real Envoy.

As in Kubernetes, Envoy knows one address, and each connection to it goes on to
one of the services that are there.  A service is told to end before others know
of it: then connections still come.
"""

import collections
import contextlib
import http.client
import socket
import sys
import threading
import time

import pytest
from bootstrap import descriptor, key, route
from grpc_health.v1 import health_pb2, health_pb2_grpc
from service import COMMAND, PATIENT, ROOT, Service, eventually

sys.path.append(str(ROOT / "tests" / "python"))
from servers import redis_server  # noqa: E402

MANY = 1_000_000
DESCRIPTORS = f"""\
domain: shop
descriptors:
  - {{key: all, rate_limit: {{unit: year, requests_per_unit: {MANY}}}}}
"""


class Balancer:
    """One address for several services, which take turns.  A connection stays
    where it is."""

    def __init__(self):
        self.lock = threading.Lock()
        self.ports = collections.deque()
        self.refused = 0
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.target = "127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def add(self, service):
        with self.lock:
            self.ports.appendleft(service.port)

    def remove(self, service):
        with self.lock:
            self.ports.remove(service.port)

    def accept(self):
        with contextlib.suppress(OSError):  # the test is over
            while True:
                client, _ = self.socket.accept()
                with self.lock:
                    port = self.ports[0]
                    self.ports.rotate(-1)
                try:
                    server = socket.create_connection(("127.0.0.1", port))
                except OSError:
                    self.refused += 1
                    client.close()
                    continue
                for ends in ((client, server), (server, client)):
                    threading.Thread(target=self.pump, args=ends,
                                     daemon=True).start()

    @staticmethod
    def pump(source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def stop(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


class Load:
    """Requests, one after the other on each of four connections to Envoy."""

    def __init__(self, port):
        self.port = port
        self.statuses = collections.Counter()
        self.over = threading.Event()
        self.threads = [threading.Thread(target=self.run) for _ in range(4)]
        for thread in self.threads:
            thread.start()

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port,
                                                timeout=PATIENT)
        while not self.over.wait(0.02):
            connection.request("GET", "/")
            answer = connection.getresponse()
            answer.read()
            self.statuses[answer.status] += 1
        connection.close()

    def stop(self):
        self.over.set()
        for thread in self.threads:
            thread.join()


@pytest.fixture(name="balancer")
def make_balancer():
    balancer = Balancer()
    yield balancer
    balancer.stop()


@pytest.fixture(name="start")
def make_start(tmp_path):
    """Starts services by the name of the original, all with one store."""
    program = tmp_path / "ratelimit"
    program.symlink_to(COMMAND)
    (tmp_path / "config").mkdir()
    (tmp_path / "config" / "shop.yaml").write_text(DESCRIPTORS)
    services = []
    with redis_server() as (url, _):
        def start(**env):
            services.append(Service(
                None, "--set", f"timeout={PATIENT}s", listen=None,
                command=[program],
                env={"RUNTIME_ROOT": str(tmp_path), "REDIS_URL": url,
                     "GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0",
                     "HOST": "127.0.0.1", "PORT": "0", "DEBUG_PORT": "0",
                     **env}))
            return services[-1]

        yield start
        for service in services:
            service.kill()


@pytest.fixture(name="envoy")
def make_envoy(proxy, balancer):
    """An Envoy that answers 500 if it gets no decision."""
    return lambda: proxy(balancer.target,
                         route("/", descriptor(key("all", "x"))),
                         failure_mode_deny=True)


def counted(envoy, load):
    """Asserts that each request was allowed, and decided exactly once."""
    sent = load.statuses.total()
    assert load.statuses == {200: sent}
    left = int(envoy.get("/").headers["x-ratelimit-remaining"])
    assert MANY - left == sent + 1
    assert sent > 20


def is_serving(service):
    stub = health_pb2_grpc.HealthStub(service.channel())
    answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENT)
    return answer.status == health_pb2.HealthCheckResponse.SERVING


def test_a_rolling_restart_loses_nothing(start, envoy, balancer):
    services = [start(), start()]
    for service in services:
        balancer.add(service)
    proxy = envoy()
    load = Load(proxy.port)
    try:
        for _ in range(2):
            services.append(start())
            balancer.add(services[-1])
            old = services.pop(0)
            before = load.statuses.total()
            old.terminate()
            old.wait_for("draining")
            # What has not heard of it yet still gets an answer.
            assert not is_serving(old)
            eventually(lambda: load.statuses.total() > before + 20)
            balancer.remove(old)
            assert old.wait() == 0
        before = load.statuses.total()
        eventually(lambda: load.statuses.total() > before + 20)
    finally:
        load.stop()
    assert balancer.refused == 0
    counted(proxy, load)


def calls_of(service):
    """How many calls of Envoy it has answered."""
    place = service.admin[0].removeprefix("http://")
    connection = http.client.HTTPConnection(place, timeout=PATIENT)
    connection.request("GET", "/stats")
    for line in connection.getresponse().read().decode().splitlines():
        if line.startswith("ratelimit_server.ShouldRateLimit.total_requests:"):
            return int(line.rpartition(" ")[2])
    raise AssertionError("no such counter")


def test_connections_come_to_a_new_service_within_their_age(start, envoy,
                                                            balancer):
    """Without a restart: Envoy would stay where it is."""
    old = start(GRPC_MAX_CONNECTION_AGE="2s")
    balancer.add(old)
    proxy = envoy()
    load = Load(proxy.port)
    try:
        eventually(lambda: calls_of(old) > 20)
        new = start(GRPC_MAX_CONNECTION_AGE="2s")
        balancer.add(new)
        begun = time.monotonic()
        eventually(lambda: calls_of(new) > 20)
        assert time.monotonic() - begun < 30
        # And back.
        before = calls_of(old)
        eventually(lambda: calls_of(old) > before + 20)
    finally:
        load.stop()
    counted(proxy, load)


def test_a_second_signal_does_not_wait_for_others(start):
    service = start(LIMITREE_DRAIN_DELAY="1h")
    service.terminate()
    service.wait_for("draining")
    eventually(lambda: not is_serving(service))
    service.terminate()
    assert service.wait() == 0
