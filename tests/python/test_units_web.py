"""Costs in several units in the integrations with web frameworks."""

import asyncio

import django_site  # noqa: F401  its settings come first

import flask
import pytest
from django.http import HttpResponse
from django.test import AsyncClient, Client, override_settings
from django.urls import path
from fastapi import Depends, FastAPI, Request
from fastapi.testclient import TestClient
from rest_framework.response import Response
from rest_framework.test import APIClient
from rest_framework.views import APIView

import limitree.asgi
import limitree.fastapi
import limitree.flask
import limitree.wsgi
from limitree import drf
from limitree.django import keys, limiter, ratelimit
from test_asgi import hello, status
from test_wsgi import Server, application

LIMITS = {"schema": {"user": {"children": {"*": {"limits": [
    {"name": "rpm", "count": 9, "period": "1m"},
    {"name": "tpm", "count": 1000, "period": "1m", "unit": "tokens"}]}}}}}


def size(text):
    return {"tokens": int(text)}


def left(core):
    """Returns what is left of the two limits of alex."""
    levels = core.peek("user", "alex", cost=0, levels=True).levels
    return [level.remaining for level in levels]


# ---- WSGI and ASGI ----------------------------------------------------------


@pytest.mark.parametrize("cost", [
    {"tokens": 600}, lambda environ: size(environ["QUERY_STRING"])])
def test_wsgi(clock, cost):
    with limitree.Limiter(LIMITS, clock=clock) as core:
        server = Server(limitree.wsgi.LimitreeMiddleware(
            application, core, lambda environ: ("user", "alex"), cost=cost))
        codes = [server.get(QUERY_STRING="600").status[:3] for _ in range(2)]
        assert codes == ["200", "429"] and left(core) == [8, 400]


async def awaited_size(scope):
    return size(scope["query_string"])


@pytest.mark.parametrize("cost", [{"tokens": 600}, awaited_size])
def test_asgi(clock, cost):
    app = limitree.asgi.LimitreeMiddleware(
        hello, limits=LIMITS, clock=clock, cost=cost,
        path=lambda scope: ("user", "alex"))
    assert [status(app, query_string=b"600") for _ in range(2)] == [200, 429]
    assert left(app.limiter._limiter) == [8, 400]


# ---- FastAPI ----------------------------------------------------------------


def test_fastapi(clock):
    def tokens(request: Request):
        return size(request.query_params["tokens"])

    app = FastAPI()
    used = limitree.fastapi.Limiter(app=app, limits=LIMITS, clock=clock,
                                    default_limits=["9/minute"])

    @app.get("/", dependencies=[
        Depends(limitree.fastapi.RateLimit("5/minute", cost=2)),
        Depends(limitree.fastapi.RateLimit(("user", "alex"), cost=tokens))])
    async def view():
        return {}

    client = TestClient(app, client=("192.0.2.1", 1))
    codes = [client.get(f"/?tokens={n}").status_code for n in (600, 401, 400)]
    assert codes == [200, 429, 200]
    assert left(used.limiter._limiter) == [7, 0]
    assert '"route:GET//*/5/1m";r=1' in client.get("/?tokens=1").headers[
        "ratelimit"]


# ---- Flask ------------------------------------------------------------------


def test_flask(limitree_clock):
    app = flask.Flask("shop")
    used = limitree.flask.Limiter(lambda: "me", app=app, limits=LIMITS,
                                  default_limits=["9/minute"])

    @app.get("/<int:tokens>")
    @used.limit("5/minute", cost=2)
    @used.path("user", lambda: "alex",
               cost=lambda: size(flask.request.view_args["tokens"]))
    def view(tokens):
        return ""

    @app.get("/later/<int:tokens>")
    @used.path("user", lambda: "alex", cost={"tokens": 1},
               deduct_when=lambda answer: size(answer.data))
    @used.limit("5/minute", cost=2)
    def later(tokens):
        return str(tokens)

    @app.get("/perhaps/<int:code>")
    @used.path("user", lambda: "alex", cost={"tokens": 100},
               deduct_when=lambda answer: answer.status_code == 200)
    def perhaps(code):
        return "", code

    client = app.test_client()
    for url, code, expected in [
            ("600", 200, [8, 400]), ("401", 429, [8, 400]),
            ("later/300", 200, [7, 100]), ("perhaps/500", 500, [7, 100]),
            ("perhaps/200", 200, [6, 0]), ("perhaps/200", 429, [6, 0])]:
        answer = client.get(f"/{url}")
        assert answer.status_code == code
        with app.app_context():
            assert left(used.limiter) == expected
    answer = client.get("/later/1")
    assert answer.status_code == 429
    assert '"view:later/*/5/1m";r=3' in answer.headers["RateLimit"]


# ---- Django and REST framework ----------------------------------------------


@pytest.fixture
def urls(limitree_clock):
    """Sets the views of a test."""
    with override_settings(
            LIMITREE={"LIMITS": LIMITS},
            REST_FRAMEWORK={"UNAUTHENTICATED_USER": None}):
        def view(function, name="v/<int:tokens>"):
            return override_settings(ROOT_URLCONF=type("urls", (), {
                "urlpatterns": [path(name, function)]}))
        yield view


def test_django(urls):
    @ratelimit(key="ip", rate="5/m", group="now", cost=2)
    @ratelimit("user", "alex", cost=lambda request, tokens: size(tokens))
    def view(request, tokens):
        return HttpResponse("done")

    with urls(view):
        codes = [Client().get(f"/v/{n}").status_code for n in (600, 401, 400)]
        assert codes == [200, 429, 200] and left(limiter()) == [7, 0]


@pytest.mark.parametrize("is_async", [False, True])
def test_django_after_the_response(urls, is_async):
    limits = [ratelimit(key="ip", rate="5/m", group="now", cost=2),
              ratelimit("user", keys.get("who"), cost={"tokens": 1},
                        deduct_when=lambda answer: (
                            answer.status_code == 200
                            and size(answer.content)))]

    def view(request, tokens):
        return HttpResponse(str(tokens))

    async def awaited(request, tokens):
        return view(request, tokens)

    def get(tokens):
        url = f"/v/{tokens}?who=alex"
        return (asyncio.run(AsyncClient().get(url)) if is_async
                else Client().get(url))

    with urls(limits[0](limits[1](awaited if is_async else view))):
        answer = get(812)
        assert '"view:now/*/5/1m";r=3' in answer["RateLimit"]
        assert '"user:*#tpm";r=188' in answer["RateLimit"]
        assert left(limiter()) == [8, 188]
        assert [get(999).status_code for _ in range(2)] == [200, 429]
        assert left(limiter()) == [7, 0]


class Chats(drf.LimitreeThrottle):
    cost = {"tokens": 600}

    def throttle_path(self, request, view):
        return "user", "alex"


class Answers(Chats):
    cost = {"tokens": 1}

    def deduct_when(self, response):
        return size(response.data)


class Few(drf.AnonRateThrottle):
    rate = "5/min"


@pytest.mark.parametrize("throttles, expected, codes", [
    ([Chats], [8, 400], [200, 429]), ([Few, Chats], [8, 400], [200, 429]),
    ([Answers], [7, 0], [200, 200]), ([Answers, Few], [7, 0], [200, 200])])
def test_drf(urls, throttles, expected, codes):
    class View(APIView):
        throttle_classes = throttles

        def get(self, request, tokens):
            return Response(tokens)

    with urls(View.as_view()):
        client = APIClient()
        assert [client.get("/v/812").status_code for _ in range(2)] == codes
        assert left(limiter()) == expected
