"""Leases: a hot caller asks Redis now and then, and is never over its limit."""

import asyncio
import os

import pytest
import redis

import limitree
from servers import PATIENT, redis_server

LIMITS = """
schema:
  user:
    children:
      "*":
        limits: {count: 1000, period: 1s, lease: 100ms}
        children:
          trade: {limits: {count: 500, period: 1s, lease: 200ms}}
          slow: {limits: {count: 500, period: 1s}}
"""
TRADE = ("user", "alex", "trade")
MILLISECOND = 10**6


class Clock:
    """A clock for limiters and for Redis, which obeys them."""

    def __init__(self):
        self.now = 1_750_000_000 * 10**9

    def __call__(self):
        return self.now


@pytest.fixture(scope="module", name="server")
def one_server():
    with redis_server() as (url, _):
        yield url


@pytest.fixture(name="clock")
def a_clock():
    return Clock()


@pytest.fixture(name="made")
def limiters(server, clock):
    """Makes limiters of one Redis, as processes have them."""
    all_of_them = []

    def make(kind=limitree.Limiter, **options):
        all_of_them.append(kind(LIMITS, server, clock=clock, timeout=PATIENT,
                                **options))
        return all_of_them[-1]

    make().reset(*TRADE)
    yield make
    for limiter in all_of_them:
        if isinstance(limiter, limitree.Limiter):
            limiter.close()


def use(limiter, clock, requests, path=TRADE):
    """The decisions about requests that come every four milliseconds."""
    decisions = []
    for _ in range(requests):
        clock.now += 4 * MILLISECOND
        decisions.append(limiter.authorize(*path))
    return decisions


def test_a_hot_caller_seldom_asks_redis(made, clock):
    limiter = made()
    decisions = use(limiter, clock, 500)
    assert all(decision.allowed for decision in decisions)
    leased = sum(decision.source == "lease" for decision in decisions)
    stats = limiter.stats()
    assert leased > 400
    assert stats.round_trips < 100
    assert (stats.from_lease, stats.lease_used) == (leased, leased)
    assert stats.leased >= stats.lease_used + stats.lease_lost
    assert f"limitree_lease_used_units_total {leased}\n" in (
        limiter.prometheus())


def test_all_processes_together_keep_to_the_limit(made, clock):
    limiters = [made() for _ in range(3)]
    start = clock.now
    allowed = leased = 0
    while clock.now < start + 2 * 10**9:
        for limiter in limiters:
            clock.now += MILLISECOND // 2
            decision = limiter.authorize(*TRADE)
            allowed += decision.allowed
            leased += decision.source == "lease"
    # 500 at once and 500 a second.
    assert allowed <= 500 + 2 * 500
    assert allowed > 1200
    assert leased > 50


def test_what_is_leased_ends(made, clock):
    limiter = made()
    use(limiter, clock, 100)
    clock.now += 200 * MILLISECOND
    assert limiter.authorize(*TRADE).source == "store"


def test_resets_and_reloads_forget_it(made, clock):
    limiter = made()
    for forget in (lambda: limiter.reset(*TRADE),
                   lambda: limiter.refund(*TRADE),
                   lambda: limiter.reload(LIMITS)):
        assert use(limiter, clock, 100)[-5:][0].allowed
        before = limiter.stats()
        assert before.leased > before.lease_used + before.lease_lost
        forget()
        after = limiter.stats()
        assert after.leased == after.lease_used + after.lease_lost


def test_a_child_has_no_leases(made, clock):
    limiter = made()
    while use(limiter, clock, 1)[0].source != "lease":
        pass
    child = os.fork()
    if child == 0:
        source = limiter.authorize(*TRADE).source
        os._exit(0 if source == "store" else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_only_where_all_levels_have_leases(made, clock):
    limiter = made()
    decisions = use(limiter, clock, 200, ("user", "alex", "slow"))
    assert {decision.source for decision in decisions} == {"store"}


def test_the_option_turns_them_off(made, clock):
    limiter = made(leases="off")
    decisions = use(limiter, clock, 200)
    assert {decision.source for decision in decisions} == {"store"}


def test_a_client_of_the_program_carries_them(server, clock):
    path = server.removeprefix("redis+unix://")
    with redis.Redis(unix_socket_path=path) as client:
        with limitree.Limiter(LIMITS, client, clock=clock,
                              timeout=PATIENT) as limiter:
            limiter.reset(*TRADE)
            decisions = use(limiter, clock, 300)
            assert all(decision.allowed for decision in decisions)
            leased = sum(decision.source == "lease" for decision in decisions)
            assert leased > 200
            assert limiter.stats().lease_used == leased


def test_requests_in_a_loop_are_leased(made, clock):
    async def run():
        async with made(limitree.AsyncLimiter) as limiter:
            sources = []
            for _ in range(300):
                clock.now += 4 * MILLISECOND
                sources.append((await limiter.authorize(*TRADE)).source)
            assert sources.count("lease") > 200
            assert limiter.stats().round_trips < 100

    asyncio.run(run())
