"""Requests that are slowed down, in ASGI and WSGI."""

import asyncio
import threading

import pytest
import werkzeug.test

import limitree.asgi
import limitree.wsgi
from limitree.rate_limit import RateLimit
from servers import until

SLOTS = {"schema": {"slot": {"limits": {"concurrent": 9, "hold": "10m"}}}}


async def echo(scope, receive, send):
    """Answers with the body of the request."""
    if scope["type"] == "websocket":
        assert (await receive())["type"] == "websocket.connect"
        await send({"type": "websocket.accept"})
        return
    body, more = b"", scope["method"] == "POST"
    while more:
        message = await receive()
        body += message["body"]
        more = message["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


class Client:
    """A client of an ASGI application; it goes away when it is told to."""

    def __init__(self, app):
        self.app = app
        self.gone = asyncio.Event()

    async def ask(self, parts=(b"",), method="GET", kind="http"):
        """Returns status, headers and body; None without an answer."""
        coming = [{"type": "websocket.connect"}] if kind == "websocket" else [
            {"type": "http.request", "body": part,
             "more_body": place + 1 < len(parts)}
            for place, part in enumerate(parts)]
        sent = []

        async def receive():
            if coming:
                return coming.pop(0)
            await self.gone.wait()
            return {"type": f"{kind}.disconnect"}

        async def send(message):
            sent.append(message)

        await self.app({"type": kind, "path": "/", "method": method,
                        "headers": [], "client": ("192.0.2.1", 1)},
                       receive, send)
        if not sent:
            return None
        headers = {name.decode(): value.decode()
                   for name, value in sent[0].get("headers", ())}
        return (sent[0].get("status", sent[0]["type"]), headers,
                b"".join(one.get("body", b"") for one in sent[1:]))


def asgi(clock=None, **options):
    options.setdefault("rules", [RateLimit("100/hour")])
    return limitree.asgi.LimitreeMiddleware(echo, clock=clock, **options)


def answer(environ, start_response):
    start_response("200 OK", [])
    return [b"x"]


def wsgi(clock=None, **options):
    options.setdefault("rules", [RateLimit("100/hour")])
    return werkzeug.test.Client(limitree.wsgi.LimitreeMiddleware(
        answer, clock=clock, **options))


def get(kind, app):
    if kind == "wsgi":
        answer = app.get("/", environ_base={"REMOTE_ADDR": "192.0.2.1"})
        return answer.status_code, dict(answer.headers), answer.data
    return asyncio.run(Client(app).ask())


@pytest.fixture(params=["asgi", "wsgi"])
def kind(request):
    return request.param


def make(kind, clock, **options):
    return (wsgi if kind == "wsgi" else asgi)(clock, **options)


def waits_of(kind, app, clock, times):
    waits = []
    for _ in range(times):
        begin = clock.now_ns
        assert get(kind, app)[0] == 200
        waits.append((clock.now_ns - begin) / 1e9)
    return waits


def test_each_used_request_waits_longer(kind, clock):
    app = make(kind, clock, delay_after=2, delay="100ms", max_delay=0.25)
    assert waits_of(kind, app, clock, 6) == [0, 0, 0.1, 0.2, 0.25, 0.25]


def test_a_function_says_how_long(kind, clock):
    seen = []

    def delay(used, request):
        seen.append((used, type(request)))
        return used * 2 - 9

    app = make(kind, clock, delay_after=3, delay=delay, max_delay="1h")
    assert waits_of(kind, app, clock, 6) == [0, 0, 0, 0, 1, 3]
    assert seen == [(number, dict) for number in (4, 5, 6)]


def test_denied_requests_do_not_wait(kind, clock):
    app = make(kind, clock, delay_after=0, rules=[RateLimit("1/hour")])
    assert waits_of(kind, app, clock, 1) == [1]
    begin = clock.now_ns
    assert get(kind, app)[0] == 429
    assert clock.now_ns == begin


def test_too_many_that_wait_are_denied_and_not_charged(kind, clock):
    app = make(kind, clock, delay_after=1, max_delayed=0)
    assert get(kind, app)[0] == 200
    for _ in range(3):
        status, headers, body = get(kind, app)
        names = {name.lower() for name in headers}
        assert (status, headers.get("Retry-After",
                                    headers.get("retry-after"))) == (429, "1")
        assert b"waiting" in body and "ratelimit" not in names
    limiter = app.application if kind == "wsgi" else app
    levels = limiter.levels_of("192.0.2.1")
    if kind == "asgi":
        levels = asyncio.run(levels)
    assert [level.remaining for level in levels] == [99]


def test_a_deferred_charge_of_one_that_may_not_wait(kind, clock):
    """What is charged by the response is not there to be given back."""
    rules = [RateLimit("9/hour"),
             RateLimit("8/hour", deduct_when=lambda _: True)]
    app = make(kind, clock, delay_after=1, max_delayed=0, rules=rules)
    assert [get(kind, app)[0] for _ in range(3)] == [200, 429, 429]
    levels = (app.application if kind == "wsgi" else app).levels_of("192.0.2.1")
    if kind == "asgi":
        levels = asyncio.run(levels)
    assert sorted(level.remaining for level in levels) == [7, 8]
    app = make(kind, clock, delay_after=0, max_delayed=0, rules=rules[1:])
    assert get(kind, app)[0] == 429  # nothing was charged at once


def test_what_functions_return_is_checked(kind, clock):
    app = make(kind, clock, delay_after=0, delay=lambda used, request: "1s")
    with pytest.raises(TypeError, match="delay must return a number"):
        get(kind, app)


@pytest.mark.parametrize("options, message", [
    ({"delay_after": -1}, "delay_after must be a number of requests"),
    ({"delay_after": True}, "delay_after"),
    ({"delay_after": 1, "max_delayed": 1.5}, "max_delayed must be"),
    ({"delay_after": 1, "delay": "soon"}, "delay"),
    ({"delay_after": 1, "max_delay": "soon"}, "max_delay")])
def test_wrong_options(kind, options, message):
    with pytest.raises(ValueError, match=message):
        make(kind, None, **options)


# ---- The time of the system -------------------------------------------------


def test_a_client_that_goes_away_ends_its_wait():
    async def main():
        app = asgi(delay_after=0, delay="1h", max_delay="1h", max_delayed=1,
                   limits=SLOTS, path=lambda scope: ("slot",), reserve=True,
                   rules=[RateLimit("100/hour")])
        first, second = Client(app), Client(app)
        waiting = asyncio.create_task(first.ask())
        while app._delays._count == 0:
            await asyncio.sleep(0.001)
        assert (await second.ask())[0] == 429
        first.gone.set()
        assert await asyncio.wait_for(waiting, 30) is None
        left = await app.limiter.peek("slot", cost=0, levels=True)
        assert left.levels[0].remaining == 9  # nobody holds a slot
        assert app._delays._count == 0
        # So does a server that cancels the request.
        cancelled = asyncio.create_task(Client(app).ask())
        while app._delays._count == 0:
            await asyncio.sleep(0.001)
        cancelled.cancel()
        with pytest.raises(asyncio.CancelledError):
            await cancelled
        assert app._delays._count == 0
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1  # nothing waits for messages
    asyncio.run(main())


def test_a_body_is_complete_after_the_wait():
    async def main():
        app = asgi(delay_after=0, delay=0.02)
        for parts in ([b"all"], [b"one", b"two", b"three"]):
            status, _, body = await Client(app).ask(parts, "POST")
            assert (status, body) == (200, b"".join(parts))
        assert (await Client(app).ask(kind="websocket"))[0] == (
            "websocket.accept")
        assert (await Client(app).ask())[0] == 200
        await asyncio.sleep(0)
        assert len(asyncio.all_tasks()) == 1
    asyncio.run(main())


def test_threads_wait_beside_each_other():
    class Clock:
        """It stands still; who sleeps waits for `go_on`."""

        go_on = threading.Event()

        def __call__(self):
            return 10**18

        def sleep(self, seconds):
            assert self.go_on.wait(60)

    app = wsgi(Clock(), delay_after=0, max_delayed=2)
    statuses = []

    def ask():
        statuses.append(get("wsgi", app)[0])

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for one in threads:
        one.start()
    until(lambda: app.application._delays._count == 2)
    ask()
    assert statuses == [429]
    Clock.go_on.set()
    for one in threads:
        one.join()
    assert statuses == [429, 200, 200]
