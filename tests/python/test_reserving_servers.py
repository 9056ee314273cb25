"""Real servers whose handlers hold a slot: an upstream counts that never more
are inside than there are slots, and all slots come back."""

import contextlib
import http.client
import os
import random
import signal
import socketserver
import struct
import socket
import threading
import time
import urllib.parse

import pytest

import limitree
from reserving_site import LIMITS, SLOTS
from servers import redis_server
from web_servers import gunicorn, hypercorn, uvicorn

PATIENCE = 60
THREADS = "-k", "gthread", "--threads", "12"
GEVENT = "-k", "gevent"
KINDS = {
    "wsgi": (gunicorn, "create_wsgi()", *THREADS),
    "flask": (gunicorn, "create_flask()", *THREADS),
    "flask-gevent": (gunicorn, "create_flask()", *GEVENT),
    "django": (gunicorn, "create_django()", *THREADS),
    "drf": (gunicorn, "create_drf()", *THREADS),
    "asgi": (uvicorn, "create_asgi", "--factory"),
    "fastapi": (uvicorn, "create_fastapi", "--factory"),
    "fastapi-hypercorn": (hypercorn, "create_fastapi()"),
    "django-asgi": (uvicorn, "create_django_asgi", "--factory"),
}
WITH_FUNCTIONS = ["flask", "django", "drf", "django-asgi"]
RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: close() sends a reset


class Upstream(socketserver.ThreadingTCPServer):
    """Counts who is inside."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 100

    def __init__(self):
        self.lock = threading.Lock()
        self.inside = self.most = self.times = 0
        super().__init__(("127.0.0.1", 0), _Visit)


class _Visit(socketserver.BaseRequestHandler):
    def handle(self):
        upstream = self.server
        if not self.request.recv(1):
            return
        with upstream.lock:
            upstream.inside += 1
            upstream.times += 1
            upstream.most = max(upstream.most, upstream.inside)
        try:
            self.request.sendall(b"+")
            with contextlib.suppress(OSError):  # it was killed
                self.request.recv(1)
        finally:
            with upstream.lock:
                upstream.inside -= 1
        with contextlib.suppress(OSError):
            self.request.sendall(b"-")


@pytest.fixture
def upstream():
    with Upstream() as made:
        threading.Thread(target=made.serve_forever, daemon=True).start()
        yield made
        made.shutdown()


@contextlib.contextmanager
def serving(kind, upstream, store, *more, **environment):
    """Yields the address of a server."""
    server, site, *options = KINDS[kind]
    with server(f"reserving_site:{site}", *options, *more, STORE=store,
                UPSTREAM=str(upstream.server_address[1]), **environment
                ) as url:
        yield urllib.parse.urlsplit(url).netloc


@contextlib.contextmanager
def getting(address, path):
    """Yields the answer, which may still be on its way."""
    connection = http.client.HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.connection = connection
        yield answer
    finally:
        connection.close()


def get(address, path):
    with getting(address, path) as answer:
        answer.read()
        return answer.status


def go_away(answer):
    """Resets the connection in the middle of the response."""
    gone = answer.connection.sock or answer.fp.raw._sock
    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    answer.close()
    answer.connection.close()
    gone.close()


def until(is_so):
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@contextlib.contextmanager
def looking(store):
    """Yields a function that returns the slots and tokens that are left."""
    with limitree.Limiter(LIMITS, store, timeout="10s") as limiter:
        yield lambda: [level.remaining for level in limiter.peek(
            "site", cost=0, levels=True).levels]


FOREVER = "/stream?parts=1000000"


@pytest.mark.parametrize("kind", KINDS)
def test_slots_come_back(kind, upstream, shared):
    with serving(kind, upstream, shared) as address, looking(shared) as left:
        with contextlib.ExitStack() as streams:
            open_streams = [streams.enter_context(getting(address, FOREVER))
                            for _ in range(SLOTS)]
            for one in open_streams:
                assert one.status == 200 and one.readline() == b"part\n"
            assert left()[0] == 0 and upstream.inside == SLOTS
            with getting(address, FOREVER) as denied:
                assert denied.status == 429
                assert denied.headers["Retry-After"]
                assert '"site#slots";r=0' in denied.headers["RateLimit"]
            go_away(open_streams[0])
            until(lambda: left()[0] == 1)
            assert get(address, "/stream?parts=3") == 200
            for one in open_streams[1:]:
                go_away(one)
        until(lambda: left()[0] == SLOTS)
        for _ in range(2 * SLOTS):
            with contextlib.suppress(OSError, http.client.HTTPException):
                assert get(address, "/fails") == 500
        until(lambda: left()[0] == SLOTS)
        assert upstream.most == SLOTS and upstream.inside == 0
        # Streams have used what they held, those that threw nothing.
        assert left()[1] == 1000 - 10 * (SLOTS + 1)


@pytest.mark.parametrize("kind", KINDS)
def test_what_a_response_has_used(kind, upstream, shared):
    expected = {"/usage": 3, "/garbage": 10}
    if kind in WITH_FUNCTIONS:
        expected |= {"/function": 4}
    if kind in ("flask", "django", "django-asgi"):
        expected |= {"/denied": 0}
    used = 0
    with serving(kind, upstream, shared) as address, looking(shared) as left:
        for path, cost in expected.items():
            assert get(address, path) == (429 if path == "/denied" else 200)
            used += cost
            until(lambda: left() == [SLOTS, 1000 - used])


@pytest.mark.parametrize("kind", KINDS)
def test_never_more_than_the_slots(kind, upstream, shared):
    more = (() if kind in ("flask-gevent", "fastapi-hypercorn")
            else ("--workers", "2"))
    with serving(kind, upstream, shared, *more) as address, looking(
            shared) as left:
        statuses = load(address, 200)
        until(lambda: left()[0] == SLOTS)
    assert set(statuses) <= {200, 429} and upstream.most <= SLOTS
    assert statuses.count(200) >= SLOTS
    assert upstream.times >= statuses.count(200)


def load(address, times, clients=8):
    """Returns the statuses of short streams; some clients go away."""
    statuses, left, lock = [], iter(range(times)), threading.Lock()

    def ask():
        while True:
            with lock:
                number = next(left, None)
                if number is None:
                    return
            with contextlib.suppress(OSError, http.client.HTTPException):
                with getting(address, "/stream?parts=3") as answer:
                    with lock:
                        statuses.append(answer.status)
                    if number % 3 == 0:
                        go_away(answer)
                    else:
                        answer.read()

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    return statuses


@pytest.mark.parametrize("kind", ["asgi", "fastapi", "fastapi-hypercorn"])
def test_websockets(kind, upstream, shared):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with serving(kind, upstream, shared) as address, looking(shared) as left:
        url = f"ws://{address}/ws"
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(connect(url, open_timeout=PATIENCE))
                       for _ in range(SLOTS)]
            for one in sockets:
                one.send("x")
                assert one.recv() == "part"
            assert left()[0] == 0 and upstream.inside == SLOTS
            with pytest.raises(InvalidStatus) as denied:
                connect(url, open_timeout=PATIENCE)
            assert denied.value.response.status_code == 429
            sockets[0].close()
            until(lambda: left()[0] == 1)
            sockets[1].socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                         RESET)
            sockets[1].socket.close()
            until(lambda: left()[0] == 2)
        until(lambda: left()[0] == SLOTS)
        assert upstream.most == SLOTS


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_dies_while_something_is_held(kind, upstream):
    with redis_server() as (store, redis), serving(
            kind, upstream, store,
            OPTIONS='{"timeout": "2s", "on_store_error": "raise"}') as address:
        with getting(address, "/stream?parts=30") as answer:
            assert answer.status == 200 and answer.readline() == b"part\n"
            redis.kill()
            redis.wait()
            assert answer.read().count(b"part") == 29
        until(lambda: upstream.inside == 0)
        assert get(address, "/stream?parts=1") == 503


@pytest.mark.parametrize("store", ["shared", "redis"])
@pytest.mark.parametrize("kind", ["flask", "fastapi"])
def test_workers_that_are_killed(kind, store, upstream, request):
    """The hold is longer than machines stand still, as it should be."""
    with contextlib.ExitStack() as stack:
        url = (stack.enter_context(redis_server())[0] if store == "redis"
               else request.getfixturevalue("shared"))
        address = stack.enter_context(serving(
            kind, upstream, url, "--workers", "4", RESERVE="8s"))
        left = stack.enter_context(looking(url))
        loading = threading.Thread(target=load, args=(address, 1500))
        loading.start()
        killed = 0
        while loading.is_alive() and killed < 6:
            with contextlib.suppress(OSError, http.client.HTTPException):
                os.kill(pid_of(address), signal.SIGKILL)
                killed += 1
            time.sleep(random.uniform(0.1, 0.5))
        loading.join()
        assert killed > 0
        until(lambda: left()[0] == SLOTS and upstream.inside == 0)
        with contextlib.ExitStack() as streams:
            for _ in range(SLOTS):
                one = streams.enter_context(getting(address, FOREVER))
                assert one.status == 200 and one.readline() == b"part\n"
            assert get(address, FOREVER) == 429
        assert upstream.most == SLOTS


def pid_of(address):
    with getting(address, "/pid") as answer:
        return int(answer.read())
