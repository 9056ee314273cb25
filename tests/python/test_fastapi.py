"""limitree.fastapi, called through Starlette's TestClient."""

import asyncio
import contextlib
import dataclasses
import threading
from typing import Annotated, Any

import pytest
from fastapi import (
    APIRouter,
    Depends,
    FastAPI,
    HTTPException,
    Request,
    Response,
    WebSocket,
)
from fastapi.responses import JSONResponse, PlainTextResponse
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient
from starlette.testclient import WebSocketDenialResponse
from starlette.websockets import WebSocketDisconnect

import limitree
from asgi_servers import serve
from limitree import client_ip
from limitree.fastapi import Limiter, RateLimit, RateLimitExceeded

TREE = """
schema:
  user:
    children:
      "*":
        limits: {count: 6, period: 1m}
        children: {trade: {limits: {count: 2, period: 1m}}}
"""


@pytest.fixture
def app(clock):
    made = FastAPI()
    made.state.used = Limiter(
        client_ip(trusted_hops=1), app=made, limits=TREE, clock=clock)
    return made


def client_of(app, address="203.0.113.1"):
    return TestClient(app, headers={"x-forwarded-for": address})


def get(app, url, times=1, address="203.0.113.1", **more):
    client = client_of(app, address)
    return [client.get(url, **more).status_code for _ in range(times)]


def user(request: Request):
    return request.headers["user"]


def test_a_dependency_denies(app, clock):
    @app.get("/a", dependencies=[Depends(RateLimit("2/minute"))])
    async def a():
        return {"a": 1}

    client = client_of(app)
    first = client.get("/a")
    assert first.json() == {"a": 1}
    assert first.headers["ratelimit-policy"] == '"route:GET/a/*/2/1m";q=2;w=60'
    assert first.headers["ratelimit"] == '"route:GET/a/*/2/1m";r=1;t=30'
    assert client.get("/a").status_code == 200
    denied = client.get("/a")
    assert denied.status_code == 429
    assert denied.headers["content-type"] == "application/problem+json"
    assert denied.headers["retry-after"] == "30"
    assert denied.headers["ratelimit"] == '"route:GET/a/*/2/1m";r=0;t=30'
    assert denied.json()["violated-policies"] == ["route:GET/a/*/2/1m"]
    assert get(app, "/a", address="203.0.113.2") == [200]
    clock.advance(30)
    assert get(app, "/a", 2) == [200, 429]


def test_every_kind_of_response_has_headers(app):
    limit = Depends(RateLimit("100/minute", by="app"))

    @app.get("/dict", dependencies=[limit])
    async def a_dict():
        return {}

    @app.get("/response", dependencies=[limit])
    async def response():
        return PlainTextResponse("x", headers={"x-own": "1"})

    @app.get("/stream", dependencies=[limit])
    def stream():
        return StreamingResponse(iter(["a", "b"]))

    @app.get("/error", dependencies=[limit])
    def error():
        return Response(status_code=404)

    for left, url in enumerate(["/dict", "/response", "/stream", "/error"]):
        told = client_of(app).get(url).headers
        assert told["ratelimit"].startswith(
            f'"route:app/*/100/1m";r={99 - left}')


def test_it_runs_before_what_costs_something(app):
    work = []

    def session(request: Request):
        work.append("session")
        yield
        work.append("end")

    @app.get("/a", dependencies=[Depends(RateLimit("1/minute"))])
    def a(found: Annotated[None, Depends(session)]):
        work.append("endpoint")

    @app.get("/b")
    @app.state.limiter.limit("1/minute")
    def b(found: Annotated[None, Depends(session)]):
        work.append("endpoint")

    assert get(app, "/a", 2) == [200, 429]
    assert get(app, "/b", 2) == [200, 429]
    assert work == ["session", "endpoint", "end"] * 2


def test_routes_are_told_apart_by_their_path_not_their_url(app):
    limit = RateLimit("1/minute")
    inner, sub = APIRouter(prefix="/inner"), FastAPI()

    @app.get("/x/{number}", dependencies=[Depends(limit)])
    @app.post("/x/{number}", dependencies=[Depends(limit)])
    @inner.get("/x/{number}", dependencies=[Depends(limit)])
    @sub.get("/x/{number}", dependencies=[Depends(limit)])
    def x(number: int):
        return number

    app.include_router(inner)
    app.include_router(inner, prefix="/outer")
    app.mount("/sub/{tenant}", sub)
    for url, policy in [("/x/{}", "/x/<number>"),
                        ("/inner/x/{}", "/inner/x/<number>"),
                        ("/outer/inner/x/{}", "/outer/inner/x/<number>"),
                        ("/sub/t{}/x/1", "/sub/<tenant>/x/<number>")]:
        first = client_of(app).get(url.format(1))
        assert first.headers["ratelimit"].startswith(
            f'"route:GET{policy}/*/1/1m";r=0'), url
        assert get(app, url.format(2)) == [429], url
    assert client_of(app).post("/x/1").status_code == 200


def test_urls_may_be_told_apart(app):
    @app.get("/x/{name:path}", dependencies=[
        Depends(RateLimit("1/minute", by="path"))])
    def x(name):
        return name

    assert get(app, "/x/1") + get(app, "/x/2") + get(app, "/x/1") == [
        200, 200, 429]
    assert get(app, "/x/1", address="203.0.113.2") == [200]
    assert get(app, "/x/%ff%fe", 2) == [200, 429]


def test_a_scope_is_shared(app):
    for name in "a", "b":
        @app.get(f"/{name}", dependencies=[
            Depends(RateLimit("1/minute", scope="both"))])
        def endpoint():
            pass
    assert get(app, "/a") + get(app, "/b") == [200, 429]


def test_the_key_may_be_anything(app):
    @app.get("/function", dependencies=[
        Depends(RateLimit("1/minute", key=lambda request: int(user(request))))])
    def function():
        pass

    async def slowly(request: Request):
        return user(request).encode()

    @app.get("/async", dependencies=[
        Depends(RateLimit("1/minute", key=slowly))])
    def awaited():
        pass

    @app.get("/depends", dependencies=[
        Depends(RateLimit("1/minute", key=Depends(user)))])
    def depends():
        pass

    @app.get("/nobody", dependencies=[
        Depends(RateLimit("1/minute", key=lambda: "all"))])
    def nobody():
        pass

    for url in "/function", "/async", "/depends":
        client = client_of(app)
        found = [client.get(url, headers={"user": name}).status_code
                 for name in ["1", "2", "1"]]
        assert found == [200, 200, 429], url
    assert get(app, "/nobody", address="203.0.113.1") == [200]
    assert get(app, "/nobody", address="203.0.113.2") == [429]


@pytest.mark.parametrize("key", [
    lambda request: None, lambda: 1.5, Depends(lambda: None)])
@pytest.mark.parametrize("by", ["route", "path"])
def test_a_key_that_is_none_is_never_no_limit(app, key, by):
    @app.get("/a", dependencies=[Depends(RateLimit("1/minute", key=key,
                                                   by=by))])
    def a():
        raise AssertionError("the endpoint must not be reached")

    with pytest.raises(TypeError):
        get(app, "/a")


def nobody(request):
    return None


async def nobody_later():
    return None


@pytest.mark.parametrize("limit, what, function", [
    (RateLimit("1/minute", key=nobody), "the key", "nobody"),
    (RateLimit("1/minute", key=nobody_later), "the key", "nobody_later"),
    (RateLimit("1/minute", key=Depends(nobody_later)), "the key",
     "nobody_later"),
    (RateLimit(("user", nobody_later)), "segment 1 of the path",
     "nobody_later"),
    (RateLimit(lambda: ["user", None]), "segment 1 of the path", "<lambda>"),
])
def test_a_wrong_key_names_the_function_that_told_it(app, limit, what,
                                                     function):
    app.get("/a", dependencies=[Depends(limit)])(lambda: "")
    with pytest.raises(TypeError, match=(
            f"{what} of GET/a must be str or bytes, not NoneType, as "
            f"test_fastapi.{function} has returned")):
        get(app, "/a")


def test_paths_of_the_tree(app):
    trade = ("user", user, "trade")

    @app.post("/trade", dependencies=[Depends(RateLimit(trade))])
    def post():
        pass

    @app.get("/trade", dependencies=[Depends(RateLimit(
        lambda request: ["user", user(request)], "100/minute"))])
    def look():
        pass

    client = TestClient(app, headers={"user": "ann",
                                      "x-forwarded-for": "203.0.113.1"})
    first = client.post("/trade")
    assert first.headers["ratelimit-policy"] == (
        '"user:*";q=6;w=60, "user:*/trade";q=2;w=60')
    assert [client.post("/trade").status_code for _ in range(2)] == [200, 429]
    both = client.get("/trade").headers["ratelimit-policy"]
    assert both == '"user:*";q=6;w=60, "route:GET/trade/*/100/1m";q=100;w=60'
    assert [client.get("/trade").status_code
            for _ in range(4)] == [200, 200, 200, 429]


def test_the_limit_may_be_told_by_the_request(app):
    @app.get("/a", dependencies=[Depends(RateLimit(
        lambda request: request.headers["limit"]))])
    def a():
        pass

    assert get(app, "/a", 2, headers={"limit": "1/minute"}) == [200, 429]
    # All of one limit is all of another in the same period.
    assert get(app, "/a", 2, headers={"limit": "2/minute"}) == [429, 429]
    assert get(app, "/a", 2, headers={"limit": "2/hour"}) == [200, 200]
    with pytest.raises(limitree.ConfigError):
        get(app, "/a", headers={"limit": "lots"})


def test_the_cost(app):
    async def cost(request: Request):
        return int(request.headers["cost"])

    @app.get("/a", dependencies=[Depends(RateLimit("10/minute", cost=cost))])
    def a():
        pass

    @app.get("/b", dependencies=[Depends(RateLimit("10/minute", cost=6))])
    def b():
        pass

    assert get(app, "/a", 2, headers={"cost": "5"}) == [200, 200]
    assert get(app, "/a", headers={"cost": "1"}) == [429]
    assert get(app, "/b", 2) == [200, 429]
    with pytest.raises(ValueError, match="cost"):
        get(app, "/a", headers={"cost": "-1"})


def test_the_decision_is_a_parameter(app):
    @app.get("/a")
    async def a(decision: Annotated[limitree.Decision,
                                    Depends(RateLimit("3/minute"))]):
        return decision.remaining

    assert client_of(app).get("/a").json() == 2


def test_several_limits_are_one_step(app, clock):
    @app.get("/a", dependencies=[Depends(RateLimit("1/second; 3/minute"))])
    def a():
        pass

    client = client_of(app)
    assert [client.get("/a").status_code for _ in range(5)] == [200] + [429] * 4
    clock.advance(1)  # denied requests charged nothing
    told = client.get("/a").headers["ratelimit"]
    assert told == '"route:GET/a/*/1/1s";r=0;t=1, "route:GET/a/*/3/1m";r=1;t=19'


# ---- Several RateLimits of one request --------------------------------------


def drain(app, url, times=10):
    """Lets one user ask until only this user is denied; then asks another."""
    client = client_of(app)
    found = [client.get(url, headers={"user": "mallory"}).status_code
             for _ in range(times)]
    return found.count(200), client.get(url, headers={"user": "bob"})


ALL = RateLimit("5/hour", key=lambda: "all")
EACH = RateLimit("2/hour", key=user)


def of_a_route(app):
    app.get("/", dependencies=[Depends(ALL), Depends(EACH)])(lambda: "")


def of_a_parameter(app):
    @app.get("/", dependencies=[Depends(ALL)])
    async def endpoint(decision: Annotated[limitree.Decision, Depends(EACH)]):
        return decision.remaining


def of_a_router(app):
    router = APIRouter(dependencies=[Depends(ALL)])
    router.get("/", dependencies=[Depends(EACH)])(lambda: "")
    app.include_router(router)


def of_an_included_router(app):
    router, outer = APIRouter(), APIRouter(dependencies=[Depends(ALL)])
    router.get("/", dependencies=[Depends(EACH)])(lambda: "")
    outer.include_router(router)
    app.include_router(outer, dependencies=[Depends(ALL)])


def of_an_application(app):
    app.router.dependencies.append(Depends(ALL))
    app.get("/", dependencies=[Depends(EACH)])(lambda: "")


def of_decorators(app):
    limiter = app.state.limiter

    @app.get("/")
    @limiter.limit("5/hour", key_func=lambda: "all")
    @limiter.limit("2/hour", key_func=user)
    async def endpoint():
        return ""


def of_a_decorator_and_a_route(app):
    @app.get("/", dependencies=[Depends(ALL)])
    @app.state.limiter.limit("2/hour", key_func=user)
    def endpoint():
        return ""


def of_a_shared_limit(app):
    limiter = app.state.limiter

    @app.get("/")
    @limiter.shared_limit("5/hour", "api", key_func=lambda: "all")
    @limiter.limit("2/hour", key_func=user)
    def endpoint():
        return ""


def of_a_key_that_is_a_dependency(app):
    first = Depends(RateLimit("2/hour", key=Depends(user)))
    app.get("/", dependencies=[first, Depends(ALL)])(lambda: "")


@pytest.mark.parametrize("written", [
    of_a_route, of_a_parameter, of_a_router, of_an_included_router,
    of_an_application, of_decorators, of_a_decorator_and_a_route,
    of_a_shared_limit, of_a_key_that_is_a_dependency])
def test_all_limits_of_a_request_are_one_step(app, written):
    written(app)
    allowed, answer = drain(app, "/")
    assert allowed == 2
    # The denials of mallory have cost nobody anything.
    assert answer.status_code == 200
    assert answer.headers["ratelimit"].count(";r=") == 2
    assert ';r=2;' in answer.headers["ratelimit"]


def test_a_websocket_is_one_step(app):
    @app.websocket("/ws", dependencies=[Depends(ALL)])
    async def ws(websocket: WebSocket, decision: Annotated[
            limitree.Decision, Depends(EACH)]):
        await websocket.accept()
        await websocket.close()

    client = client_of(app)
    for name, count in [("ann", 2), ("bob", 2), ("carol", 1)]:
        for _ in range(count):
            with client.websocket_connect("/ws", headers={"user": name}):
                pass
        with pytest.raises(WebSocketDenialResponse):
            with client.websocket_connect("/ws", headers={"user": name}):
                pass


def test_each_limit_of_a_step_has_its_own_rules(app):
    free = RateLimit("1/hour", exempt_when=lambda: True)
    post = RateLimit("1/hour", methods="POST")
    dear = RateLimit("9/hour", cost=4)
    told = []

    @app.get("/", dependencies=[Depends(free), Depends(post), Depends(dear)])
    async def endpoint(
            one: Annotated[limitree.Decision, Depends(RateLimit("8/hour"))],
            none: Annotated[Any, Depends(free)]):
        told.append((one.remaining, none))

    client = client_of(app)
    answer = client.get("/")
    assert answer.headers["ratelimit"] == (
        '"route:GET//*/9/1h";r=5;t=400, "route:GET//*/8/1h";r=7;t=450')
    assert [client.get("/").status_code for _ in range(2)] == [200, 429]
    assert told == [(5, None), (1, None)]


def test_a_dependency_between_limits_begins_a_new_step(app):
    seen = []

    def password(request: Request):
        seen.append(request.headers["user"])
        if request.headers["user"] == "eve":
            raise HTTPException(401)
        request.state.user = request.headers["user"]

    @app.get("/", dependencies=[
        Depends(RateLimit("3/hour")), Depends(password),
        Depends(RateLimit("2/hour", key=lambda asked: asked.state.user))])
    async def endpoint():
        return ""

    client = client_of(app)
    # The first limit counts what the dependency refuses, and protects it.
    found = [client.get("/", headers={"user": "eve"}).status_code
             for _ in range(5)]
    assert found == [401] * 3 + [429] * 2
    assert seen == ["eve"] * 3
    client = client_of(app, "203.0.113.2")
    assert [client.get("/", headers={"user": "ann"}).status_code
            for _ in range(3)] == [200, 200, 429]


def test_limits_protect_the_key_functions_of_those_behind_them(app):
    checked = []

    def user_of_token(request):
        checked.append(1)
        raise HTTPException(401)

    app.get("/", dependencies=[
        Depends(RateLimit("3/hour")),
        Depends(RateLimit("9/hour", key=user_of_token)),
        Depends(RateLimit("8/hour"))])(lambda: "")
    assert get(app, "/", 5) == [401] * 3 + [429] * 2
    left = client_of(app).get("/").headers["ratelimit"]
    assert left.count(";r=") == 1  # the third limit has never been asked


def test_a_limit_that_a_test_overrides_takes_no_part(app):
    strict = RateLimit("1/hour", scope="strict")
    app.get("/", dependencies=[Depends(RateLimit("3/hour")), Depends(strict)])(
        lambda: "")
    app.dependency_overrides[strict] = lambda: None
    assert get(app, "/", 4) == [200] * 3 + [429]


def test_a_limit_that_a_function_calls_is_a_step_of_its_own(app):
    inner = RateLimit("1/hour", scope="inner")

    async def by_hand(request: Request):
        decision = None
        for _ in range(2):
            try:
                decision = await inner(request)
            except RateLimitExceeded as error:
                return error.decision
        return decision

    @app.get("/", dependencies=[Depends(RateLimit("9/hour"))])
    async def endpoint(found: Annotated[Any, Depends(by_hand)]):
        return found.limited

    assert client_of(app).get("/").json() is True


@pytest.mark.parametrize("place", [0, 1])
def test_a_limit_that_the_route_calls_once_more_charges_no_others(app, place):
    """For each part of a batch, for example."""
    pair = RateLimit("9/hour", scope="a"), RateLimit("9/hour", scope="b")

    @app.get("/", dependencies=[Depends(one) for one in pair])
    async def endpoint(request: Request):
        return [(await pair[place](request)).remaining for _ in range(3)]

    answer = client_of(app).get("/")
    assert answer.json() == [7, 6, 5]
    other = "ab"[1 - place]
    assert answer.headers["ratelimit"].count(f'"route:{other}/') == 1


def test_a_limit_that_could_not_be_decided_is_asked_again(app):
    keys = [None, "ann", "ann"]
    limit = RateLimit("1/hour", key=lambda: keys.pop(0))

    async def again(request: Request):
        with pytest.raises(TypeError, match="the key of GET/ must be str"):
            await limit(request)
        assert (await limit(request)).allowed
        await limit(request)

    app.get("/", dependencies=[Depends(again)])(lambda: "")
    assert get(app, "/") == [429]


def test_websockets(app):
    @app.websocket("/ws")
    async def ws(websocket: WebSocket, decision: Annotated[
            limitree.Decision, Depends(RateLimit("1/minute"))]):
        await websocket.accept()
        await websocket.send_json(decision.remaining)
        await websocket.close()

    client = client_of(app)
    with client.websocket_connect("/ws") as socket:
        assert socket.receive_json() == 0
    with pytest.raises(WebSocketDenialResponse) as denied:
        with client.websocket_connect("/ws"):
            pass
    assert denied.value.status_code == 429
    assert denied.value.headers["retry-after"] == "60"

    async def without(scope, receive, send):
        await app({**scope, "extensions": {}}, receive, send)
    with pytest.raises(WebSocketDisconnect) as closed:
        with client_of(without).websocket_connect("/ws"):
            pass
    assert closed.value.code == 1008


@pytest.mark.parametrize("extensions", [{}, {"websocket.http.response": {}}])
@pytest.mark.parametrize("client", [None, ("203.0.113.9", 5)])
def test_a_websocket_whose_client_has_gone(clock, client, extensions):
    app = FastAPI()
    Limiter(app=app, clock=clock)

    @app.websocket("/ws", dependencies=[Depends(RateLimit("1/h", cost=2))])
    async def ws(websocket: WebSocket):
        raise AssertionError("the endpoint must not be reached")

    sent = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        sent.append(message["type"])
        raise ConnectionResetError("the client has gone")

    scope = {"type": "websocket", "path": "/ws", "headers": [],
             "query_string": b"", "client": client, "extensions": extensions,
             "server": ("192.0.2.9", 80), "subprotocols": []}
    asyncio.run(app(scope, receive, send))
    assert sent == ["websocket.http.response.start" if extensions
                    else "websocket.close"]


def test_a_client_that_is_gone_is_answered_briefly(clock, caplog):
    app = FastAPI()
    Limiter(app=app, clock=clock)
    app.get("/", dependencies=[Depends(RateLimit("1/h"))])(lambda: "")
    sent = []

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "path": "/", "method": "GET", "headers": [],
             "query_string": b"", "client": None, "server": ("192.0.2.9", 80)}
    asyncio.run(app(scope, receive, send))
    assert sent[0]["status"] == 400
    assert not [one for one in caplog.records if one.name == "limitree"]
    scope["server"] = ("/run/x.sock", None)  # its settings are wrong
    with pytest.raises(ValueError, match="the peer has no address"):
        asyncio.run(app(scope, receive, send))


def test_a_handler_of_ones_own(app):
    @app.exception_handler(429)
    async def busy(request, error):
        assert isinstance(error, limitree.LimitExceeded)
        return JSONResponse({"again": error.decision.retry_after}, 429)

    @app.get("/a", dependencies=[Depends(RateLimit("1/minute"))])
    def a():
        pass

    get(app, "/a")
    denied = client_of(app).get("/a")
    assert denied.json() == {"again": 60}
    assert denied.headers["retry-after"] == "60"


def test_limits_of_functions_are_told_as_well(app, clock):
    job = limitree.AsyncLimiter({"schema": {"job": {"limits": [0, 1, 60]}}},
                                clock=clock)

    @app.get("/a")
    @job.limit("job")
    async def a():
        return 1

    assert get(app, "/a", 2) == [200, 429]


def test_a_store_that_fails_is_told():
    app = FastAPI()
    Limiter(app=app, store="redis+unix:///nowhere/redis.sock",
            on_store_error="raise")

    @app.get("/a", dependencies=[Depends(RateLimit("1/minute"))])
    def a():
        pass

    @app.websocket("/ws")
    async def ws(websocket: WebSocket, decision: Annotated[
            limitree.Decision, Depends(RateLimit("1/minute"))]):
        raise AssertionError("the endpoint must not be reached")

    with TestClient(app) as client:
        assert client.get("/a").status_code == 503
        with pytest.raises(WebSocketDenialResponse) as denied:
            with client.websocket_connect("/ws"):
                pass
        assert denied.value.status_code == 503


def test_each_start_of_an_application_has_a_limiter(app):
    @app.get("/a", dependencies=[Depends(RateLimit("1/minute"))])
    def a():
        pass

    for _ in range(2):
        with client_of(app) as client:
            assert [client.get("/a").status_code for _ in range(2)] == [
                200, 429]


def test_methods_of_a_limiter_as_routes(app):
    limiter = limitree.AsyncLimiter(TREE)
    app.get("/metrics", response_class=PlainTextResponse)(limiter.prometheus)
    app.get("/stats")(limiter.stats)
    with client_of(app) as client:
        assert "limitree_limits" in client.get("/metrics").text
        assert client.get("/stats").status_code == 200


def test_the_loop_goes_on_while_a_route_is_added(app, monkeypatch):
    """Adding a route takes a while if there are many limits."""
    adding, pinged = threading.Event(), threading.Event()
    put = limitree.AsyncLimiter.put

    def slowly(*args, **kwargs):
        adding.set()
        assert pinged.wait(20)
        put(*args, **kwargs)

    @app.get("/a", dependencies=[Depends(RateLimit("1/minute"))])
    async def a():
        pass

    @app.get("/ping")
    async def ping():
        pinged.set()

    with client_of(app) as client:
        monkeypatch.setattr(limitree.AsyncLimiter, "put", slowly)
        answers = []
        first = threading.Thread(
            target=lambda: answers.append(client.get("/a").status_code))
        first.start()
        assert adding.wait(20)
        assert client.get("/ping").status_code == 200
        first.join(20)
    assert answers == [200]


def test_nobody_to_ask_is_an_error():
    app = FastAPI()

    @app.get("/a", dependencies=[Depends(RateLimit("1/minute"))])
    def a():
        pass

    with pytest.raises(RuntimeError, match="needs a limitree.fastapi.Limiter"):
        TestClient(app).get("/a")


def test_a_limit_without_depends_is_an_error(app):
    with pytest.raises(TypeError, match=r"dependencies=\[Depends\(RateLimit"):
        app.get("/a", dependencies=[RateLimit("1/minute")])(lambda: "a")


@pytest.mark.parametrize("as_router", [False, True])
def test_limits_of_every_route_come_before_the_routes(as_router, recwarn):
    app, router = FastAPI(), APIRouter()
    app.mount("/mounted", FastAPI())
    Limiter(app=app, default_limits=["1/minute"])
    assert not recwarn.list
    (router if as_router else app).get("/a")(lambda: "a")
    if as_router:
        app.include_router(router)
    Limiter(app=app)
    assert not recwarn.list
    with pytest.warns(RuntimeWarning, match="make the Limiter first"):
        Limiter(app=app, default_limits=["1/minute"])


@pytest.mark.parametrize("limits, more, error", [
    ([], {}, TypeError), ([None], {}, TypeError), ([1], {}, TypeError),
    ([b"1/minute"], {}, TypeError),
    (["lots"], {}, limitree.ConfigError),
    (["1/minute"], {"by": "url"}, ValueError),
    (["1/minute"], {"key": 1}, TypeError),
])
def test_mistakes_show_where_they_are_made(limits, more, error):
    with pytest.raises(error):
        RateLimit(*limits, **more)


@pytest.mark.parametrize("path", [None, b"user", 1, ["user", None], []])
def test_a_path_that_is_none_is_never_no_limit(app, path):
    @app.get("/a", dependencies=[Depends(RateLimit(lambda: path))])
    def a():
        raise AssertionError("the endpoint must not be reached")

    with pytest.raises((TypeError, ValueError)):
        get(app, "/a")


def test_the_application_is_no_key_function():
    """It is callable; as a key function it would leave itself unlimited."""
    with pytest.raises(TypeError, match="the application goes into app="):
        Limiter(FastAPI(), default_limits=["1/minute"])


def of_root_in_a_route(app, limit):
    app.get("/a/b", dependencies=[Depends(limit)])(lambda: "")


def of_root_in_a_parameter(app, limit):
    def nested(decision: Annotated[Any, Depends(limit)]):
        return decision

    @app.get("/a/b")
    async def endpoint(decision: Annotated[Any, Depends(nested)]):
        return ""


def of_root_in_a_router(app, limit):
    router = APIRouter(prefix="/b", dependencies=[Depends(limit)])
    router.get("")(lambda: "")
    outer = APIRouter()
    outer.include_router(router)
    app.include_router(outer, prefix="/a")


def of_root_in_a_websocket(app, limit):
    @app.websocket("/a/b", dependencies=[Depends(limit)])
    async def websocket(websocket: WebSocket):
        pass


def of_root_in_a_mounted_application(app, limit):
    inner = FastAPI()
    inner.get("/a/b", dependencies=[Depends(limit)])(lambda: "")
    app.mount("/inner", inner)


@pytest.mark.parametrize("written", [
    of_root_in_a_route, of_root_in_a_parameter, of_root_in_a_router,
    of_root_in_a_websocket, of_root_in_a_mounted_application])
def test_an_unknown_root_is_found_when_the_application_starts(app, written):
    of_root_in_a_route(app, RateLimit(("user", user), "1/minute"))
    of_root_in_a_route(app, RateLimit((user, "x"), lambda: "1/minute"))
    with client_of(app):
        pass
    written(app, RateLimit(("usr", user)))
    with pytest.raises(limitree.UnknownRoot, match=(
            'route /a/b: unknown root "usr", the tree has: user, route')):
        with client_of(app):
            pass


def test_a_root_may_be_added_while_the_application_starts(clock):
    @contextlib.asynccontextmanager
    async def lifespan(app):
        app.state.limiter.limiter.put("user", "limits: 1/minute")
        yield

    app = FastAPI(lifespan=lifespan)
    Limiter(app=app, clock=clock)
    app.get("/", dependencies=[Depends(RateLimit(("user",)))])(lambda: "")
    with client_of(app) as client:
        assert [client.get("/").status_code for _ in range(2)] == [200, 429]


def test_a_server_does_not_start_with_an_unknown_root(tmp_path):
    (tmp_path / "typo.py").write_text("""
from fastapi import Depends, FastAPI
from limitree.fastapi import Limiter, RateLimit
app = FastAPI()
Limiter(app=app, limits="schema: {user: {}}")
app.get("/", dependencies=[Depends(RateLimit(("usr",)))])(lambda: "")
""")
    with pytest.raises(RuntimeError, match='route /: unknown root "usr", the'):
        with serve("uvicorn", "typo:app", cwd=tmp_path):
            pass


def test_the_tree_may_not_use_the_name_of_routes():
    with pytest.raises(limitree.ConfigError, match="route"):
        Limiter(limits="schema: {route: {}}")


# Decorators, as in slowapi.


def test_decorators(app):
    limiter = app.state.limiter

    @app.get("/sync")
    @limiter.limit("1/minute")
    def sync(number: int = 3):
        return number

    @app.get("/async/{number}")
    @limiter.limit("1/minute", key_func=lambda: "all")
    async def awaited(request: Request, number: int):
        return request.url.path, number

    assert client_of(app).get("/sync?number=7").json() == 7
    assert get(app, "/sync") == [429]
    assert client_of(app).get("/async/5").json() == ["/async/5", 5]
    assert get(app, "/async/5", address="203.0.113.2") == [429]
    assert sync() == 3 and sync(9) == 9  # called by hand
    names = app.openapi()["paths"]["/sync"]["get"]["parameters"]
    assert [one["name"] for one in names] == ["number"]


def test_decorators_of_one_function(app):
    limiter = app.state.limiter

    @app.get("/a")
    @limiter.limit("2/minute")
    @limiter.limit("5/hour", methods=["get"])
    @limiter.limit("1/day", methods=["POST"])
    @limiter.limit("1/day", exempt_when=lambda: True)
    def a():
        pass

    assert get(app, "/a", 3) == [200, 200, 429]


def test_shared_limits(app):
    shared = app.state.limiter.shared_limit("2/minute", scope="api", cost=1)

    @app.get("/a")
    @shared
    def a():
        pass

    @app.get("/b")
    @shared
    def b():
        pass

    assert get(app, "/a") + get(app, "/b") + get(app, "/a") == [200, 200, 429]


def test_default_limits(clock):
    app = FastAPI()
    limiter = Limiter(lambda: "all", app=app, default_limits=["1/minute"],
                      clock=clock)

    @app.get("/default")
    def default():
        pass

    @app.get("/exempt")
    @limiter.exempt
    def exempt():
        pass

    @app.get("/own")
    @limiter.limit("2/minute")
    def own():
        pass

    @app.get("/both")
    @limiter.limit("2/minute", override_defaults=False)
    def both():
        pass

    assert get(app, "/default", 2) == [200, 429]
    assert get(app, "/exempt", 3) == [200, 200, 200]
    assert get(app, "/own", 3) == [200, 200, 429]
    assert get(app, "/both", 2) == [200, 429]
    limiter.enabled = False
    assert get(app, "/default", 3) == [200, 200, 200]


def test_the_exception_is_an_http_exception(clock):
    limiter = limitree.Limiter({"schema": {"job": {"limits": [0, 1, 60]}}},
                               clock=clock)
    limiter.authorize("job")
    error = RateLimitExceeded(limiter.authorize("job"))
    assert error.status_code == 429
    assert error.detail == "Try again in 60 s."
    assert "429" in str(error)


# ---- As in slowapi ----------------------------------------------------------


def test_a_function_of_the_key(app):
    limiter = app.state.limiter
    limiter.key = lambda connection: connection.headers["x-user"]
    told = []

    def of_key(key):
        told.append(key)
        return "3/minute" if key == "alex" else "1/minute"

    def of_both(request, key):
        return of_key(f"{key}@{request.url.path}")

    @app.get("/key")
    @limiter.limit(of_key)
    async def by_key():
        return ""

    @app.get("/both")
    @limiter.limit(of_both, key_func=lambda: "someone")
    async def by_both():
        return ""

    @app.get("/lambda", dependencies=[Depends(RateLimit(
        lambda key: "2/minute"))])
    async def by_lambda():
        return ""

    client = client_of(app)

    def codes(path, user, count):
        return [client.get(path, headers={"x-user": user}).status_code
                for _ in range(count)]

    assert codes("/key", "alex", 4) == [200] * 3 + [429]
    assert codes("/key", "bob", 2) == [200, 429]
    assert set(told) == {"alex", "bob"}
    assert codes("/both", "alex", 2) == [200, 429]
    assert told[-1] == "someone@/both"
    assert codes("/lambda", "alex", 3) == [200, 200, 429]


def test_methods_of_one_route(app):
    limiter = app.state.limiter

    @app.api_route("/together", methods=["GET", "POST"])
    @limiter.limit("1/minute")
    async def together():
        return ""

    @app.api_route("/apart", methods=["GET", "POST"])
    @limiter.limit("1/minute", per_method=True)
    async def apart():
        return ""

    shared = Depends(RateLimit("2/minute", scope="x", per_method=True))
    app.api_route("/named", methods=["GET", "POST"],
                  dependencies=[shared])(lambda: "")
    client = client_of(app)

    def codes(path):
        return [client.request(method, path).status_code
                for method in ("GET", "POST", "GET", "POST", "GET")]

    assert codes("/together") == [200, 429, 429, 429, 429]
    assert codes("/apart") == [200, 200, 429, 429, 429]
    assert client.get("/apart").headers["ratelimit"].startswith(
        '"route:GET/apart/*/1/1m"')
    assert codes("/named") == [200, 200, 200, 200, 429]


@pytest.mark.parametrize("methods", ["get", "GET", ["GET"], ("get",)])
def test_a_limit_for_one_method(app, methods):
    limit = RateLimit("2/minute", methods=methods)

    @app.api_route("/", methods=["GET", "HEAD", "POST"],
                   dependencies=[Depends(limit)])
    async def endpoint():
        return ""

    client = client_of(app)
    found = [client.request(method, "/").status_code
             for method in ("GET", "POST", "HEAD", "GET", "HEAD", "POST")]
    # HEAD runs the endpoint as GET does, and counts as it.
    assert found == [200, 200, 200, 429, 429, 200]


def test_head_counts_as_get(app):
    @app.api_route("/apart", methods=["GET", "HEAD", "POST"], dependencies=[
        Depends(RateLimit("2/minute", per_method=True))])
    async def apart():
        return ""

    client = client_of(app)
    found = [client.request(method, "/apart").status_code
             for method in ("GET", "HEAD", "HEAD", "POST")]
    assert found == [200, 200, 429, 200]


def test_a_method_that_there_is_not(app):
    with pytest.raises(ValueError, match="no method 'GTE': did you mean 'GET'"):
        RateLimit("1/minute", methods=["GTE"])
    with pytest.raises(ValueError, match="no method 'PSOT'"):
        app.state.limiter.limit("1/minute", methods="PSOT")


# ---- Mistakes that are reported at once -------------------------------------


def test_a_limit_without_its_text(app):
    with pytest.raises(TypeError, match="needs the limits in parentheses"):
        @app.get("/a")
        @app.state.limiter.limit
        async def a():
            return ""
    with pytest.raises(TypeError, match="on a function, not on"):
        app.state.limiter.limit("1/minute")("a")


def test_a_limit_above_the_route(app):
    with pytest.raises(RuntimeError, match="a stands above its route"):
        @app.state.limiter.limit("1/minute")
        @app.get("/a")
        async def a():
            return ""


def test_an_endpoint_without_a_hash(app):
    @dataclasses.dataclass
    class Endpoint:
        text: str

        def __call__(self):
            return self.text

    app.add_api_route("/free", Endpoint("free"))

    @app.get("/a")
    @app.state.limiter.limit("1/minute")
    async def a():
        return ""

    assert get(app, "/free", 2) == [200, 200]
    assert get(app, "/a", 2) == [200, 429]


def test_a_limit_above_the_route_of_a_router(app):
    router = APIRouter()

    @app.state.limiter.limit("1/minute")
    @router.get("/a")
    async def a():
        return ""

    @router.get("/b")
    @app.state.limiter.limit("1/minute")
    async def b():
        return ""

    app.include_router(router)
    assert get(app, "/b", 2) == [200, 429]
    with pytest.raises(RuntimeError, match="a stands above its route"):
        client_of(app).get("/a")
