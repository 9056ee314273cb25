"""limitree.asgi and limitree.fastapi that hold until a response has ended,
without a server."""

import asyncio
import contextlib
import logging
import time
from typing import Annotated, Any

import pytest
from fastapi import Depends, FastAPI, Response, WebSocket
from fastapi.responses import StreamingResponse
from fastapi.testclient import TestClient

import limitree
from holding import LIMITS, Slow, left
from limitree.asgi import LimitreeMiddleware
from limitree.fastapi import Limiter, RateLimit
from reserving import AS_HELD, COST, FREE, HELD, warned  # noqa: F401

PATIENCE = 30


@pytest.fixture
def limiter(clock):
    return limitree.AsyncLimiter(LIMITS, clock=clock)


def behind(limiter, app, **options):
    return LimitreeMiddleware(app, limiter, path=lambda scope: ("key", "k"),
                              **{"cost": COST, "reserve": True, **options})


def run(app, send=None, kind="http", receive=None, **more):
    """Returns the messages of one connection."""
    sent = []

    async def collect(message):
        if send is not None:
            await send(message)
        sent.append(message)

    async def connect():
        return {"type": f"{kind}.connect"}

    scope = {"type": kind, "path": "/", "client": ("192.0.2.1", 1),
             "headers": [], **more}
    asyncio.run(app(scope, receive or connect, collect))
    return sent


def answering(*chunks, headers=(), inside=lambda: None):
    async def app(scope, receive, send):
        inside()
        await send({"type": "http.response.start", "status": 200,
                    "headers": list(headers)})
        for chunk in chunks:
            await send({"type": "http.response.body", "body": chunk,
                        "more_body": True})
            inside()
        await send({"type": "http.response.body"})
    return app


def remaining(limiter):
    return left(limiter._limiter)


def test_it_is_held_until_the_last_byte(limiter):
    seen = []

    async def send(message):
        seen.append((message["type"], remaining(limiter)))

    async def app(scope, receive, send):
        await answering(b"a", b"b")(scope, receive, send)
        seen.append(("a task after it", remaining(limiter)))

    run(behind(limiter, app), send)
    assert [what for _, what in seen] == [HELD] * 4 + [AS_HELD]
    assert remaining(limiter) == AS_HELD


@pytest.mark.parametrize("header, expected", [
    (b"tokens=81", [59, 919, 2]), (b"tokens=81, request=1", [59, 919, 2]),
    (b"tokens=81;a;b=\"x, y=2\";c=?0;d=:YQ==:,request=0", [59, 919, 2]),
    (b'tokens=81;a=%"f%c3%bc";b=-1.5;c=@1659578233', [59, 919, 2]),
    (b"tokens=1, tokens=2", [59, 998, 2]), (b"  ", AS_HELD),
    (b"request=1", AS_HELD), (b"tokens=5000", [59, 0, 2])])
def test_a_header_says_what_was_used(limiter, warned, header, expected):
    run(behind(limiter, answering(headers=[(b"X-Usage", header)])))
    assert remaining(limiter) == expected and not warned


@pytest.mark.parametrize("header", [
    b"tokens", b"tokens=-1", b"tokens=1.5", b"tokens=9007199254740992",
    b"tokens=12345678901234567890", b"tokens=1 request=1", b"tokens=1,", b"7",
    b",tokens=1", b"\xff", b"Tokens=1", b"tokens=\"1\"", b"tokens=(1 2)",
    b"tokens=1;", b"tokens=1;a=1..2", b"cents=1"])
def test_a_header_that_is_garbage(limiter, warned, header, caplog):
    app = behind(limiter, answering(headers=[(b"x-usage", header)]))
    for _ in range(2):
        assert run(app)[0]["status"] == 200
    assert remaining(limiter) == [58, 200, 2]
    assert len(warned) == len(caplog.records) == 1


def test_two_lines_of_a_header(limiter):
    run(behind(limiter, answering(headers=[(b"x-usage", b"request=1"),
                                           (b"x-usage", b"tokens=2")])))
    assert remaining(limiter) == [59, 998, 2]


def test_the_handler_may_settle(limiter, monkeypatch):
    asked = []
    for name in ("_settle_hold", "_cancel_hold"):
        real = getattr(limiter, name)
        monkeypatch.setattr(limiter, name, lambda *args, real=real:
                            asked.append(args) or real(*args))

    async def app(scope, receive, send):
        [held] = scope["limitree"].decisions
        assert isinstance(held, limitree.AsyncReservation)
        assert await held.settle(tokens=7) == 2
        await answering(headers=[(b"x-usage", b"tokens=9")])(scope, receive,
                                                             send)
    run(behind(limiter, app))
    assert remaining(limiter) == [59, 993, 2] and len(asked) == 1


@pytest.mark.parametrize("started, error, expected", [
    (False, KeyError, FREE), (True, KeyError, AS_HELD),
    (False, asyncio.CancelledError, AS_HELD),
    (True, asyncio.CancelledError, AS_HELD), (True, OSError, AS_HELD)])
def test_a_handler_that_throws(limiter, started, error, expected):
    async def app(scope, receive, send):
        if started:
            await send({"type": "http.response.start", "status": 200})
        raise error

    with pytest.raises(error):
        run(behind(limiter, app))
    assert remaining(limiter) == expected


def test_a_client_that_is_gone(limiter):
    async def send(message):
        raise OSError("gone")

    with pytest.raises(OSError):
        run(behind(limiter, answering(headers=[(b"x-usage", b"tokens=1")])),
            send)
    assert remaining(limiter) == [59, 999, 2]

    async def nothing(scope, receive, send):
        pass

    run(behind(limiter, nothing))
    assert remaining(limiter) == [58, 599, 2]


def test_at_most_two_at_once(limiter):
    async def both():
        release = asyncio.Event()
        statuses = []

        async def slow(scope, receive, send):
            await release.wait()
            await answering()(scope, receive, send)

        async def one(app):
            async def send(message):
                if "status" in message:
                    statuses.append((message["status"],
                                     dict(message["headers"])))
            await app({"type": "http", "path": "/", "client": ("::1", 1),
                       "headers": []}, None, send)

        slow_app = behind(limiter, slow, cost={"tokens": 1})
        tasks = [asyncio.create_task(one(slow_app)) for _ in range(2)]
        await asyncio.sleep(0)
        await one(slow_app)
        release.set()
        await asyncio.gather(*tasks)
        return statuses

    (denied, headers), *others = asyncio.run(both())
    assert denied == 429 and [status for status, _ in others] == [200, 200]
    assert headers[b"retry-after"] == b"30"
    assert b'"key:*#slots";r=0;t=30' in headers[b"ratelimit"]
    assert remaining(limiter) == [58, 998, 2]


def test_a_later_gate_cancels(limiter):
    inner = LimitreeMiddleware(answering(), "schema: {a: {limits: 1/d}}",
                               path=lambda scope: ("a",))
    app = behind(limiter, inner)
    assert [run(app)[0]["status"] for _ in range(2)] == [200, 429]
    assert remaining(limiter) == [58, 600, 2]


def test_without_reserve_there_is_an_error(limiter):
    with pytest.raises(ValueError, match="key:[*]#slots limits what is held at "
                       "once: reserve its units"):
        run(behind(limiter, answering(), reserve=False))


@pytest.mark.parametrize("reserve, error, message", [
    ("soon", limitree.ConfigError, "reserve must be a duration"),
    (None, TypeError, "True, False or a duration such as '30s', not NoneType"),
    ([], TypeError, "not list"), (0, ValueError, "reserve must be more than 0"),
    ("2d", ValueError, "reserve must be more than 0 and at most 1d, is 2d"),
    (float("nan"), ValueError, "reserve must be seconds")])
def test_options_that_are_wrong(reserve, error, message):
    for make in (lambda: LimitreeMiddleware(answering(), LIMITS,
                                            path=lambda scope: ("key", "k"),
                                            reserve=reserve),
                 lambda: RateLimit(("key", "k"), reserve=reserve)):
        with pytest.raises(error, match=message):
            make()


def test_a_text_holds_nothing():
    with pytest.raises(TypeError, match="a text such as '5/minute' holds noth"):
        RateLimit("5/minute", reserve=True)


def test_excluded_paths_hold_nothing(limiter):
    run(behind(limiter, answering(), exclude=["/"]))
    assert remaining(limiter) == [60, 1000, 2]


def test_a_websocket_is_held_until_it_is_closed(limiter):
    seen = []

    async def app(scope, receive, send):
        await send({"type": "websocket.accept"})
        await send({"type": "websocket.send", "text": "x"})
        seen.append(remaining(limiter))
        await send({"type": "websocket.close"})
        seen.append(remaining(limiter))

    run(behind(limiter, app), kind="websocket")
    assert seen == [HELD, AS_HELD] and remaining(limiter) == AS_HELD


def test_trailers_are_the_end(limiter):
    async def app(scope, receive, send):
        await send({"type": "http.response.start", "status": 200,
                    "trailers": True})
        await send({"type": "http.response.body"})
        assert remaining(limiter) == HELD
        await send({"type": "http.response.trailers", "headers": []})

    run(behind(limiter, app))
    assert remaining(limiter) == AS_HELD


# ---- Renewal ----------------------------------------------------------------


def test_a_duration_is_renewed(clock, limiter, monkeypatch):
    renewed = []
    real = limiter._extend_hold

    async def extend(*args):
        renewed.append(None)
        if len(renewed) == 2:
            raise limitree.StoreTimeout("no answer", "timeout")
        return await real(*args)

    monkeypatch.setattr(limiter, "_extend_hold", extend)

    async def wait_for(count):
        deadline = time.monotonic() + PATIENCE
        while len(renewed) < count:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.01)

    async def app(scope, receive, send):
        for _ in range(3):
            # The timer of the loop goes on, that of the limiter stands still.
            clock.advance(1.5)
            await wait_for(len(renewed) + 2)
            assert remaining(limiter)[2] == 1
        await answering()(scope, receive, send)
        tasks = asyncio.all_tasks()
        assert tasks == {asyncio.current_task()}
        loop = asyncio.get_running_loop()
        assert all(one.cancelled() for one in loop._scheduled)

    run(behind(limiter, app, reserve=2))
    assert remaining(limiter) == AS_HELD


def test_without_a_duration_nothing_is_renewed(clock, limiter):
    def inside():
        clock.advance(31)

    run(behind(limiter, answering(b"a", inside=inside)))
    assert remaining(limiter) == AS_HELD


# ---- A store that fails, tasks that are cancelled ---------------------------


class SlowLimiter(limitree.AsyncLimiter):
    """Its answers come when a test wants."""

    def __init__(self):
        super().__init__(LIMITS)
        self._limiter = Slow()
        self._watch = limitree.delivery.Watch(self._limiter)


def test_a_store_that_fails_at_the_end(caplog):
    limiter = SlowLimiter()
    sent = []

    async def go():
        async def send(message):
            sent.append(message["type"])

        task = asyncio.create_task(behind(limiter, answering())(
            {"type": "http", "path": "/", "headers": []}, None, send))
        await due(limiter)
        limiter._limiter.answer()
        await due(limiter)
        assert sent == ["http.response.start", "http.response.body"]
        limiter._limiter.answer(limitree.StoreTimeout("no answer", "timeout"))
        await task

    asyncio.run(go())
    assert [one for one in caplog.records if one.levelno > logging.INFO] == []


async def due(limiter):
    while not limiter._limiter.due:
        await asyncio.sleep(0)


@pytest.mark.parametrize("turns", range(12))
def test_a_task_that_is_cancelled_anywhere_leaks_nothing(turns):
    limiter = SlowLimiter()
    app = behind(limiter, behind(limiter, answering(b"a", b"b")))

    async def go():
        async def send(message):
            await asyncio.sleep(0)

        task = asyncio.create_task(app(
            {"type": "http", "path": "/", "headers": []}, None, send))
        for _ in range(turns):
            await asyncio.sleep(0)
            limiter._limiter.answer()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            while not task.done():
                limiter._limiter.answer()
                await asyncio.sleep(0)
            await task
        for _ in range(3):
            await asyncio.sleep(0)
            limiter._limiter.answer()

    asyncio.run(go())
    assert left(limiter._limiter)[2] == 2


# ---- FastAPI ----------------------------------------------------------------


Slot = Annotated[Any, Depends(RateLimit(("key", "k"), cost=COST,
                                        reserve="30s"))]


@pytest.fixture
def site(limiter):
    app = FastAPI()
    Limiter(app=app, limits=limiter)

    @app.get("/plain")
    async def plain(held: Slot):
        assert remaining(limiter) == HELD
        return "plain"

    @app.get("/settles")
    async def settles(held: Slot):
        return await held.settle(tokens=7)

    @app.get("/says", dependencies=[Depends(RateLimit(
        ("key", "k"), cost=COST, reserve=True))])
    def says(response: Response):
        response.headers["x-usage"] = "tokens=81"
        return "says"

    @app.get("/stream")
    async def stream(held: Slot):
        async def parts():
            for _ in range(2):
                yield str(remaining(limiter))
        return StreamingResponse(parts())

    @app.get("/fails")
    async def fails(held: Slot):
        raise KeyError

    async def other():
        pass

    @app.get("/denied", dependencies=[
        Depends(RateLimit(("key", "k"), cost=COST, reserve=True)),
        Depends(other), Depends(RateLimit("1/day"))])
    async def denied():
        return "allowed"

    @app.websocket("/ws")
    async def ws(websocket: WebSocket, held: Slot):
        await websocket.accept()
        await websocket.send_json(remaining(limiter))
        await websocket.receive_text()

    return TestClient(app, raise_server_exceptions=False)


@pytest.mark.parametrize("url, status, expected", [
    ("/plain", 200, AS_HELD), ("/settles", 200, [59, 993, 2]),
    ("/says", 200, [59, 919, 2]), ("/stream", 200, AS_HELD),
    ("/fails", 500, FREE)])
def test_fastapi(site, limiter, url, status, expected):
    answer = site.get(url)
    assert answer.status_code == status
    if url == "/stream":
        assert answer.text == str(HELD) * 2
    assert remaining(limiter) == expected


def test_fastapi_later_limits_cancel(site, limiter):
    assert [site.get("/denied").status_code for _ in range(2)] == [200, 429]
    assert remaining(limiter) == [58, 600, 2]


def test_fastapi_websockets(site, limiter):
    with site.websocket_connect("/ws") as socket:
        assert socket.receive_json() == HELD
        socket.send_text("x")
    assert remaining(limiter) == AS_HELD
