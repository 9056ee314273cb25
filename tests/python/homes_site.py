"""The same application in Litestar, Quart, Sanic and aiohttp, for
test_homes.py.

`/quote` has a limit in words; all else holds the only slot of a caller, until
the response has ended: `/slot`, `/stream`, which goes on until the client goes
away, `/fails`, `/nobody`, which has a second limit whose key fails, and the
websocket `/ws`.  Other URLs are for what one framework has.
"""

import asyncio
import socket
import sys

LIMITS = {"schema": {"slot": {"children": {"*": {"limits": {
    "concurrent": 1, "hold": "10m"}}}}}}


def caller(request):
    return request.headers["x-caller"]


def nobody(request):
    raise KeyError("of a request without credentials")


SLOT = {"limit_value": ("slot", caller), "reserve": True}


async def parts():
    while True:
        yield b"part\n"
        await asyncio.sleep(0.02)


def create_litestar():
    import litestar
    from litestar.response import Stream

    from limitree.litestar import Limiter, RateLimit

    limiter = Limiter(caller, limits=LIMITS)

    @litestar.get("/quote")
    @limiter.limit("2/hour")
    async def quote() -> str:
        return "1"

    @litestar.get("/slot", guards=[RateLimit(("slot", caller), reserve=True)])
    async def slot() -> str:
        return "mine"

    @litestar.get("/stream")
    @limiter.limit(**SLOT)
    async def stream() -> Stream:
        return Stream(parts())

    @litestar.get("/fails")
    @limiter.limit(**SLOT)
    async def fails() -> str:
        raise KeyError("of the test")

    @litestar.get("/nobody")
    @limiter.limit(**SLOT)
    @limiter.limit("9/hour", nobody)
    async def of_nobody() -> str:
        return ""

    @litestar.get("/thread", sync_to_thread=True)
    @limiter.limit("2/hour")
    def thread() -> str:
        return "1"

    @litestar.websocket_listener("/listener")
    @limiter.limit("2/hour")
    async def listener(data: str) -> str:
        return data

    @litestar.websocket_listener("/listener/thread")
    @limiter.limit("2/hour")
    def listener_in_thread(data: str) -> str:
        return data

    @litestar.websocket("/ws")
    @limiter.limit(**SLOT)
    async def ws(socket: litestar.WebSocket) -> None:
        await socket.accept()
        await socket.send_text(await socket.receive_text())
        await socket.receive_text()

    return litestar.Litestar([quote, slot, stream, fails, of_nobody, thread,
                              listener, listener_in_thread, ws],
                             plugins=[limiter], openapi_config=None)


def create_quart():
    import quart
    from quart.views import MethodView

    from limitree.quart import Limiter

    app = quart.Quart(__name__)
    limiter = Limiter(caller, app=app, limits=LIMITS)

    @app.get("/quote")
    @limiter.limit("2/hour")
    async def quote():
        return "1"

    @app.get("/slot")
    @limiter.limit(**SLOT)
    async def slot():
        return "mine"

    @app.get("/stream")
    @limiter.limit(**SLOT)
    async def stream():
        answer = await quart.make_response(parts())
        answer.timeout = None
        return answer

    @app.get("/fails")
    @limiter.limit(**SLOT)
    async def fails():
        raise KeyError("of the test")

    @app.get("/nobody")
    @limiter.limit(**SLOT)
    @limiter.limit("9/hour", nobody)
    async def of_nobody():
        return ""

    class OfMethod(MethodView):
        @limiter.limit("2/hour")
        async def get(self):
            return "1"

    class Whole(MethodView):
        decorators = [limiter.limit("2/hour")]

        async def get(self):
            return "1"

    app.add_url_rule("/class/method", view_func=OfMethod.as_view("of_method"))
    app.add_url_rule("/class/whole", view_func=Whole.as_view("whole"))

    @app.websocket("/ws")
    @limiter.limit(**SLOT)
    async def ws():
        while True:
            await quart.websocket.send(await quart.websocket.receive())

    return app


def create_sanic():
    import sanic
    from sanic.response import text
    from sanic.views import HTTPMethodView

    from limitree.sanic import Limiter

    app = sanic.Sanic("homes_site")
    limiter = Limiter(caller, app=app, limits=LIMITS)

    @app.get("/quote")
    @limiter.limit("2/hour")
    async def quote(request):
        return text("1")

    @app.get("/slot")
    @limiter.limit(**SLOT)
    async def slot(request):
        return text("mine")

    @app.get("/stream")
    @limiter.limit(**SLOT)
    async def stream(request):
        answer = await request.respond()
        async for part in parts():
            await answer.send(part)

    @app.get("/fails")
    @limiter.limit(**SLOT)
    async def fails(request):
        raise KeyError("of the test")

    @app.get("/nobody")
    @limiter.limit(**SLOT)
    @limiter.limit("9/hour", nobody)
    async def of_nobody(request):
        return text("")

    class OfMethod(HTTPMethodView):
        @limiter.limit("2/hour")
        async def get(self, request):
            return text("1")

    class Whole(HTTPMethodView):
        decorators = [limiter.limit("2/hour")]

        async def get(self, request):
            return text("1")

    app.add_route(OfMethod.as_view(), "/class/method")
    app.add_route(Whole.as_view(), "/class/whole")
    same = text("the same for all")

    @app.get("/same")
    @limiter.limit("9/hour")
    async def of_all(request):
        return same

    @app.websocket("/ws")
    @limiter.limit(**SLOT)
    async def ws(request, ws):
        async for message in ws:
            await ws.send(message)

    return app


def create_aiohttp():
    from aiohttp import web

    from limitree.aiohttp import Limiter

    limiter = Limiter(caller, limits=LIMITS)
    routes = web.RouteTableDef()

    @routes.get("/quote")
    @limiter.limit("2/hour")
    async def quote(request):
        return web.Response(text="1")

    @routes.get("/slot")
    @limiter.limit(**SLOT)
    async def slot(request):
        return web.Response(text="mine")

    @routes.get("/stream")
    @limiter.limit(**SLOT)
    async def stream(request):
        answer = web.StreamResponse()
        await answer.prepare(request)
        async for part in parts():
            await answer.write(part)
        return answer

    @routes.get("/fails")
    @limiter.limit(**SLOT)
    async def fails(request):
        raise KeyError("of the test")

    @routes.get("/nobody")
    @limiter.limit(**SLOT)
    @limiter.limit("9/hour", nobody)
    async def of_nobody(request):
        return web.Response()

    @routes.get("/ws")
    @limiter.limit(**SLOT)
    async def ws(request):
        answer = web.WebSocketResponse()
        await answer.prepare(request)
        async for message in answer:
            await answer.send_str(message.data)
        return answer

    app = web.Application()
    app.add_routes(routes)
    limiter.init_app(app)
    return app


def main(name):
    """Serves the application of a framework that has a server of its own."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
    if name == "sanic":
        create_sanic().run(sock=listening, single_process=True, motd=False)
    else:
        from aiohttp import web
        web.run_app(create_aiohttp(), sock=listening)


if __name__ == "__main__":
    main(sys.argv[1])
