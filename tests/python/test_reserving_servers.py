"""Real servers whose handlers hold a slot: an upstream counts that never more
are inside than there are slots, and all slots come back."""

import contextlib
import http.client
import socket

import pytest

from reserving_servers import (
    FOREVER,
    KINDS,
    PATIENCE,
    RESET,
    get,
    getting,
    go_away,
    load,
    looking,
    serving,
    until,
    upstream,  # noqa: F401
)
from reserving_site import BUDGET, SLOTS

ONE_PROCESS = ["flask-gevent", "flask-uwsgi", "fastapi-hypercorn"]
WITH_FUNCTIONS = ["flask", "django", "drf", "django-asgi"]


@pytest.mark.parametrize("kind", KINDS)
def test_slots_come_back(kind, upstream, shared):
    with serving(kind, upstream, shared) as address, looking(shared) as left:
        with contextlib.ExitStack() as streams:
            open_streams = [streams.enter_context(getting(address, FOREVER))
                            for _ in range(SLOTS)]
            for one in open_streams:
                assert one.status == 200 and one.readline() == b"part\n"
            assert left()[0] == 0 and upstream.inside == SLOTS
            with getting(address, FOREVER) as denied:
                assert denied.status == 429
                assert denied.headers["Retry-After"]
                assert '"site#slots";r=0' in denied.headers["RateLimit"]
            go_away(open_streams[0])
            until(lambda: left()[0] == 1)
            assert get(address, "/stream?parts=3") == 200
            for one in open_streams[1:]:
                go_away(one)
        until(lambda: left()[0] == SLOTS)
        for _ in range(2 * SLOTS):
            with contextlib.suppress(OSError, http.client.HTTPException):
                assert get(address, "/fails") == 500
        until(lambda: left()[0] == SLOTS)
        assert upstream.most == SLOTS and upstream.inside == 0
        # Streams have used what they held, those that threw nothing.
        assert left()[1] == BUDGET - 5 * (SLOTS + 1)
        look_at_usage(kind, address, left)


def look_at_usage(kind, address, left):
    expected = {"/usage": 3, "/garbage": 5}
    if kind in WITH_FUNCTIONS:
        expected |= {"/function": 4}
    if kind in ("flask", "django", "django-asgi"):
        expected |= {"/denied": 0}
    budget = left()[1]
    for path, cost in expected.items():
        assert get(address, path) == (429 if path == "/denied" else 200)
        budget -= cost
        until(lambda: left() == [SLOTS, budget])


@pytest.mark.parametrize("kind", KINDS)
def test_never_more_than_the_slots(kind, upstream, shared):
    more = () if kind in ONE_PROCESS else ("--workers", "2")
    with serving(kind, upstream, shared, *more) as address, looking(
            shared) as left:
        statuses = load(address, 200)
        until(lambda: left()[0] == SLOTS)
    assert set(statuses) <= {200, 429} and upstream.most <= SLOTS
    assert statuses.count(200) >= SLOTS
    assert upstream.times >= statuses.count(200)


@pytest.mark.parametrize("kind", ["asgi", "fastapi", "fastapi-hypercorn"])
def test_websockets(kind, upstream, shared):
    from websockets.exceptions import InvalidStatus
    from websockets.sync.client import connect

    with serving(kind, upstream, shared) as address, looking(shared) as left:
        url = f"ws://{address}/ws"
        with contextlib.ExitStack() as stack:
            sockets = [stack.enter_context(connect(url, open_timeout=PATIENCE))
                       for _ in range(SLOTS)]
            for one in sockets:
                one.send("x")
                assert one.recv() == "part"
            assert left()[0] == 0 and upstream.inside == SLOTS
            with pytest.raises(InvalidStatus) as denied:
                connect(url, open_timeout=PATIENCE)
            assert denied.value.response.status_code == 429
            sockets[0].close()
            until(lambda: left()[0] == 1)
            sockets[1].socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                         RESET)
            sockets[1].socket.close()
            until(lambda: left()[0] == 2)
        until(lambda: left()[0] == SLOTS)
        assert upstream.most == SLOTS
