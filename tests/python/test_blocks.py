"""Callers that are blocked, and denied callers that come back one by one."""

import asyncio
import datetime

import pytest

import limitree
from limitree import AsyncLimiter, Limiter
from limitree.testing import ManualClock
from servers import redis_server

TREE = {"schema": {
    "user": {"children": {"*": {"limits": ["5/hour", {"block": True}]}}},
    "plain": {"limits": "1/hour"}}}


def test_a_block_lasts_as_long_as_it_says():
    clock = ManualClock()
    limiter = Limiter(TREE, clock=clock)
    limiter.block("user", "alex", duration="1d")
    denied = limiter.authorize("user", "alex", levels=True)
    assert denied.retry_after == 86400
    assert dict(denied.headers())["Retry-After"] == "86400"
    limiter.block("user", "alex", duration=datetime.timedelta(seconds=5))
    assert limiter.authorize("user", "alex").retry_after == 5
    clock.advance(5)
    assert limiter.authorize("user", "alex").allowed
    limiter.block("user", "alex", duration=5)
    limiter.unblock("user", "alex")
    assert limiter.authorize("user", "alex").remaining == 3
    for wrong in (0, -1, float("inf")):
        with pytest.raises(ValueError, match="a block must last"):
            limiter.block("user", "alex", duration=wrong)
    with pytest.raises(ValueError, match="block: true"):
        limiter.block("plain", duration=1)
    with pytest.raises(TypeError):
        limiter._block()


def test_every_process_sees_it():
    async def use(url):
        async with AsyncLimiter(TREE, url, timeout="30s") as limiter:
            await limiter.block("user", "alex", duration="1h")
            with Limiter(TREE, url, timeout="30s") as other:
                assert other.authorize("user", "alex").limited
                await limiter.unblock("user", "alex")
                assert other.authorize("user", "alex").allowed
    with redis_server() as (url, _):
        asyncio.run(use(url))


def test_a_store_that_fails_does_not_swallow_it():
    with Limiter(TREE, "redis+unix:///nowhere/redis.sock",
                 on_store_error="local") as limiter:
        with pytest.raises(limitree.StoreError):
            limiter.block("user", "alex", duration="1h")


def test_denials_are_spread_and_waits_are_not():
    clock = ManualClock()
    limiter = Limiter(TREE, clock=clock, retry_spread="100s")
    assert limiter.authorize("plain").allowed
    told = [limiter.authorize("plain") for _ in range(1000)]
    assert {one.next_after for one in told} == {3600}
    places = [0] * 10
    for one in told:
        places[int((one.retry_after - 3600) // 10)] += 1
    assert all(97 <= count <= 103 for count in places), places
    assert limiter.acquire("plain", timeout=3600).allowed
