"""Web servers whose workers share a file: together they admit the limit, to the
request."""

import contextlib
import threading
import urllib.parse
from collections import Counter
from http.client import HTTPConnection

import pytest

from load_site import ADMITTED
from web_servers import gunicorn, uvicorn, uwsgi

WORKERS = 4
CLIENTS = 16
ASKED = 2 * ADMITTED

WSGI, ASGI = "load_site:create_wsgi()", "load_site:create_asgi"
FOUR = "--workers", str(WORKERS)
SERVERS = {
    "gunicorn-sync": (gunicorn, WSGI, *FOUR),
    "gunicorn-gthread": (gunicorn, WSGI, *FOUR, "-k", "gthread",
                         "--threads", "4"),
    "gunicorn-gevent": (gunicorn, WSGI, *FOUR, "-k", "gevent"),
    "gunicorn-preload": (gunicorn, WSGI, *FOUR, "--preload"),
    "uwsgi": (uwsgi, WSGI, "--processes", str(WORKERS)),
    "uwsgi-lazy": (uwsgi, WSGI, "--processes", str(WORKERS), "--lazy-apps"),
    "uvicorn": (uvicorn, ASGI, *FOUR, "--factory"),
}


@contextlib.contextmanager
def served(kind, store):
    """Yields the address of a server."""
    server, *words = SERVERS[kind]
    with server(*words, STORE=store) as url:
        yield urllib.parse.urlsplit(url).netloc


def get(address, path):
    """Asks on a connection of its own, so that any worker may answer."""
    connection = HTTPConnection(address, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def load(address):
    """Returns the statuses of many requests, and who answered."""
    statuses, processes, left = Counter(), set(), iter(range(ASKED))
    lock = threading.Lock()

    def ask():
        while True:
            with lock:
                if next(left, None) is None:
                    return
            status, text = get(address, "/load")
            with lock:
                statuses[status] += 1
                if status == 200:
                    processes.add(text)

    clients = [threading.Thread(target=ask) for _ in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return statuses, processes


@pytest.mark.parametrize("kind", SERVERS)
def test_workers_admit_the_limit_together(kind, shared):
    with served(kind, shared) as address:
        there, tries = set(), 0
        while len(there) < WORKERS:
            tries += 1
            assert tries < 5000, f"only {there} answer"
            there.add(get(address, "/pid")[1])
        statuses, processes = load(address)
    assert statuses == {200: ADMITTED, 429: ASKED - ADMITTED}
    assert processes <= there and len(processes) > 1


def test_a_restart_forgets_nothing(shared):
    for expected in {200: ADMITTED, 429: ASKED - ADMITTED}, {429: ASKED}:
        with served("gunicorn-gthread", shared) as address:
            assert load(address)[0] == expected
