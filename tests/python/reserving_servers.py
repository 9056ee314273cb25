"""Real servers whose handlers hold a slot, and the upstream that they ask."""

import contextlib
import http.client
import socket
import socketserver
import struct
import threading
import urllib.parse

import pytest

import limitree
from reserving_site import LIMITS
from servers import until
from web_servers import gunicorn, hypercorn, uvicorn, uwsgi

PATIENCE = 60
FOREVER = "/stream?parts=1000000"
THREADS = "-k", "gthread", "--threads", "12"
GEVENT = "-k", "gevent"
KINDS = {
    "wsgi": (gunicorn, "create_wsgi()", *THREADS),
    "flask": (gunicorn, "create_flask()", *THREADS),
    "flask-gevent": (gunicorn, "create_flask()", *GEVENT),
    "flask-uwsgi": (uwsgi, "create_flask()", "--threads", "12"),
    "django": (gunicorn, "create_django()", *THREADS),
    "drf": (gunicorn, "create_drf()", *THREADS),
    "asgi": (uvicorn, "create_asgi", "--factory"),
    "fastapi": (uvicorn, "create_fastapi", "--factory"),
    "fastapi-hypercorn": (hypercorn, "create_fastapi()"),
    "django-asgi": (uvicorn, "create_django_asgi", "--factory"),
}
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


@contextlib.contextmanager
def looking(store):
    """Yields a function that returns the slots and tokens that are left."""
    with limitree.Limiter(LIMITS, store, timeout="10s") as limiter:
        yield lambda: [level.remaining for level in limiter.peek(
            "site", cost=0, levels=True).levels]


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
