"""limitree.slowapi: programs that were written for slowapi."""

import contextlib
import time

import pytest
import time_machine
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from limitree.errors import StoreError
from limitree.slowapi import Limiter, _rate_limit_exceeded_handler
from limitree.slowapi.errors import RateLimitExceeded
from limitree.slowapi.middleware import (
    SlowAPIASGIMiddleware,
    SlowAPIMiddleware,
)
from limitree.slowapi.util import get_ipaddr, get_remote_address

NOON = 1_772_366_400.25  # 2026-03-01 12:00:00 UTC, and a bit


def clock():
    """The time of Python, which has less than nanoseconds here."""
    return round(time.time() * 1e6) * 1000


HEADERS = ("X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset",
           "Retry-After")


@pytest.fixture
def traveller():
    with time_machine.travel(NOON, tick=False) as found:
        yield found


@pytest.fixture(params=[None, SlowAPIMiddleware, SlowAPIASGIMiddleware])
def made(request, traveller):
    """A function that makes an application and its limiter."""
    def make(kind=FastAPI, **options):
        limiter = Limiter(**{"key_func": get_remote_address,
                             "clock": clock, **options})
        app = kind()
        app.state.limiter = limiter
        app.add_exception_handler(RateLimitExceeded,
                                  _rate_limit_exceeded_handler)
        if request.param is not None:
            app.add_middleware(request.param)
        return app, limiter
    make.middleware = request.param
    return make


def codes(client, url, count, **options):
    return [client.get(url, **options).status_code for _ in range(count)]


def headers_of(answer):
    return [answer.headers.get(name) for name in HEADERS]


def test_windows_and_headers(made, traveller):
    app, limiter = made(headers_enabled=True)

    @app.get("/async")
    @limiter.limit("2/minute")
    async def limited(request: Request, response: Response):
        return {"a": 1}

    @app.get("/sync")
    @limiter.limit("2/minute")
    def limited_sync(request: Request):
        return PlainTextResponse("")

    with TestClient(app) as client:
        for url in ("/async", "/sync"):
            traveller.move_to(NOON)
            end = str(int(NOON) + 61)
            assert headers_of(client.get(url)) == ["2", "1", end, "60"]
            traveller.move_to(NOON + 30)
            assert headers_of(client.get(url)) == ["2", "0", end, "30"]
            denied = client.get(url)
            assert headers_of(denied) == ["2", "0", end, "30"]
            assert denied.status_code == 429
            assert denied.json() == {
                "error": "Rate limit exceeded: 2 per 1 minute"}
            traveller.move_to(NOON + 60)
            assert codes(client, url, 3) == [200, 200, 429]


def test_there_are_no_headers_unless_asked_for(made):
    app, limiter = made()

    @app.get("/")
    @limiter.limit("1/minute")
    async def limited(request: Request):
        return "a"

    with TestClient(app) as client:
        assert [headers_of(client.get("/")) for _ in range(2)] == [
            [None] * 4] * 2


def test_all_limits_of_a_function_in_one_step(made):
    app, limiter = made()

    @app.get("/")
    @limiter.limit("3/hour", key_func=lambda: "all")
    @limiter.limit("1/minute")
    async def limited(request: Request):
        return "a"

    def who(host):
        return TestClient(app, client=(host, 1))

    assert codes(who("192.0.2.1"), "/", 4) == [200, 429, 429, 429]
    assert codes(who("192.0.2.2"), "/", 2) == [200, 429]
    # Denials have charged nobody.
    assert codes(who("192.0.2.3"), "/", 2) == [200, 429]
    assert codes(who("192.0.2.4"), "/", 1) == [429]


def test_a_limit_sees_what_dependencies_have_found(made):
    app, limiter = made(key_func=lambda request: request.state.user)

    def login(request: Request, user: str):
        request.state.user = user

    @app.get("/")
    @limiter.limit("1/minute")
    async def limited(request: Request, found=Depends(login)):
        return "a"

    with TestClient(app) as client:
        assert codes(client, "/?user=alex", 2) == [200, 429]
        assert codes(client, "/?user=bob", 2) == [200, 429]


def test_each_url_or_each_function(made):
    for key_style, second in (("url", 200), ("endpoint", 429)):
        app, limiter = made(key_style=key_style)

        @app.get("/{item}")
        @limiter.limit("1/minute")
        async def limited(request: Request, item: str):
            return item

        with TestClient(app) as client:
            assert codes(client, "/a", 2) == [200, 429]
            assert codes(client, "/b", 1) == [second]


def test_limits_of_every_route(made):
    if made.middleware is None:
        pytest.skip("they need a middleware, as in slowapi")
    app, limiter = made(default_limits=["1/minute"],
                        application_limits=["5/hour"])
    router = APIRouter(prefix="/inner")

    @app.get("/a")
    async def plain():
        return "a"

    @router.get("/b")
    async def inner():
        return "b"

    @app.get("/c")
    @limiter.exempt
    async def exempt():
        return "c"

    @app.get("/d")
    @limiter.limit("2/minute")
    async def own(request: Request):
        return "d"

    @app.get("/e")
    @limiter.limit("2/minute", override_defaults=False)
    async def both(request: Request):
        return "e"

    app.include_router(router)
    with TestClient(app) as client:
        assert codes(client, "/a", 2) == [200, 429]
        assert codes(client, "/inner/b", 2) == [200, 429]
        assert codes(client, "/c", 9) == [200] * 9
        assert codes(client, "/d", 3) == [200, 200, 429]
        assert codes(client, "/e", 2) == [200, 429]
        assert codes(client, "/nowhere", 2) == [404, 404]
        assert codes(client, "/inner/b?x=1", 1) == [429]  # all five are used


def test_starlette_and_shared_limits(made):
    app, limiter = made(kind=Starlette)
    shared = limiter.shared_limit("3/minute", "both")

    @shared
    async def one(request):
        return PlainTextResponse("")

    @shared
    def other(request):
        return PlainTextResponse("")

    app.add_route("/a", one)
    app.add_route("/b", other)
    with TestClient(app) as client:
        assert codes(client, "/a", 2) == [200, 200]
        assert codes(client, "/b", 2) == [200, 429]
        assert codes(client, "/a", 1) == [429]
        limiter.reset()
        assert codes(client, "/a", 1) == [200]


def test_other_limits_while_the_store_fails(made):
    app, limiter = made(storage_uri="redis+unix:///nowhere/redis.sock",
                        in_memory_fallback=["1/minute"])

    @app.get("/")
    @limiter.limit("5/minute")
    async def limited(request: Request):
        return "a"

    with TestClient(app) as client:
        assert codes(client, "/", 2) == [200, 429]


def test_the_limiter_may_be_made_when_the_application_starts(traveller):
    @contextlib.asynccontextmanager
    async def lifespan(app):
        app.state.limiter = Limiter(key_func=get_remote_address, clock=clock,
                                    default_limits=["1/minute"])
        yield

    app = FastAPI(lifespan=lifespan)
    app.add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)
    app.add_middleware(SlowAPIMiddleware)

    @app.get("/")
    async def limited():
        return "a"

    with TestClient(app) as client:
        assert codes(client, "/", 2) == [200, 429]
    assert app.state.limiter._lifespan._limiter.closed


def test_a_function_called_by_an_async_one(made):
    app, limiter = made()

    @limiter.limit("1/minute")
    def inner(request: Request):
        return "a"

    @app.get("/")
    async def outer(request: Request):
        return inner(request)

    with TestClient(app) as client, pytest.raises(
            RuntimeError, match="inner would block the event loop: make it"):
        client.get("/")


def test_headers_after_a_failure_of_the_store(made):
    app, limiter = made(storage_uri="redis+unix:///nowhere.sock",
                        on_store_error="raise", headers_enabled=True)

    @app.exception_handler(StoreError)
    async def failed(request, error):
        return limiter._inject_headers(PlainTextResponse("", 503),
                                       request.state.view_rate_limit)

    @app.get("/")
    @limiter.limit("1/minute")
    async def limited(request: Request, response: Response):
        return "a"

    with TestClient(app) as client:
        answer = client.get("/")
        assert (answer.status_code, headers_of(answer)) == (503, [None] * 4)


def test_retry_after_is_not_rounded_up(made, traveller):
    app, limiter = made(headers_enabled=True, clock=lambda: clock() + 1)

    @app.get("/")
    @limiter.limit("1/minute")
    async def limited(request: Request, response: Response):
        return "a"

    with TestClient(app) as client:
        assert headers_of(client.get("/"))[3] == "60"


def test_settings_of_the_environment(made, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".env").write_text("RATELIMIT_HEADERS_ENABLED=true\n"
                                   "RATELIMIT_STRATEGY=moving-window\n")
    monkeypatch.setenv("RATELIMIT_HEADER_LIMIT", "X-Most")
    app, limiter = made()

    @app.get("/")
    @limiter.limit("2/minute")
    async def limited(request: Request, response: Response):
        return "a"

    with TestClient(app) as client:
        assert client.get("/").headers["X-Most"] == "2"
    monkeypatch.setenv("RATELIMIT_ENABLED", "0")
    assert not made()[1].enabled
    monkeypatch.setenv("RATELIMIT_ENABLED", "perhaps")
    with pytest.raises(ValueError, match="RATELIMIT_ENABLED"):
        made()


def test_functions_need_the_request(made):
    app, limiter = made(headers_enabled=True)
    with pytest.raises(TypeError, match='^No "request" or "websocket" arg'):
        @limiter.limit("1/minute")
        async def nothing():
            return ""

    @app.get("/a")
    @limiter.limit("1/minute")
    async def wrong(request: str = ""):
        return ""

    with pytest.raises(TypeError, match="`request` must be an instance"):
        TestClient(app).get("/a")


def test_a_header_of_clients_is_not_believed(made):
    app, limiter = made(key_func=get_ipaddr)

    @app.get("/")
    @limiter.limit("1/minute")
    async def limited(request: Request):
        return "a"

    client = TestClient(app)
    for name in ("X-Forwarded-For", "X_FORWARDED_FOR"):
        client.get("/", headers={name: "192.0.2.7"})
        assert codes(client, "/", 1, headers={name: "192.0.2.8"}) == [429]


def test_options_of_redis_py():
    with pytest.raises(ValueError, match="timeout: must be a duration"):
        Limiter(get_remote_address, storage_uri="redis://127.0.0.1:1",
                storage_options={"socket_connect_timeout": 3600})
