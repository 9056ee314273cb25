"""Servers whose store or whose workers die while requests hold slots."""

import contextlib
import http.client
import os
import random
import signal
import threading
import time

import pytest

from reserving_servers import (
    FOREVER,
    KINDS,
    get,
    getting,
    load,
    looking,
    serving,
    until,
    upstream,  # noqa: F401
)
from reserving_site import SLOTS
from servers import redis_server


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_dies_while_something_is_held(kind, upstream):
    with redis_server() as (store, redis), serving(
            kind, upstream, store,
            OPTIONS='{"timeout": "10s", "on_store_error": "raise"}') as address:
        with getting(address, "/stream?parts=30") as answer:
            assert answer.status == 200 and answer.readline() == b"part\n"
            redis.kill()
            redis.wait()
            assert answer.read().count(b"part") == 29
        until(lambda: upstream.inside == 0)
        assert get(address, "/stream?parts=1") == 503


@pytest.mark.parametrize("kind, store", [("flask", "shared"),
                                         ("fastapi", "redis")])
def test_workers_that_are_killed(kind, store, upstream, request):
    """The hold is longer than machines stand still, as it should be."""
    with contextlib.ExitStack() as stack:
        url = (stack.enter_context(redis_server())[0] if store == "redis"
               else request.getfixturevalue("shared"))
        address = stack.enter_context(serving(
            kind, upstream, url, "--workers", "4", RESERVE="8s"))
        left = stack.enter_context(looking(url))
        loading = threading.Thread(target=load, args=(address, 1500))
        loading.start()
        killed = 0
        while loading.is_alive() and killed < 6:
            with contextlib.suppress(OSError, http.client.HTTPException):
                os.kill(pid_of(address), signal.SIGKILL)
                killed += 1
            time.sleep(random.uniform(0.1, 0.5))
        loading.join()
        assert killed > 0
        until(lambda: left()[0] == SLOTS and upstream.inside == 0)
        with contextlib.ExitStack() as streams:
            for _ in range(SLOTS):
                one = streams.enter_context(getting(address, FOREVER))
                assert one.status == 200 and one.readline() == b"part\n"
            assert get(address, FOREVER) == 429
        assert upstream.most == SLOTS


def pid_of(address):
    with getting(address, "/pid") as answer:
        return int(answer.read())
