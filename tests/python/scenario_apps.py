"""The scenarios of tests/web/scenarios.json, as applications of each framework.

`make(name, scenario, clock)` returns an App.  The scenarios have words for
functions; here are the functions.
"""

import asyncio
import json
import pathlib

import limitree

FILE = pathlib.Path(__file__).parents[1] / "web" / "scenarios.json"
LIST = json.loads(FILE.read_text())
NOWHERE = "redis+unix:///nowhere/redis.sock"


class Impossible(Exception):
    """An integration cannot play a scenario; the text says why."""


class Functions:
    """The functions for words, which read a header through `header(request,
    name)`, and what they note."""

    def __init__(self, header):
        self.header = header
        self.breaches = 0

    def key(self, word):
        if word == "everybody":
            return lambda request: "all"
        name = {"caller": "X-Caller", "account": "X-Account"}[word]
        return lambda request: self.header(request, name)

    def text(self, texts):
        if isinstance(texts, str):
            return texts
        return lambda request: texts[self.header(request, "X-Tier") or "free"]

    def cost(self, cost):
        if cost != "header":
            return cost
        return lambda request: int(self.header(request, "X-Cost") or 1)

    def exempt_when(self, word):
        return word and (lambda request: bool(self.header(request, "X-Staff")))

    def deduct_when(self, word):
        if word is None:
            return None
        return lambda response: (response.status_code >= 400) == (
            word == "failed")

    def on_breach(self, word, respond):
        """`respond(status, text)` makes a response."""
        if word is None:
            return None

        def breach(request, decision):
            assert decision.limited
            if word == "answer":
                return respond(418, "breached")
            self.breaches += 1
            return None
        return breach

    def options(self, limit, respond):
        """The arguments of a RateLimit, all but its text or path."""
        return {"cost": self.cost(limit.get("cost", 1)),
                "methods": limit.get("methods"),
                "per_method": limit.get("per_method", False),
                "scope": limit.get("group"),
                "exempt_when": self.exempt_when(limit.get("exempt_when")),
                "deduct_when": self.deduct_when(limit.get("charge_when")),
                "on_breach": self.on_breach(limit.get("on_breach"), respond),
                "error_message": limit.get("message")}

    def path(self, path):
        return [self.key("caller") if part == "@caller" else part
                for part in path]


def limit_of(given):
    """A limit of a scenario, with its text and key."""
    return {"key": "caller", **({"text": given} if isinstance(given, str)
                                else given)}


def routes_of(scenario):
    """Yields methods, path and limits (or "exempt") of each route."""
    for route, limits in scenario["app"]["routes"].items():
        methods, path = route.split(" ")
        yield methods.split(","), path, (
            limits if limits == "exempt" else [limit_of(one) for one in limits])


def store_of(app):
    """The store of an application, and its other options."""
    options = {}
    if app.get("store") == "nowhere":
        options["store"] = NOWHERE
    for name in "on_store_error", "retry_after":
        if name in app:
            options[name] = app[name]
    return options


def refuse(app, feature, reason):
    """Raises Impossible if the application needs a feature."""
    if app.get(feature):
        raise Impossible(reason)


def told(decision):
    """The body of a handler that sees `decision`."""
    return "-" if decision is None else str(decision.remaining)


class Answer:
    """A response, as the driver compares it."""

    def __init__(self, status, headers, text):
        self.status = status
        self.headers = headers
        self.text = text


class App:
    """Base: what the driver asks an application."""

    def request(self, method, path, headers):
        raise NotImplementedError

    def connect(self, path, headers):
        """The status of a websocket: 200 if it was accepted."""
        raise Impossible("WSGI has no websockets")

    def levels(self, caller):
        raise NotImplementedError

    def reset(self, caller):
        raise NotImplementedError

    def close(self):
        pass


def run_awaited(awaitable):
    return asyncio.run(awaitable)


# ---- WSGI and ASGI ----------------------------------------------------------

_NO_ROUTES = ("a middleware before the application knows no routes: RateLimit "
              "with at= names their URLs")


def rules_of(scenario, functions, respond):
    """The RateLimits of middlewares that know URLs only."""
    from limitree.rate_limit import RateLimit

    app = scenario["app"]
    rules, exempt = [], []
    for limit in map(limit_of, app.get("everywhere", ())):
        rules.append(RateLimit(functions.text(limit["text"]), by="app"))
    for methods, path, limits in routes_of(scenario):
        if limits == "exempt":
            exempt.append(path)
            continue
        if not limits:
            limits = [limit_of(one) for one in app.get("default", ())]
        for limit in limits:
            what = (functions.path(limit["path"]) if "path" in limit
                    else functions.text(limit["text"]))
            key = {} if limit["key"] == "ip" else {
                "key": functions.key(limit["key"])}
            rules.append(RateLimit(what, at=path, **key,
                                   **functions.options(limit, respond)))
            rules[-1].word = limit["key"]
    return rules, exempt


class Wsgi(App):
    def __init__(self, scenario, clock):
        import werkzeug.test
        from limitree.wsgi import DECISION, LimitreeMiddleware

        def header(environ, name):
            return environ.get("HTTP_" + name.upper().replace("-", "_"))

        def respond(status, text):
            def app(environ, start_response):
                start_response(f"{status} X", [("Content-Type", "text/plain")])
                return [text.encode()]
            return app

        def handler(environ, start_response):
            start_response(f"{header(environ, 'X-Status') or 200} X",
                           [("Content-Type", "text/plain")])
            return [told(environ.get(DECISION)).encode()]

        app = scenario["app"]
        if any("WS" in methods for methods, _, _ in routes_of(scenario)):
            raise Impossible("WSGI has no websockets")
        self.functions = functions = Functions(header)
        rules, exempt = rules_of(scenario, functions, respond)
        answer = app.get("answer")
        if not rules:
            rules = [_free()]
        by_ip = any(getattr(rule, "word", "") == "ip" for rule in rules)
        self._app = LimitreeMiddleware(
            handler, app.get("limits"), rules=rules, exclude=exempt,
            key=None if by_ip else functions.key("caller"),
            on_breach=functions.on_breach(app.get("on_breach"), respond),
            response=answer and (lambda environ, decision: respond(
                answer["status"], answer["body"])),
            clock=clock, **store_of(app))
        self._client = werkzeug.test.Client(self._app)

    def request(self, method, path, headers):
        answer = self._client.open(path, method=method, headers=headers,
                                   environ_base={"REMOTE_ADDR": "192.0.2.1"})
        return Answer(answer.status_code, answer.headers, answer.text)

    def levels(self, caller):
        return self._app.levels_of(caller)

    def reset(self, caller):
        self._app.reset(caller)


class OfAsgi(App):
    """An ASGI application, asked without a server."""

    app = None

    def request(self, method, path, headers):
        import httpx

        async def ask():
            transport = httpx.ASGITransport(
                self.app, client=("192.0.2.1", 1), raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport,
                                         base_url="http://test") as client:
                return await client.request(method, path, headers=headers)
        answer = run_awaited(ask())
        return Answer(answer.status_code, answer.headers, answer.text)

    def connect(self, path, headers):
        sent = []

        scope = {"type": "websocket", "path": path, "query_string": b"",
                 "headers": [(name.lower().encode(), value.encode())
                             for name, value in headers.items()],
                 "client": ("192.0.2.1", 1), "server": ("test", 80),
                 "scheme": "ws", "subprotocols": [], "root_path": "",
                 "raw_path": path.encode(), "http_version": "1.1",
                 "asgi": {"version": "3.0"}, "extensions": {
                     "websocket.http.response": {}}}

        async def ask():
            answered = asyncio.Event()
            coming = iter(["websocket.connect"])

            async def receive():
                kind = next(coming, None)
                if kind is None:  # the client goes away with the answer
                    await answered.wait()
                return {"type": kind or "websocket.disconnect", "code": 1001}

            async def send(message):
                sent.append(message)
                answered.set()

            await self.app(scope, receive, send)

        run_awaited(ask())
        return 200 if sent[0]["type"] == "websocket.accept" else (
            sent[0]["status"])


def scope_header(scope, name):
    name = name.lower().encode()
    return next((value.decode() for key, value in scope["headers"]
                 if key == name), None)


class Asgi(OfAsgi):
    def __init__(self, scenario, clock):
        from limitree.asgi import LimitreeMiddleware

        def respond(status, text):
            async def app(scope, receive, send):
                await send({"type": "http.response.start", "status": status})
                await send({"type": "http.response.body",
                            "body": text.encode()})
            return app

        async def handler(scope, receive, send):
            if scope["type"] == "websocket":
                await receive()
                await send({"type": "websocket.accept"})
                return
            decisions = scope["limitree"].decisions
            await respond(int(scope_header(scope, "X-Status") or 200),
                          told(decisions[-1] if decisions else None))(
                scope, receive, send)

        app = scenario["app"]
        self.functions = functions = Functions(scope_header)
        rules, exempt = rules_of(scenario, functions, respond)
        answer = app.get("answer")
        if not rules:
            rules = [_free()]
        by_ip = any(getattr(rule, "word", "") == "ip" for rule in rules)
        self.app = LimitreeMiddleware(
            handler, app.get("limits"), rules=rules, exclude=exempt,
            path=(lambda scope: None) if app.get("limits") else None,
            key=None if by_ip else functions.key("caller"),
            on_breach=functions.on_breach(app.get("on_breach"), respond),
            response=answer and (lambda scope, decision: respond(
                answer["status"], answer["body"])),
            clock=clock, **store_of(app))

    def levels(self, caller):
        return run_awaited(self.app.levels_of(caller))

    def reset(self, caller):
        run_awaited(self.app.reset(caller))


def _free():
    from limitree.rate_limit import RateLimit
    return RateLimit("1/hour", at="/nothing")


# ---- Starlette and FastAPI --------------------------------------------------


class OfStarlette(OfAsgi):
    """What Starlette and FastAPI have in common."""

    def options(self, scenario, clock):
        from starlette.responses import PlainTextResponse

        app = scenario["app"]
        self.functions = functions = Functions(
            lambda request, name: request.headers.get(name))

        def respond(status, text):
            return PlainTextResponse(text, status)

        self.respond = respond
        return {"limits": app.get("limits"), "clock": clock,
                "default_limits": app.get("default", ()),
                "application_limits": app.get("everywhere", ()),
                "on_breach": functions.on_breach(app.get("on_breach"),
                                                 respond),
                **store_of(app)}

    def decorated(self, limiter, function, limits):
        from limitree import client_ip

        functions = self.functions
        if limits == "exempt":
            return limiter.exempt(function)
        for limit in reversed(limits):
            what = (functions.path(limit["path"]) if "path" in limit
                    else functions.text(limit["text"]))
            key = (client_ip() if limit["key"] == "ip"
                   else functions.key(limit["key"]))
            function = limiter.limit(what, key, **functions.options(
                limit, self.respond))(function)
        return function

    def levels(self, caller):
        return run_awaited(self.limiter.levels_of(caller))

    def reset(self, caller):
        run_awaited(self.limiter.reset(caller))


class Starlette(OfStarlette):
    def __init__(self, scenario, clock):
        from starlette.applications import Starlette as Application
        from starlette.responses import PlainTextResponse
        from starlette.routing import Route, WebSocketRoute

        from limitree.starlette import Limiter

        def handler():
            async def view(request):
                decisions = request.scope["limitree"].decisions
                return PlainTextResponse(
                    told(decisions[-1] if decisions else None),
                    int(request.headers.get("X-Status", 200)))
            return view

        async def socket(websocket):
            await websocket.accept()

        options = self.options(scenario, clock)
        self.limiter = Limiter(self.functions.key("caller"), **options)
        routes = []
        for methods, path, limits in routes_of(scenario):
            if methods == ["WS"]:
                routes.append(WebSocketRoute(path, self.decorated(
                    self.limiter, socket, limits)))
            else:
                routes.append(Route(path, self.decorated(
                    self.limiter, handler(), limits), methods=methods))
        answer = scenario["app"].get("answer")
        self.app = Application(routes=routes, exception_handlers=answer and {
            429: lambda request, error: self.respond(answer["status"],
                                                     answer["body"])})
        self.limiter.init_app(self.app)


class FastApi(OfStarlette):
    def __init__(self, scenario, clock):
        import fastapi
        from fastapi.responses import PlainTextResponse

        from limitree.fastapi import Limiter

        def handler():
            async def view(request: fastapi.Request):
                decisions = request.scope["limitree"].decisions
                return PlainTextResponse(
                    told(decisions[-1] if decisions else None),
                    int(request.headers.get("X-Status", 200)))
            return view

        async def socket(websocket: fastapi.WebSocket):
            await websocket.accept()

        self.app = app = fastapi.FastAPI()
        options = self.options(scenario, clock)
        self.limiter = Limiter(self.functions.key("caller"), app=app, **options)
        for methods, path, limits in routes_of(scenario):
            if methods == ["WS"]:
                app.add_api_websocket_route(path, self.decorated(
                    self.limiter, socket, limits))
            else:
                app.add_api_route(path, self.decorated(
                    self.limiter, handler(), limits), methods=methods)
        answer = scenario["app"].get("answer")
        if answer:
            app.exception_handler(429)(lambda request, error: self.respond(
                answer["status"], answer["body"]))


# ---- Flask ------------------------------------------------------------------


class Flask(App):
    def __init__(self, scenario, clock):
        import flask

        from limitree.flask import Limiter

        functions = self.functions = Functions(
            lambda request, name: flask.request.headers.get(name))
        app = scenario["app"]
        if any("WS" in methods for methods, _, _ in routes_of(scenario)):
            raise Impossible("WSGI has no websockets")
        self.app = flask.Flask("scenarios")
        self.app.config["LIMITREE_OPTIONS"] = {}
        store = store_of(app)
        self.limiter = limiter = Limiter(
            lambda: functions.key("caller")(None), app=self.app,
            limits=app.get("limits"), default_limits=app.get("default"),
            application_limits=app.get("everywhere"),
            storage_uri=store.get("store"),
            on_store_error=store.get("on_store_error"),
            retry_after=store.get("retry_after"),
            on_breach=self.breach(app.get("on_breach")))
        for methods, path, limits in routes_of(scenario):
            self.app.add_url_rule(path, path[1:], self.decorated(
                self.handler(), limits), methods=methods)
        answer = app.get("answer")
        if answer:
            self.app.register_error_handler(429, lambda error: (
                answer["body"], answer["status"]))
        self.client = self.app.test_client()
        assert limiter

    def breach(self, word):
        import flask

        found = self.functions.on_breach(word, lambda status, text:
                                         flask.make_response(text, status))

        def breach(limit):
            assert limit.breached
            return found(None, _Limited)
        return found and breach

    def handler(self):
        import flask

        def view():
            return (told(self.limiter.decision),
                    int(flask.request.headers.get("X-Status", 200)))
        return view

    def decorated(self, view, limits):
        from limitree.flask import get_remote_address

        if limits == "exempt":
            return self.limiter.exempt(view)
        functions = self.functions

        def bare(function):
            return (lambda: function(None)) if callable(function) else function

        for limit in reversed(limits):
            options = functions.options(limit, None)
            options["on_breach"] = self.breach(limit.get("on_breach"))
            for name in "cost", "exempt_when":
                options[name] = bare(options[name])
            if "path" in limit:
                for name in "scope", "per_method":
                    options.pop(name)
                view = self.limiter.path(*map(bare, functions.path(
                    limit["path"])), **options)(view)
                continue
            key = (get_remote_address if limit["key"] == "ip"
                   else bare(functions.key(limit["key"])))
            text = bare(functions.text(limit["text"]))
            scope = options.pop("scope")
            put = (self.limiter.limit(text, key_func=key, **options)
                   if scope is None else self.limiter.shared_limit(
                       text, scope, key_func=key, **options))
            view = put(view)
        return view

    def request(self, method, path, headers):
        answer = self.client.open(path, method=method, headers=headers)
        return Answer(answer.status_code, answer.headers, answer.text)

    def levels(self, caller):
        with self.app.app_context():
            return self.limiter.levels_of(caller)

    def reset(self, caller):
        with self.app.app_context():
            self.limiter.reset(caller)


class _Limited:
    """Stands for the decision, which Flask's on_breach does not get."""

    limited = True


# ---- Functions --------------------------------------------------------------


class _Request:
    """What a function that is called gets in place of a request."""

    def __init__(self, headers):
        self.headers = headers


class _Result(str):
    """What such a function returns."""

    status_code = 200


_NO_APPLICATION = ("functions belong to no application: each has its own "
                   "limits")


class Plain(App):
    """Functions under the decorator of Calls."""

    is_async = False

    def __init__(self, scenario, clock):
        from limitree.calls import Calls

        app = scenario["app"]
        for name in "everywhere", "default":
            refuse(app, name, _NO_APPLICATION)
        refuse(app, "on_breach", _NO_APPLICATION)
        if scenario["feature"] == "per method":
            raise Impossible("a function has no method")
        if scenario["feature"] in ("websocket", "headers"):
            raise Impossible("a function has no connection, and no headers")
        self.functions = functions = Functions(
            lambda request, name: request.headers.get(name))
        made = limitree.AsyncLimiter if self.is_async else limitree.Limiter
        store = store_of(app)
        store.setdefault("on_store_error", "local")
        self.limiter = made(app.get("limits") or "schema: {free: {}}",
                            clock=clock, **store)
        self.calls = Calls(self.limiter)
        self.answer = app.get("answer")
        self.routes = {}
        for _, path, limits in routes_of(scenario):
            self.routes[path] = self.decorated(self.handler(path), limits)
        del functions

    def handler(self, path):
        def work(request):
            result = _Result(told(self.calls.decision))
            result.status_code = int(request.headers.get("X-Status", 200))
            return result

        async def work_async(request):
            return work(request)

        function = work_async if self.is_async else work
        function.__qualname__ = path[1:]
        return function

    def decorated(self, function, limits):
        def breached(status, text):
            result = _Result(text)
            result.status_code = status
            return result

        functions = self.functions
        for limit in reversed(limits):
            if limit["key"] == "ip":
                raise Impossible("a function has no address")
            options = functions.options(limit, breached)
            for name in "methods", "per_method":
                options.pop(name)
            found = options["on_breach"]
            if found:
                options["on_breach"] = (
                    lambda decision, found=found: found(None, decision))
            what = (functions.path(limit["path"]) if "path" in limit
                    else functions.text(limit["text"]))
            function = self.calls.limit(
                what, key=functions.key(limit["key"]), **options)(function)
        return function

    def request(self, method, path, headers):
        try:
            result = self.routes[path](_Request(headers))
            if self.is_async:
                result = run_awaited(result)
        except limitree.LimitExceeded as error:
            status, text = 429, str(error)
            if self.answer:
                status, text = self.answer["status"], self.answer["body"]
            return Answer(status, None, text)
        except limitree.StoreError:
            return Answer(503, None, "")
        return Answer(result.status_code, None, str(result))

    def levels(self, caller):
        return self.calls.levels_of(caller)

    def reset(self, caller):
        self.calls.reset(caller)


class PlainAsync(Plain):
    is_async = True

    def levels(self, caller):
        return run_awaited(self.calls.levels_of(caller))

    def reset(self, caller):
        run_awaited(self.calls.reset(caller))
