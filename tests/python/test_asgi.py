"""limitree.asgi without a server: messages in, messages out."""

import asyncio
import json
import logging

import pytest

import limitree
from limitree import AsyncLimiter
from limitree.asgi import LimitreeMiddleware

LIMITS = """
schema:
  ip: {key: ip, children: {"*": {limits: {count: 2, period: 1m}}}}
  user: {children: {"*": {limits: {count: 4, period: 1m}}}}
"""


async def hello(scope, receive, send):
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        return
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": b"hello"})


def ask(app, kind="http", path="/", client=("192.0.2.1", 1), receive=None,
        **more):
    """Returns the messages that `app` sends for one connection."""
    sent = []

    async def connect():
        return {"type": f"{kind}.connect"}

    async def send(message):
        sent.append(message)

    scope = {"type": kind, "path": path, "client": client, "headers": [],
             **more}
    asyncio.run(app(scope, receive or connect, send))
    return sent


def status(app, **more):
    return ask(app, **more)[0]["status"]


def headers_of(messages):
    return {name.decode(): value.decode()
            for name, value in messages[0]["headers"]}


def limited(*args, clock=None, **more):
    return LimitreeMiddleware(hello, *args, limits=LIMITS, clock=clock, **more)


def test_the_address_is_the_path_unless_told(clock):
    app = limited(clock=clock)
    assert [status(app) for _ in range(3)] == [200, 200, 429]
    assert status(app, client=("192.0.2.2", 1)) == 200
    assert status(app, client=("testclient", 1)) == 200
    clock.advance(30)
    assert status(app) == 200


def test_a_denial_is_told(clock):
    app = limited(clock=clock)
    ask(app), ask(app)
    denied = ask(app)
    assert headers_of(denied) == {
        "content-type": "application/problem+json",
        "content-length": str(len(denied[1]["body"])),
        "cache-control": "no-store",
        "ratelimit-policy": '"ip:*";q=2;w=60',
        "ratelimit": '"ip:*";r=0;t=30', "retry-after": "30"}
    assert json.loads(denied[1]["body"])["violated-policies"] == ["ip:*"]


@pytest.mark.parametrize("style, expected", [
    ("none", {}), ("legacy", {"x-ratelimit-limit": "2",
                              "x-ratelimit-remaining": "1",
                              "x-ratelimit-reset": "30"})])
def test_other_headers(clock, style, expected):
    assert headers_of(ask(limited(clock=clock, headers=style))) == expected


def test_headers_that_there_are_not():
    with pytest.raises(ValueError, match="unknown style"):
        limited(headers="x")


def test_headers_of_the_application_stay(clock):
    async def later(scope, receive, send):
        await send({"type": "http.response.start", "status": 503, "headers": [
            [b"Retry-After", b"7"], [b"ratelimit", b'"own";r=1']]})

    app = LimitreeMiddleware(later, LIMITS, clock=clock)
    names = [name for name, _ in ask(app)[0]["headers"]]
    assert names.count(b"ratelimit") == 2  # a list in two lines
    assert [name.lower() for name in names].count(b"retry-after") == 1


def test_the_path_may_be_anything(clock):
    def by_user(scope):
        return "user", scope["user"]

    async def both(scope):
        await asyncio.sleep(0)
        return [("user", scope["user"]), ["ip", scope["client"][0]]]

    app = limited(path=by_user, clock=clock)
    assert [status(app, user="ann") for _ in range(5)] == [200] * 4 + [429]
    for user in b"\xff\xfe", "\ud800":
        assert [status(app, user=user) for _ in range(5)] == [200] * 4 + [429]
    app = limited(path=both, clock=clock)
    first = headers_of(ask(app, user="ann"))
    assert first["ratelimit-policy"] == '"user:*";q=4;w=60, "ip:*";q=2;w=60'
    assert [status(app, user="ann") for _ in range(2)] == [200, 429]


def test_a_connection_without_a_path(clock):
    async def by_user(scope):
        return ("user", scope["user"]) if "user" in scope else None

    app = limited(path=by_user, cost=3, clock=clock)
    assert [status(app, user="ann") for _ in range(2)] == [200, 429]
    free = ask(app)
    assert free[0] == {"type": "http.response.start", "status": 200}
    app = limited(path=lambda scope: None, clock=clock)
    assert [status(app) for _ in range(5)] == [200] * 5


@pytest.mark.parametrize("path, error", [
    ("user", TypeError), (b"user", TypeError),
    (1, TypeError), ([None, "ann"], TypeError), (["user", None], TypeError),
    ([("user", None)], TypeError), ([["user", "ann"], None], TypeError),
    ([], ValueError), ([()], ValueError), (["usr", "ann"], ValueError),
    (["ip", "not-an-address"], ValueError),
])
def test_a_path_that_is_wrong_is_never_no_limit(clock, path, error):
    app = limited(path=lambda scope: path, clock=clock)
    with pytest.raises(error):
        ask(app)


def test_a_wrong_path_names_the_function_that_told_it(clock):
    def path_of_user(scope):
        return "user", scope.get("user")

    with pytest.raises(TypeError, match=(
            "segment 1 of a path must be str or bytes, not NoneType, as "
            r"test_asgi\..*path_of_user has returned")):
        ask(limited(path=path_of_user, clock=clock))


def test_a_peer_without_an_address_is_an_error(clock):
    for more in {}, {"server": None}, {"server": ("/run/app.sock", None)}:
        with pytest.raises(ValueError, match="the peer has no address"):
            ask(limited(clock=clock), client=None, **more)


def test_a_client_that_is_gone_is_answered_briefly(clock, caplog):
    app = limited(clock=clock)
    server = ("192.0.2.9", 80)
    gone = ask(app, client=None, server=server)
    assert gone[0]["status"] == 400
    assert json.loads(gone[1]["body"])["status"] == 400
    assert ask(app, "websocket", client=None, server=server) == [
        {"type": "websocket.close", "code": 1008, "reason": "Bad Request"}]

    async def disconnected():
        return {"type": "websocket.disconnect"}

    assert ask(app, "websocket", client=None, server=server,
               receive=disconnected) == []
    assert not caplog.records
    # A path of one's own needs no address.
    app = limited(path=lambda scope: ("user", "ann"), clock=clock)
    assert status(app, client=None, server=server) == 200


def test_nothing_is_sent_to_a_client_that_has_gone(clock):
    app = limited(cost=3, clock=clock)

    async def send(message):
        raise ConnectionResetError("the client has gone")

    async def connect():
        return {"type": "websocket.connect"}

    for kind in "http", "websocket":
        scope = {"type": kind, "path": "/", "client": ("192.0.2.1", 1),
                 "headers": []}
        asyncio.run(app(scope, connect, send))


def test_the_cost_may_be_told(clock):
    async def cost(scope):
        return scope["cost"]

    assert [status(limited(cost=2, clock=clock))] == [200]
    app = limited(cost=cost, clock=clock)
    assert status(app, cost=2) == 200
    assert status(app, cost=1) == 429
    denied = headers_of(ask(app, cost=2**62))
    assert "retry-after" not in denied  # no wait is long enough
    for wrong, error in [(-1, ValueError), (2**64, OverflowError),
                         (None, TypeError), (1.5, TypeError)]:
        with pytest.raises(error):
            ask(app, cost=wrong)


def test_what_is_excluded(clock):
    app = limited(cost=2, exclude=["/health", "/static/*"], clock=clock)
    assert status(app) == 200
    for path in "/health", "/static/", "/static/a/b.css":
        assert "headers" not in ask(app, path=path)[0]
    for path in "/health/", "/healthy", "/static", "/":
        assert status(app, path=path) == 429
    app = limited(cost=2, exclude=lambda scope: scope["path"] == "/x",
                  clock=clock)
    assert [status(app), status(app, path="/x"), status(app)] == [200, 200, 429]
    with pytest.raises(TypeError, match="exclude must be a sequence"):
        limited(exclude="/health")


def test_a_websocket_that_cannot_be_told_is_closed(clock):
    app = limited(cost=2, clock=clock)
    accepted = ask(app, "websocket")
    assert [one["type"] for one in accepted] == ["websocket.accept"]
    assert headers_of(accepted)["ratelimit"] == '"ip:*";r=0;t=30'
    assert ask(app, "websocket") == [
        {"type": "websocket.close", "code": 1008,
         "reason": "Too Many Requests"}]


def test_a_websocket_is_denied_with_a_response_if_it_may_be(clock):
    app = limited(cost=2, clock=clock)
    extensions = {"websocket.http.response": {}}
    ask(app)
    start, body = ask(app, "websocket", extensions=extensions)
    assert start["type"] == "websocket.http.response.start"
    assert start["status"] == 429
    assert dict(start["headers"])[b"retry-after"] == b"60"
    assert json.loads(body["body"])["status"] == 429


def test_the_response_may_be_another(clock):
    def busy(scope, decision):
        assert decision.limited

        async def app(scope, receive, send):
            await send({"type": f"{kind}.start", "status": 420, "headers": []})
            await send({"type": f"{kind}.body", "body": b"later"})
        kind = {"http": "http.response",
                "websocket": "websocket.http.response"}[scope["type"]]
        return app

    app = limited(cost=2, response=busy, clock=clock)
    ask(app)
    denied = ask(app)
    assert denied[0]["status"] == 420
    assert headers_of(denied)["retry-after"] == "60"
    extensions = {"websocket.http.response": {}}
    assert ask(app, "websocket", extensions=extensions)[0]["status"] == 420
    assert ask(app, "websocket")[0]["code"] == 1008


def test_two_of_them_tell_together(clock):
    inner = limited(clock=clock)
    app = LimitreeMiddleware(inner, LIMITS, path=lambda scope: ("user", "ann"),
                             clock=clock)
    told = headers_of(ask(app))
    assert told["ratelimit-policy"] == '"user:*";q=4;w=60, "ip:*";q=2;w=60'
    assert told["ratelimit"] == '"user:*";r=3;t=15, "ip:*";r=1;t=30'


def test_a_store_that_fails_is_told(caplog):
    app = LimitreeMiddleware(hello, LIMITS, "redis+unix:///nowhere/redis.sock",
                             on_store_error="raise")
    refused = ask(app)
    assert refused[0]["status"] == 503
    assert headers_of(refused)["retry-after"] == "1"
    assert ask(app, "websocket")[0]["code"] == 1013
    assert caplog.text.count("requests fail until it is back") == 1


async def run_lifespan(app, kinds):
    sent, messages = [], [{"type": f"lifespan.{kind}"} for kind in kinds]

    async def receive():
        return messages.pop(0)

    async def send(message):
        sent.append(message["type"])

    await app({"type": "lifespan"}, receive, send)
    return sent


async def polite(scope, receive, send):
    for _ in range(2):
        await send({"type": (await receive())["type"] + ".complete"})


def test_the_lifespan_is_the_applications_own(caplog):
    app = LimitreeMiddleware(polite, LIMITS, "redis+unix:///nowhere/r.sock")
    with caplog.at_level(logging.WARNING):
        assert asyncio.run(run_lifespan(app, ["startup", "shutdown"])) == [
            "lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert "the store does not answer" in caplog.text


def test_an_application_without_a_lifespan_says_so_itself():
    async def without(scope, receive, send):
        assert scope["type"] != "lifespan"

    app = LimitreeMiddleware(without, LIMITS)
    with pytest.raises(AssertionError):
        asyncio.run(run_lifespan(app, ["startup"]))


def test_other_connections_pass(clock):
    async def other(scope, receive, send):
        await send({"type": "other"})

    app = LimitreeMiddleware(other, LIMITS, clock=clock)
    assert ask(app, "mqtt") == [{"type": "other"}]


def test_its_own_limiter_ends_with_the_application(clock):
    app = LimitreeMiddleware(polite, LIMITS, clock=clock)
    for _ in range(2):  # tests may start an application several times
        limiter = app.limiter
        asyncio.run(limiter.authorize("user", "ann"))
        asyncio.run(run_lifespan(app, ["startup", "shutdown"]))
        assert limiter.closed
    assert app.limiter is not limiter
    assert app.limiter.stats().allowed == 0


def test_a_limiter_that_was_handed_over_stays_open(clock):
    limiter = AsyncLimiter(LIMITS, clock=clock)
    app = LimitreeMiddleware(polite, limiter)
    asyncio.run(run_lifespan(app, ["startup", "shutdown"]))
    assert app.limiter is limiter and not limiter.closed
    asyncio.run(limiter.close())
    with pytest.raises(RuntimeError, match="the limiter is closed"):
        ask(LimitreeMiddleware(hello, limiter))


def test_an_unknown_root_is_found_at_once():
    tree = "schema: {user: {}}"
    with pytest.raises(limitree.UnknownRoot, match=(
            r'the path \("ip", address\): unknown root "ip", the tree has: u')):
        LimitreeMiddleware(hello, tree)
    LimitreeMiddleware(hello, tree, path=lambda scope: ("user", "ann"))


def test_what_is_no_limiter_is_refused():
    with pytest.raises(TypeError, match="use AsyncLimiter"):
        LimitreeMiddleware(hello, limitree.Limiter(LIMITS))
    with pytest.raises(TypeError, match="belong to the limiter"):
        LimitreeMiddleware(hello, AsyncLimiter(LIMITS), timeout="1s")
    with pytest.raises(limitree.ConfigError):
        LimitreeMiddleware(hello, "schema: {job: {limits: x}}")
    with pytest.raises(TypeError, match="unexpected option"):
        LimitreeMiddleware(hello, LIMITS, colour="red")
