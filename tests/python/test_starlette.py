"""limitree.starlette: what the scenarios do not play."""

import subprocess
import sys

import pytest
from starlette.applications import Starlette
from starlette.endpoints import HTTPEndpoint
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.routing import Mount, Route, Router
from starlette.testclient import TestClient

import limitree
from limitree.starlette import (
    Limiter,
    RateLimitExceeded,
    rate_limit_exceeded_handler,
)


def test_it_needs_no_fastapi():
    code = "import sys, limitree.starlette; print('fastapi' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], text=True,
                          stdout=subprocess.PIPE, check=True)
    assert done.stdout == "False\n"


def codes(client, url, count, **options):
    return [client.get(url, **options).status_code for _ in range(count)]


def test_mounts_and_classes(limitree_clock):
    limiter = Limiter(default_limits=["3/minute"])

    @limiter.limit("2/minute", lambda request: request.path_params["item"])
    def item(request):
        return PlainTextResponse("")

    @limiter.limit("2/minute")
    class Whole(HTTPEndpoint):
        async def get(self, request):
            return PlainTextResponse("")

        @limiter.limit("1/minute")
        async def post(self, request):
            return PlainTextResponse("")

    app = Starlette(routes=[
        Mount("/shop", app=Router([Route("/items/{item}", item)])),
        Route("/whole", Whole),
        Route("/plain", lambda request: PlainTextResponse(""))])
    limiter.init_app(app)
    with TestClient(app) as client:
        assert codes(client, "/shop/items/1", 3) == [200, 200, 429]
        assert codes(client, "/shop/items/2", 1) == [200]
        assert client.post("/whole").status_code == 200
        assert client.post("/whole").status_code == 429
        assert codes(client, "/whole", 2) == [200, 429]
        assert codes(client, "/plain", 4) == [200, 200, 200, 429]
        assert codes(client, "/nowhere", 9) == [404] * 9
        # A wrong method is not limited: it runs nothing.
        assert client.put("/shop/items/1").status_code == 405
        policies = client.get("/shop/items/3").headers["RateLimit-Policy"]
    assert policies.startswith('"route:GET,HEAD/shop/items/<item>/*/2/1m"')


def test_head_runs_the_limits_of_get(limitree_clock):
    limiter = Limiter()

    class View(HTTPEndpoint):
        @limiter.limit("2/minute")
        async def get(self, request):
            return PlainTextResponse("")

    app = Starlette(routes=[Route("/", View)])
    limiter.init_app(app)
    client = TestClient(app)
    answers = [client.head("/").status_code for _ in range(3)]
    assert answers == [200, 200, 429]
    assert codes(client, "/", 1) == [429]


def test_a_handler_of_the_exception(limitree_clock):
    async def slow_down(request, error):
        assert error.decision.limited and request.url.path == "/"
        return PlainTextResponse(error.detail, 420)

    limiter = Limiter(lambda: "all", limits={"schema": {
        "job": {"limits": "1/minute"}}})
    endpoint = limiter.limit(lambda: ("job",), error_message="later")(
        lambda request: PlainTextResponse(""))
    app = Starlette(routes=[Route("/", endpoint)],
                    exception_handlers={RateLimitExceeded: slow_down})
    limiter.init_app(app)
    client = TestClient(app)
    assert codes(client, "/", 2) == [200, 420]
    answer = client.get("/")
    assert (answer.text, answer.headers["Retry-After"]) == ("later", "60")


def test_its_handler_leaves_errors_of_others(limitree_clock):
    def fails(request):
        raise HTTPException(429)

    app = Starlette(routes=[Route("/", fails)],
                    exception_handlers={429: rate_limit_exceeded_handler})
    with pytest.raises(HTTPException):
        TestClient(app).get("/")


def test_errors_of_functions(limitree_clock):
    limiter = Limiter(lambda request: None)
    app = Starlette(routes=[Route("/", limiter.limit("1/minute")(
        lambda request: PlainTextResponse("")))])
    limiter.init_app(app)
    with pytest.raises(TypeError, match="the key of GET,HEAD/ must be str"):
        TestClient(app).get("/")
    with pytest.raises(TypeError, match="application goes into app="):
        Limiter(app)
    with pytest.raises(limitree.ConfigError, match="no strategy 'fast'"):
        Limiter(strategy="fast")
    with pytest.raises(TypeError, match="put on a function"):
        limiter.limit("1/minute")("endpoint")


def test_what_is_switched_off(limitree_clock):
    limiter = Limiter(default_limits=["1/minute"], enabled=False)
    app = Starlette(routes=[Route("/", lambda request: PlainTextResponse(""))])
    limiter.init_app(app)
    assert codes(TestClient(app), "/", 3) == [200] * 3
