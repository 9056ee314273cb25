"""Applications that hold a slot while they talk to an upstream, for
test_reserving_servers.py.

The environment has the store, the options of the limiter, and the address of
the upstream, which counts who is inside.
"""

import asyncio
import contextlib
import json
import os
import socket
import time

import django
import flask
from django.conf import settings
from django.http import HttpResponse, StreamingHttpResponse
from django.urls import path
from fastapi import Depends, FastAPI, WebSocket
from fastapi.responses import PlainTextResponse
from fastapi.responses import StreamingResponse

import limitree
import limitree.asgi
import limitree.fastapi
import limitree.flask
import limitree.wsgi

SLOTS, BUDGET = 3, 10_000  # more than all requests of a test use
LIMITS = {"schema": {"site": {"limits": [
    {"name": "slots", "concurrent": SLOTS, "hold": "60s"},
    {"name": "tokens", "count": BUDGET, "period": "100d", "unit": "tokens",
     "hold": "60s"}]}}}
COST = {"tokens": 5}
RESERVE = os.environ.get("RESERVE", "60s")
PAUSE = 0.02  # between the parts of a stream


def store():
    """The arguments of a limiter."""
    return {"store": os.environ["STORE"],
            **json.loads(os.environ.get("OPTIONS", '{"timeout": "10s"}'))}


@contextlib.contextmanager
def upstream():
    """Is inside of the upstream, which answers when it has counted."""
    where = "127.0.0.1", int(os.environ["UPSTREAM"])
    with socket.create_connection(where, 60) as connection:
        connection.sendall(b"+")
        connection.recv(1)
        try:
            yield
        finally:
            connection.sendall(b"-")
            connection.recv(1)


def count_of(query):
    """How many parts a stream has."""
    return int(dict(one.split("=") for one in query.split("&"))["parts"])


def parts_of(query):
    with upstream():
        for _ in range(count_of(query)):
            yield b"part\n"
            time.sleep(PAUSE)


async def parts_awaited(query):
    with upstream():
        for _ in range(count_of(query)):
            yield b"part\n"
            await asyncio.sleep(PAUSE)


def fail():
    with upstream():
        raise KeyError("of the test")


# ---- WSGI -------------------------------------------------------------------


def bare(environ, start_response):
    where = environ["PATH_INFO"]
    if where == "/fails":
        fail()
    headers = [("Content-Type", "text/plain")]
    if where == "/usage":
        headers.append(("X-Usage", "tokens=3"))
    if where == "/garbage":
        headers.append(("X-Usage", "many"))
    start_response("200 OK", headers)
    return (parts_of(environ["QUERY_STRING"]) if where == "/stream"
            else [str(os.getpid()).encode()])


def create_wsgi():
    options = store()
    limiter = limitree.Limiter(LIMITS, options.pop("store"), **options)
    return limitree.wsgi.LimitreeMiddleware(
        bare, limiter, lambda environ: (None if environ["PATH_INFO"] == "/pid"
                                        else ("site",)),
        cost=COST, reserve=RESERVE)


def create_flask():
    options = store()
    app = flask.Flask("site")
    app.config.update(LIMITREE_STORE=options.pop("store"),
                      LIMITREE_OPTIONS=options, LIMITREE_LIMITS=LIMITS)
    limiter = limitree.flask.Limiter(app=app)
    slot = limiter.path("site", cost=COST, reserve=RESERVE)

    @app.get("/stream")
    @slot
    def stream():
        query = flask.request.query_string.decode()
        return flask.Response(parts_of(query), mimetype="text/plain")

    @app.get("/fails")
    @slot
    def fails():
        fail()

    @app.get("/usage")
    @slot
    def usage():
        return "x", {"X-Usage": "tokens=3"}

    @app.get("/garbage")
    @slot
    def garbage():
        return "x", {"X-Usage": "many"}

    @app.get("/function")
    @limiter.path("site", cost=COST, reserve=RESERVE,
                  deduct_when=lambda response: {"tokens": 4})
    def function():
        return "x"

    @app.get("/denied")
    @slot
    def denied():
        with limiter.limit("1/day", cost=2):
            return "x"

    @app.get("/pid")
    def pid():
        return str(os.getpid())

    return app


# ---- ASGI -------------------------------------------------------------------


async def bare_asgi(scope, receive, send):
    where, headers = scope["path"], []
    if where == "/fails":
        fail()
    if where == "/usage":
        headers = [(b"x-usage", b"tokens=3")]
    if where == "/garbage":
        headers = [(b"x-usage", b"many")]
    if scope["type"] == "websocket":
        await websocket(receive, send)
        return
    await send({"type": "http.response.start", "status": 200,
                "headers": headers})
    if where == "/stream":
        gone = asyncio.create_task(gone_away(receive))
        parts = parts_awaited(scope["query_string"].decode())
        async with contextlib.aclosing(parts):
            async for part in parts:
                if gone.done():
                    return
                await send({"type": "http.response.body", "body": part,
                            "more_body": True})
        gone.cancel()
    await send({"type": "http.response.body"})


async def gone_away(receive):
    while (await receive())["type"] != "http.disconnect":
        pass


async def websocket(receive, send):
    await receive()
    with upstream():
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "text": "part"})


def create_asgi():
    options = store()
    return limitree.asgi.LimitreeMiddleware(
        bare_asgi, LIMITS, options.pop("store"), path=lambda scope: ("site",),
        cost=COST, reserve=RESERVE, exclude=["/pid"], **options)


def create_fastapi():
    app = FastAPI()
    limitree.fastapi.Limiter(app=app, limits=LIMITS, **store())
    slot = [Depends(limitree.fastapi.RateLimit(("site",), cost=COST,
                                               reserve=RESERVE))]

    @app.get("/stream", dependencies=slot)
    async def stream(parts: int):
        return StreamingResponse(parts_awaited(f"parts={parts}"))

    @app.get("/fails", dependencies=slot)
    async def fails():
        fail()

    @app.get("/usage", dependencies=slot)
    def usage():
        return PlainTextResponse("x", headers={"x-usage": "tokens=3"})

    @app.get("/garbage", dependencies=slot)
    def garbage():
        return PlainTextResponse("x", headers={"x-usage": "many"})

    @app.get("/pid")
    async def pid():
        return PlainTextResponse(str(os.getpid()))

    @app.websocket("/ws", dependencies=slot)
    async def ws(websocket: WebSocket):
        with upstream():
            await websocket.accept()
            async for _ in websocket.iter_text():
                await websocket.send_text("part")

    return app


# ---- Django -----------------------------------------------------------------


def configure():
    options = store()
    settings.configure(
        SECRET_KEY="of the tests", ALLOWED_HOSTS=["*"], ROOT_URLCONF=__name__,
        INSTALLED_APPS=["limitree.django", "rest_framework"],
        REST_FRAMEWORK={"DEFAULT_AUTHENTICATION_CLASSES": [],
                        "UNAUTHENTICATED_USER": None,
                        "DEFAULT_PERMISSION_CLASSES": []},
        MIDDLEWARE=["limitree.django.LimitreeMiddleware"],
        LIMITREE={"LIMITS": LIMITS, "STORE": options.pop("store"), **{
            name.upper(): value for name, value in options.items()}})
    django.setup()


def views(asynchronous):
    from limitree.django import ratelimit
    slot = ratelimit("site", cost=COST, reserve=RESERVE)

    def view(function):
        if not asynchronous:
            return function

        async def awaited(request):
            return function(request)
        return awaited

    def stream(request):
        make = parts_awaited if asynchronous else parts_of
        return StreamingHttpResponse(make(request.META["QUERY_STRING"]))

    def usage(request):
        return HttpResponse("x", headers={"X-Usage": "tokens=3"})

    def garbage(request):
        return HttpResponse("x", headers={"X-Usage": "many"})

    return [
        path("stream", slot(view(stream))),
        path("fails", slot(view(lambda request: fail()))),
        path("usage", slot(view(usage))), path("garbage", slot(view(garbage))),
        path("function", ratelimit(
            "site", cost=COST, reserve=RESERVE,
            deduct_when=lambda response: {"tokens": 4})(
                view(lambda request: HttpResponse("x")))),
        path("denied", slot(view(refused))),
        path("pid", lambda request: HttpResponse(str(os.getpid())))]


def refused(request):
    from limitree.django import Ratelimited, limiter
    raise Ratelimited(limiter().peek("site", cost={"tokens": 2 * BUDGET}))


def throttled():
    from rest_framework.views import APIView

    from limitree.drf import LimitreeThrottle

    class Slot(LimitreeThrottle):
        cost = COST
        reserve = RESERVE

        def throttle_path(self, request, view):
            return ("site",)

    class ByFunction(Slot):
        def deduct_when(self, response):
            return {"tokens": 4}

    def api(function, throttle=Slot):
        return type("Api", (APIView,), {
            "throttle_classes": [throttle],
            "get": lambda self, request: function(request)}).as_view()

    found = []
    for one in views(False):
        inner = getattr(one.callback, "__wrapped__", one.callback)
        name = one.pattern._route
        found.append(one if name == "pid" else path(name, api(
            inner, ByFunction if name == "function" else Slot)))
    return found


urlpatterns = []


def create_django():
    configure()
    urlpatterns.extend(views(False))
    from django.core.wsgi import get_wsgi_application
    return get_wsgi_application()


def create_drf():
    configure()
    urlpatterns.extend(throttled())
    from django.core.wsgi import get_wsgi_application
    return get_wsgi_application()


def create_django_asgi():
    configure()
    urlpatterns.extend(views(True))
    from django.core.asgi import get_asgi_application
    return get_asgi_application()
