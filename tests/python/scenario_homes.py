"""The scenarios as applications of Litestar, Quart, Sanic and aiohttp.

The last two have servers of their own, which listen on free ports.
"""

import asyncio
import contextlib
import itertools
import socket

from limitree import client_ip
from scenario_apps import (
    Answer,
    App,
    Functions,
    OfAsgi,
    routes_of,
    run_awaited,
    store_of,
    told,
)

numbers = itertools.count()


class Home:
    """What the limiters of these frameworks have in common."""

    def options(self, scenario, clock, header, respond):
        app = scenario["app"]
        self.functions = functions = Functions(header)
        self.respond = respond
        return {"key_func": functions.key("caller"),
                "limits": app.get("limits"), "clock": clock,
                "default_limits": app.get("default", ()),
                "application_limits": app.get("everywhere", ()),
                "on_breach": functions.on_breach(app.get("on_breach"),
                                                 respond), **store_of(app)}

    def decorated(self, function, limits):
        functions = self.functions
        if limits == "exempt":
            return self.limiter.exempt(function)
        for limit in reversed(limits):
            what = (functions.path(limit["path"]) if "path" in limit
                    else functions.text(limit["text"]))
            key = (client_ip() if limit["key"] == "ip"
                   else functions.key(limit["key"]))
            function = self.limiter.limit(what, key, **functions.options(
                limit, self.respond))(function)
        return function

    def tell(self, record):
        return told(record.decisions[-1] if record.decisions else None)


def header_of(request, name):
    return request.headers.get(name)


# ---- ASGI -------------------------------------------------------------------


class HomeOfAsgi(Home, OfAsgi):
    def levels(self, caller):
        return run_awaited(self.limiter.levels_of(caller))

    def reset(self, caller):
        run_awaited(self.limiter.reset(caller))


class Litestar(HomeOfAsgi):
    def __init__(self, scenario, clock):
        import litestar
        from litestar.handlers import WebsocketRouteHandler

        from limitree.litestar import Limiter

        def respond(status, text):
            return litestar.Response(text, status_code=status,
                                     media_type="text/plain")

        self.limiter = Limiter(**self.options(scenario, clock, header_of,
                                              respond))

        def handler():
            async def view(request: litestar.Request) -> litestar.Response:
                return respond(int(request.headers.get("X-Status", 200)),
                               self.tell(request.scope["limitree"]))
            return view

        async def connected(socket: litestar.WebSocket) -> None:
            await socket.accept()

        routes = []
        for methods, path, limits in routes_of(scenario):
            if methods == ["WS"]:
                routes.append(WebsocketRouteHandler(path)(self.decorated(
                    connected, limits)))
            else:
                routes.append(litestar.route(path, http_method=methods)(
                    self.decorated(handler(), limits)))
        answer = scenario["app"].get("answer")
        self.app = litestar.Litestar(
            routes, plugins=[self.limiter], openapi_config=None,
            exception_handlers=answer and {
                429: lambda request, error: respond(answer["status"],
                                                    answer["body"])})


class Quart(HomeOfAsgi):
    def __init__(self, scenario, clock):
        import quart

        from limitree.quart import Limiter

        def respond(status, text):
            return quart.Response(text, status, content_type="text/plain")

        self.app = app = quart.Quart("scenarios")
        self.limiter = Limiter(app=app, **self.options(
            scenario, clock, header_of, respond))

        def handler():
            async def view():
                return respond(int(quart.request.headers.get("X-Status", 200)),
                               self.tell(quart.request.scope["limitree"]))
            return view

        async def connected():
            await quart.websocket.accept()

        for methods, path, limits in routes_of(scenario):
            if methods == ["WS"]:
                app.add_websocket(path, path[1:], self.decorated(connected,
                                                                 limits))
            else:
                app.add_url_rule(path, path[1:], self.decorated(
                    handler(), limits), methods=methods)
        answer = scenario["app"].get("answer")
        if answer:
            app.register_error_handler(429, lambda error: respond(
                answer["status"], answer["body"]))


# ---- Servers of their own ---------------------------------------------------


def listening():
    found = socket.socket()
    found.bind(("127.0.0.1", 0))
    return found, found.getsockname()[1]


class HomeWithServer(Home, App):
    """Its server runs on a loop that runs while something is asked."""

    def start(self, serving):
        """Awaits `serving(socket)`, which returns a function that stops."""
        import httpx

        self.client = httpx.AsyncClient(timeout=30, verify=False)
        self.loop = asyncio.new_event_loop()
        found, self.port = listening()
        self._stop = self.loop.run_until_complete(serving(found))

    def request(self, method, path, headers):
        answer = self.loop.run_until_complete(self.client.request(
            method, f"http://127.0.0.1:{self.port}{path}", headers=headers))
        return Answer(answer.status_code, answer.headers, answer.text)

    def connect(self, path, headers):
        from websockets.asyncio.client import connect
        from websockets.exceptions import InvalidStatus

        async def ask():
            try:
                async with connect(f"ws://127.0.0.1:{self.port}{path}",
                                   additional_headers=headers):
                    return 200
            except InvalidStatus as error:
                return error.response.status_code
        return self.loop.run_until_complete(ask())

    def levels(self, caller):
        return self.loop.run_until_complete(self.limiter.levels_of(caller))

    def reset(self, caller):
        self.loop.run_until_complete(self.limiter.reset(caller))

    def close(self):
        with contextlib.closing(self.loop):
            self.loop.run_until_complete(self.client.aclose())
            self.loop.run_until_complete(self._stop())


class Sanic(HomeWithServer):
    def __init__(self, scenario, clock):
        import sanic
        from sanic.response import text

        from limitree.sanic import Limiter, RateLimitExceeded

        def respond(status, body):
            return text(body, status)

        app = sanic.Sanic(f"scenarios_{next(numbers)}", configure_logging=False)
        app.config.ACCESS_LOG = app.config.MOTD = False
        # Sanic rewrites its methods for the first application of a process.
        app.config.TOUCHUP = False
        self.limiter = Limiter(app=app, **self.options(
            scenario, clock, header_of, respond))

        def handler():
            async def view(request):
                return respond(int(request.headers.get("X-Status", 200)),
                               self.tell(request.ctx.limitree))
            return view

        async def connected(request, ws):
            pass

        for methods, path, limits in routes_of(scenario):
            if methods == ["WS"]:
                app.add_websocket_route(self.decorated(connected, limits),
                                        path, name=path[1:])
            else:
                app.add_route(self.decorated(handler(), limits), path,
                              methods=methods, name=path[1:])
        answer = scenario["app"].get("answer")
        if answer:
            app.exception(RateLimitExceeded)(
                lambda request, error: respond(answer["status"],
                                               answer["body"]))

        async def serving(found):
            server = await app.create_server(
                sock=found, return_asyncio_server=True)
            await server.startup()
            await server.before_start()

            async def stop():
                await server.before_stop()
                await server.close()
                await server.after_stop()
                sanic.Sanic.unregister_app(app)
            return stop

        self.start(serving)


class Aiohttp(HomeWithServer):
    def __init__(self, scenario, clock):
        from aiohttp import web

        from limitree.aiohttp import RECORD, Limiter, RateLimitExceeded

        def respond(status, text):
            return web.Response(text=text, status=status)

        answer = scenario["app"].get("answer")

        @web.middleware
        async def own_answer(request, handler):
            try:
                return await handler(request)
            except RateLimitExceeded:
                return respond(answer["status"], answer["body"])

        app = web.Application(middlewares=[own_answer] if answer else ())
        self.limiter = Limiter(app=app, **self.options(
            scenario, clock, header_of, respond))

        def handler():
            async def view(request):
                return respond(int(request.headers.get("X-Status", 200)),
                               self.tell(request[RECORD]))
            return view

        async def connected(request):
            response = web.WebSocketResponse()
            await response.prepare(request)
            await response.close()
            return response

        for methods, path, limits in routes_of(scenario):
            function = self.decorated(
                connected if methods == ["WS"] else handler(), limits)
            for method in methods:
                app.router.add_route("GET" if method == "WS" else method, path,
                                     function)

        async def serving(found):
            runner = web.AppRunner(app, access_log=None)
            await runner.setup()
            await web.SockSite(runner, found).start()
            return runner.cleanup

        self.start(serving)
