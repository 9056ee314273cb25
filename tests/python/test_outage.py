"""A store that fails and comes back: what the log says, and what web
integrations answer meanwhile."""

import asyncio
import contextlib
import logging
import os
import re
import signal
import subprocess
import sys
import time

import django_site  # noqa: F401  its settings come first

import flask
import pytest
from django.test import Client, override_settings
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient
from rest_framework.test import APIRequestFactory
from rest_framework.views import APIView

import limitree
import limitree.asgi
import limitree.fastapi
import limitree.flask
import limitree.wsgi
from limitree import drf
from limitree.django import limiter as django_limiter
from servers import PATIENT, redis_server, wait_for
from shared_files import held

TREE = "schema: {job: {limits: 100/h}, ip: {children: {'*': {limits: 3/h}}}}"
NOBODY = "redis+unix:///nowhere/redis.sock"


@pytest.fixture
def lines(caplog):
    """Returns what the log has said since the last time."""
    def new():
        found = [record.getMessage() for record in caplog.records
                 if record.name == "limitree"]
        caplog.clear()
        return found
    return new


# One for all tests: to stop a process while it holds a lock takes a while.
@pytest.fixture(scope="module", params=["redis", "shared"])
def away(request, tmp_path_factory):
    """The URL of a store that fails."""
    if request.param == "redis":
        yield NOBODY
    elif sys.platform != "linux":
        pytest.skip("shm:// needs Linux")
    else:
        folder = tmp_path_factory.mktemp("away")
        shared = f"shm://{folder}/shared?max_buckets=1000"
        with held(shared):
            yield shared


class Clock:
    """A clock that may be set ahead, so that a store is back at once."""

    ahead = 0

    def __call__(self):
        return time.time_ns() + self.ahead

    def pass_quiet(self):
        self.ahead += 6 * 10**9


# ---- The lines --------------------------------------------------------------

HOW = {"local": ("limits are decided in this process",
                 "decided in this process"),
       "allow": ("requests are let through unchecked",
                 "let through unchecked"),
       "deny": ("requests are denied unchecked",
                "denied unchecked"),
       "raise": ("requests fail", "not decided")}


def begins(url, how):
    """The pattern of the line when a store begins to fail."""
    return (re.escape(f"the store {url} fails in process {os.getpid()} (")
            + r"[\w, ]+"
            + re.escape(f"), on_store_error={how}: {HOW[how][0]} until it is "
                        "back"))


def ends(url, how):
    """That of the beginning of the line when it is back."""
    since = HOW[how][1]
    denials = r", \d+ of them limited"
    return (re.escape(f"the store {url} is back in process {os.getpid()} ")
            + r"after \d+\.\d s, "
            + re.escape(f"on_store_error={how}: ")
            + rf"(?P<requests>\d+) requests were {since}"
            # Memory denies, too, if the test had to ask often.
            + {"deny": denials, "local": f"({denials})?"}.get(how, "")
            + r" \([\w, ]+\)")


class Sync:
    kind = limitree.Limiter

    def __init__(self, *args, **options):
        self.limiter = self.kind(*args, **options)

    def ask(self, count):
        for _ in range(count):
            with contextlib.suppress(limitree.StoreError):
                self.limiter.authorize("job")


class Async(Sync):
    kind = limitree.AsyncLimiter

    def ask(self, count):
        async def main():
            await asyncio.gather(
                *(self.limiter.authorize("job") for _ in range(count)),
                return_exceptions=True)
        asyncio.run(main())


@pytest.mark.parametrize("kind", [Sync, Async])
@pytest.mark.parametrize("how", HOW)
def test_two_lines(kind, how, lines):
    with redis_server() as (url, process):
        path = url.removeprefix("redis+unix://")
        clock = Clock()
        asking = kind(TREE, url, on_store_error=how, timeout=PATIENT,
                      clock=clock)
        asking.ask(5)
        assert lines() == []
        process.kill()
        process.wait()
        asking.ask(7)
        first, = lines()
        assert re.fullmatch(begins(url, how), first), first
        asking.ask(3)
        assert lines() == []
    with again(path):
        wait_for_store(asking)
        assert lines() == []
        clock.pass_quiet()
        asking.ask(1)
        last, = lines()
        found = re.fullmatch(ends(url, how), last)
        assert found and int(found["requests"]) >= 10, last
        asking.ask(3)
        assert lines() == []


@contextlib.contextmanager
def again(path):
    """A server on the socket at `path`."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    process = subprocess.Popen(
        ["redis-server", "--port", "0", "--unixsocket", path, "--save", ""],
        stdout=subprocess.DEVNULL)
    try:
        wait_for(path, process)
        yield process
    finally:
        process.kill()
        process.wait()
        with contextlib.suppress(OSError):
            os.unlink(path)
            os.rmdir(os.path.dirname(path))


def wait_for_store(asking):
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        before = asking.limiter.stats().round_trips
        asking.ask(1)
        if asking.limiter.stats().round_trips > before:
            return
        time.sleep(0.02)
    raise AssertionError("the store is not asked again")


@pytest.mark.parametrize("kind", [Sync, Async])
@pytest.mark.parametrize("how", HOW)
def test_two_lines_about_a_file(kind, how, shared, lines):
    clock = Clock()
    asking = kind(TREE, shared, on_store_error=how, clock=clock)
    asking.ask(5)
    with held(shared) as process:
        assert lines() == []
        asking.ask(7)
        first, = lines()
        assert re.fullmatch(begins(shared, how), first), first
        assert "(shm_busy)" in first
        asking.ask(3)
        assert lines() == []
        process.send_signal(signal.SIGCONT)
        deadline, last = time.monotonic() + 30, []
        while not last and time.monotonic() < deadline:
            asking.ask(1)
            clock.pass_quiet()
            last = lines()
    assert len(last) == 1 and re.fullmatch(ends(shared, how), last[0]), last


def test_a_log_that_asks_the_limiter_or_closes_it(lines):
    """A log handler may ask the limiter itself."""
    limiter = limitree.Limiter(TREE, NOBODY, on_store_error="local",
                               levels=True)
    asked = []

    class Handler(logging.Handler):
        def emit(self, record):
            asked.append(limiter.authorize("job"))
            limiter.close()

    handler = Handler()
    logger = logging.getLogger("limitree")
    logger.addHandler(handler)
    try:
        assert limiter.authorize("job").levels[0].policy == "job"
    finally:
        logger.removeHandler(handler)
    assert len(asked) == 1 and asked[0].source == "local" and limiter.closed
    assert len(lines()) == 1


# ---- Web integrations -------------------------------------------------------


def flask_codes(count, store, **options):
    app = flask.Flask("x")
    limitree.flask.Limiter(lambda: "a", app=app, storage_uri=store,
                           default_limits=["3/hour"], **options)
    app.get("/")(lambda: "")
    return [app.test_client().get("/").status_code for _ in range(count)]


def django_codes(count, store, **options):
    named = {name.upper(): value for name, value in options.items()}
    with override_settings(LIMITREE={"STORE": store, "DEFAULT": "3/h",
                                     **named}):
        codes = [Client().get("/").status_code for _ in range(count)]
        django_limiter().close()
    return [200 if code == 404 else code for code in codes]


def drf_codes(count, store, **options):
    class Few(drf.AnonRateThrottle):
        rate = "3/hour"

    class View(APIView):
        throttle_classes = [Few]

        def get(self, request):
            return flask.Response()

    named = {name.upper(): value for name, value in options.items()}
    with override_settings(LIMITREE={"STORE": store, **named}):
        found = []
        for _ in range(count):
            try:
                allowed = Few().allow_request(
                    View().initialize_request(APIRequestFactory().get("/")),
                    View())
                found.append(200 if allowed else 429)
            except limitree.StoreError:
                found.append(503)
        django_limiter().close()
    return found


async def _asgi(scope, receive, send):
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def asgi_codes(count, store, **options):
    app = limitree.asgi.LimitreeMiddleware(_asgi, TREE, store, **options)
    client = TestClient(app)
    return [client.get("/").status_code for _ in range(count)]


def fastapi_codes(count, store, **options):
    app = FastAPI()
    limitree.fastapi.Limiter(app=app, store=store, **options)
    app.get("/", dependencies=[Depends(limitree.fastapi.RateLimit("3/hour"))])(
        lambda: "")
    client = TestClient(app)
    return [client.get("/").status_code for _ in range(count)]


def wsgi_codes(count, store, **options):
    def hello(environ, start_response):
        start_response("200 OK", [])
        return []

    app = limitree.wsgi.LimitreeMiddleware(
        hello, TREE, lambda environ: ("ip", "192.0.2.1"), store=store,
        **options)
    found = []
    for _ in range(count):
        app({"REQUEST_METHOD": "GET"},
            lambda status, headers: found.append(int(status[:3])))
    return found


WEB = [flask_codes, django_codes, drf_codes, asgi_codes, fastapi_codes,
       wsgi_codes]


@pytest.mark.parametrize("codes_of", WEB)
def test_web_servers_decide_without_their_store(codes_of, away, lines):
    """They enforce the limit themselves, and log one line for all requests."""
    assert codes_of(6, away) == [200] * 3 + [429] * 3
    told = lines()
    assert len(told) == 1 and "decided in this process" in told[0]


@pytest.mark.parametrize("codes_of", WEB)
@pytest.mark.parametrize("how, code", [("raise", 503), ("allow", 200),
                                       ("deny", 429)])
def test_what_is_said_wins(codes_of, how, code, away, lines):
    assert codes_of(4, away, on_store_error=how) == [code] * 4
    assert len(lines()) == 1


def test_limiters_that_are_handed_over_do_as_they_were_made(lines):
    limiter = limitree.AsyncLimiter(TREE, NOBODY)
    app = limitree.asgi.LimitreeMiddleware(_asgi, limiter)
    assert TestClient(app).get("/").status_code == 503
    with pytest.raises(TypeError, match="belong to the limiter"):
        limitree.wsgi.LimitreeMiddleware(
            None, limitree.Limiter(TREE), lambda environ: None, timeout="1s")
