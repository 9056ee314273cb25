"""limitree.django and limitree.drf that hold until a response has ended,
without a server."""

import asyncio
import contextlib
import gc
import threading
import time

import django_site  # noqa: F401  its settings come first

import pytest
from django.core.asgi import get_asgi_application
from django.core.exceptions import ImproperlyConfigured
from django.core.handlers.wsgi import WSGIHandler
from django.http import Http404, HttpResponse, StreamingHttpResponse
from django.test import override_settings
from django.urls import path
from rest_framework import throttling
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.response import Response

import limitree
from holding import LIMITS, left
from limitree import drf
from limitree.django import limiter, ratelimit
from reserving import AS_HELD, COST, FREE, HELD, run_wsgi, warned  # noqa: F401

PATIENCE = 30
MIDDLEWARE = ["limitree.django.LimitreeMiddleware"]


def remaining():
    return left(limiter())


def of_key(**options):
    return ratelimit("key", "k", cost=COST, **{"reserve": True, **options})


def both(name, view, **options):
    """Returns `view` at two URLs, as a function for WSGI and as an async one.
    """
    async def awaited(request):
        return view(request)
    return [path(name, of_key(**options)(view)),
            path(f"async/{name}", of_key(**options)(awaited))]


def plain(request):
    assert remaining() == HELD
    return HttpResponse("plain")


def header(request):
    return HttpResponse("x", headers={"X-Usage": "tokens=81"})


def garbage(request):
    return HttpResponse("x", headers={"X-Usage": "many"})


def missing(request):
    raise Http404


def fails(request):
    raise KeyError


@of_key(deduct_when=lambda response: True)
def settles(request):
    assert isinstance(request.limitree.decision, limitree.Reservation)
    assert request.limitree.decision.settle(tokens=7) == 2
    return HttpResponse("x")


@of_key(deduct_when=lambda response: True)
async def settles_awaited(request):
    assert await request.limitree.decision.settle(tokens=7) == 2
    return HttpResponse("x")


used = {}


def stream(request):
    used["tokens"] = 0

    def parts():
        for _ in range(3):
            assert remaining() == HELD
            used["tokens"] += 27
            yield "x"
    return StreamingHttpResponse(parts())


@of_key(deduct_when=lambda response: used)
async def stream_awaited(request):
    used["tokens"] = 0

    async def parts():
        for _ in range(3):
            await asyncio.sleep(0)
            assert remaining() == HELD
            used["tokens"] += 27
            yield "x"
    return StreamingHttpResponse(parts())


@of_key()
async def breaks_awaited(request):
    async def parts():
        yield "x"
        raise KeyError
    return StreamingHttpResponse(parts(), headers={"X-Usage": "tokens=81"})


@of_key(reserve="30s")
def slow(request):
    def parts():
        for _ in range(4):
            request.clock.advance(16)
            assert remaining() == HELD
            yield "x"
    request.clock = limiter().clock
    return StreamingHttpResponse(parts())


@of_key()
def denied(request):
    limiter().limit("plain", cost=6)(len)("")


inside, may_end = threading.Event(), threading.Event()


@of_key()
def waits(request):
    inside.set()
    assert may_end.wait(PATIENCE)
    return HttpResponse("x")


@of_key(reserve=2)
def renewed(request):
    for _ in range(3):
        limiter().clock.advance(1.5)
        deadline = time.monotonic() + PATIENCE
        count = len(renewals) + 2
        while len(renewals) < count:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert remaining() == HELD
    return HttpResponse("x")


@of_key(reserve=2)
async def renewed_awaited(request):
    return await asyncio.to_thread(renewed.__wrapped__, request)


renewals = []


class OfKey(drf.LimitreeThrottle):
    cost = COST
    reserve = True

    def throttle_path(self, request, view):
        return "key", "k"


class ByStatus(OfKey):
    def deduct_when(self, response):
        return {"tokens": 81} if response.status_code == 200 else False


class Never(throttling.BaseThrottle):
    def allow_request(self, request, view):
        return False


class NeverOurs(drf.LimitreeThrottle):
    cost = 6

    def throttle_path(self, request, view):
        return ("plain",)

    def allow_request(self, request, view):  # decides for itself
        return super().allow_request(request, view)


def api(name, *throttles, answer=lambda: Response("x")):
    @api_view(["GET"])
    @throttle_classes(list(throttles))
    def view(request):
        assert remaining() == HELD
        return answer()
    return path(f"api/{name}", view)


def api_fails():
    raise KeyError


urlpatterns = [
    *both("plain", plain), *both("header", header), *both("garbage", garbage),
    *both("function", plain, deduct_when=lambda response: {"tokens": 81}),
    *both("number", plain, deduct_when=lambda response: 1),
    *both("zero", plain, deduct_when=lambda response: 0),
    *both("mistake", plain, deduct_when=lambda response: 1 / 0),
    *both("missing", missing), *both("fails", fails),
    *both("cancels", missing, deduct_when=lambda r: r.status_code != 404),
    path("settles", settles), path("async/settles", settles_awaited),
    path("stream", of_key(deduct_when=lambda response: used)(stream)),
    path("async/stream", stream_awaited),
    path("async/breaks", breaks_awaited),
    path("slow", slow), path("denied", denied), path("waits", waits),
    path("renewed", renewed), path("async/renewed", renewed_awaited),
    path("free", lambda request: HttpResponse("x")),
    path("exempt", lambda request: HttpResponse("x")),
    api("plain", OfKey), api("function", ByStatus),
    api("fails", ByStatus, answer=api_fails),
    api("never", OfKey, Never), api("ours", OfKey, NeverOurs)]


def settings(**changed):
    return override_settings(ROOT_URLCONF=__name__, MIDDLEWARE=MIDDLEWARE,
                             DEBUG_PROPAGATE_EXCEPTIONS=False,
                             LIMITREE={"LIMITS": LIMITS, **changed})


@pytest.fixture(autouse=True)
def clock(limitree_clock):
    with settings():
        yield limitree_clock


def run_asgi(url, send=None, disconnects=None):
    """Returns the status of one request; the client disconnects after the
    event."""
    async def go():
        statuses = []
        messages = [{"type": "http.request", "body": b""}]

        async def receive():
            if messages:
                return messages.pop()
            while disconnects is None or not disconnects.is_set():
                await asyncio.sleep(0.01)
            return {"type": "http.disconnect"}

        async def collect(message):
            if send is not None:
                send(message)
            if "status" in message:
                statuses.append(message["status"])

        scope = {"type": "http", "path": url, "method": "GET",
                 "query_string": b"", "headers": [], "client": ("::1", 1)}
        await get_asgi_application()(scope, receive, collect)
        return statuses[0] if statuses else None
    return asyncio.run(go())


def run(url, **options):
    if url.startswith("/async/"):
        return run_asgi(url, **options)
    return run_wsgi(WSGIHandler(), PATH_INFO=url, **options)


@pytest.mark.parametrize("asynchronous", ["", "/async"])
@pytest.mark.parametrize("url, status, expected", [
    ("/plain", 200, AS_HELD), ("/header", 200, [59, 919, 2]),
    ("/garbage", 200, AS_HELD), ("/function", 200, [59, 919, 2]),
    ("/number", 200, AS_HELD), ("/zero", 200, FREE),
    ("/mistake", 200, AS_HELD), ("/missing", 404, AS_HELD),
    ("/fails", 500, FREE), ("/cancels", 404, FREE),
    ("/settles", 200, [59, 993, 2]), ("/stream", 200, [59, 919, 2])])
def test_responses(asynchronous, url, status, expected):
    assert run(asynchronous + url) == status
    assert remaining() == expected


@pytest.mark.parametrize("url, status, expected", [
    ("/plain", 200, AS_HELD), ("/function", 200, [59, 919, 2]),
    ("/fails", 500, FREE), ("/never", 429, AS_HELD), ("/ours", 429, FREE)])
@pytest.mark.parametrize("ask", [run, run_asgi])
def test_rest_framework(ask, url, status, expected):
    assert ask(f"/api{url}") == status
    assert remaining() == expected


@pytest.mark.parametrize("ask", [run, run_asgi])
def test_a_denial_in_the_view_cancels(ask):
    assert ask("/denied") == 429
    assert remaining() == FREE


def test_it_is_held_until_the_body_is_closed():
    seen = []

    def looks(body):
        for _ in body:
            seen.append(remaining())

    assert run("/header", looks=looks) == 200
    assert seen == [HELD] and remaining() == [59, 919, 2]


def test_it_is_held_until_the_last_message():
    seen = []
    assert run("/async/stream", send=lambda message: seen.append(
        (message["type"], remaining()))) == 200
    assert [what for _, what in seen] == [HELD] * 5


def test_a_client_that_goes_away_in_a_stream():
    assert run("/stream", looks=next) == 200
    assert remaining() == [59, 973, 2]


def test_a_stream_that_breaks_on_the_event_loop():
    with pytest.raises(KeyError):
        run("/async/breaks")
    assert remaining() == [59, 919, 2]


@pytest.mark.parametrize("url", ["/async/header", "/async/stream"])
def test_a_server_that_cannot_send(url):
    def send(message):
        raise OSError("gone")

    with contextlib.suppress(OSError):
        run(url, send=send)
    gc.collect()
    deadline = time.monotonic() + PATIENCE
    while remaining()[2] < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_view_in_a_thread_keeps_its_slot_if_the_client_goes_away():
    """Otherwise clients that go away would get more than their slots."""
    inside.clear(), may_end.clear()
    seen = []

    def let_go():
        assert inside.wait(PATIENCE)
        # The loop cancels the request during that, and must not free the slot.
        for _ in range(20):
            seen.append(remaining())
            time.sleep(0.01)
        may_end.set()

    other = threading.Thread(target=let_go)
    other.start()
    assert run_asgi("/waits", disconnects=inside) is None
    other.join()
    assert seen == [HELD] * 20
    assert remaining() == AS_HELD


def test_a_stream_renews():
    assert run("/slow") == 200
    assert remaining() == AS_HELD


@pytest.mark.parametrize("url", ["/renewed", "/async/renewed"])
def test_a_duration_is_renewed_on_the_loop(url, monkeypatch):
    from limitree.aio import AsyncLimiter
    real = AsyncLimiter._extend_hold

    async def extend(self, *args):
        renewals.append(None)
        return await real(self, *args)

    monkeypatch.setattr(AsyncLimiter, "_extend_hold", extend)
    assert run_asgi(url) == 200
    assert remaining() == AS_HELD


def test_a_middleware_that_fails_after_ours():
    with override_settings(MIDDLEWARE=[f"{__name__}.failing", *MIDDLEWARE]):
        for ask in run, run_asgi:
            assert ask("/header") == 500
            gc.collect()
            deadline = time.monotonic() + PATIENCE
            while remaining()[2] < 2:
                assert time.monotonic() < deadline
                time.sleep(0.01)


def failing(get_response):
    def middleware(request):
        get_response(request)
        raise KeyError
    return middleware


def test_paths_of_every_request():
    tree = "schema: {all: {limits: {concurrent: 1, hold: 30s}}}"
    with settings(LIMITS=tree, PATHS=[("all",)], RESERVE="20s",
                  EXEMPT=["/exempt"]):
        def looks(body):
            assert run("/free") == run_asgi("/free") == 429
            assert run("/exempt") == run_asgi("/exempt") == 200
            list(body)

        assert run("/free", looks=looks) == 200
        seen = []
        assert run_asgi("/free", send=lambda message: seen.append(
            left(limiter(), "all"))) == 200
        assert seen == [[0], [0]] and left(limiter(), "all") == [1]


@pytest.mark.parametrize("value, message", [
    ("soon", "'RESERVE'.*must be a duration"), (0, "must be more than 0"),
    ([], "must be True, False or a duration")])
def test_a_setting_that_is_wrong(value, message):
    with settings(RESERVE=value):
        with pytest.raises(ImproperlyConfigured, match=message):
            limiter()


def test_options_that_are_wrong():
    with pytest.raises(limitree.ConfigError, match="reserve must be a dura"):
        ratelimit("key", "k", reserve="soon")
    with pytest.raises(TypeError, match="a rate holds nothing"):
        ratelimit(key="ip", rate="5/m", reserve=True)
    with pytest.raises(TypeError, match="a rate holds nothing"):
        type("Wrong", (drf.UserRateThrottle,), {"reserve": True})
    with pytest.raises(ValueError, match="reserve must be more than 0"):
        type("Wrong", (drf.LimitreeThrottle,), {"reserve": -1})


def test_without_the_middleware_nothing_is_held():
    with override_settings(MIDDLEWARE=[]):
        with pytest.raises(RuntimeError, match="reserve needs LimitreeMiddlew"):
            ratelimit("key", "k", cost=COST, reserve=True)(plain)(
                django_request())
    assert remaining() == [60, 1000, 2]


def django_request():
    from django.test import RequestFactory
    return RequestFactory().get("/")


def test_without_reserve_there_is_an_error():
    request = django_request()
    view = ratelimit("key", "k", cost=COST)(plain)
    with pytest.raises(ValueError, match="reserve its units"):
        view(request)
    assert remaining() == [60, 1000, 2]
