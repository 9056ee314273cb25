"""The fixture limitree_clock, for programs that made their limiters before."""

import asyncio
import subprocess
import sys
import threading
import weakref

import fastapi.testclient
import pytest

import limitree
import module_site
from limitree import pytest_plugin
from limitree.testing import ManualClock

WAYS = {
    "bare": lambda: module_site.bare.authorize("job").allowed,
    "decorator": lambda: decorated() is None,
    "awaited": lambda: asyncio.run(
        module_site.awaited.authorize("job")).allowed,
    "configured": lambda: limitree.authorize_action_for_user(
        "alex", "trade") is None,
    "reloaded": lambda: module_site.reloaded.authorize("job").allowed,
    "added": lambda: module_site.reloaded.authorize("added").allowed,
    "descriptors": lambda: not module_site.descriptors.should_rate_limit(
        "job", [{"job": "x"}]).over_limit,
    "flask": lambda: module_site.of_flask.test_client().get(
        "/").status_code == 200,
    "fastapi": lambda: fastapi.testclient.TestClient(
        module_site.of_fastapi).get("/").status_code == 200}


def decorated():
    try:
        module_site.bare.limit("job")(int)()
    except limitree.LimitExceeded as error:
        return error


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("time", ["first", "second"])
def test_limiters_of_modules_begin_again_with_each_test(way, time,
                                                        limitree_clock):
    ask = WAYS[way]
    assert [ask() for _ in range(3)] == [True, True, False]
    limitree_clock.advance(1799)
    assert not ask() or way == "descriptors"  # a window of the clock's hours
    limitree_clock.advance(3601)
    assert [ask() for _ in range(3)] == [True, True, False]


def test_afterwards_they_have_full_buckets_and_the_clock_of_the_system():
    for name in ("bare", "reloaded"):
        limiter = getattr(module_site, name)
        assert limiter.clock is None
        assert limiter.peek("job", cost=0).remaining == 2
    assert module_site.bare.authorize("job", cost=2).allowed
    assert 3500 < module_site.bare.peek("job", cost=0).reset_after < 3600


class Made:
    """As a limiter that a thread makes."""

    def _begin_again(self, clock):
        pass


def test_threads_may_make_limiters_meanwhile(monkeypatch):
    known = weakref.WeakKeyDictionary()
    monkeypatch.setattr(limitree.limiter, "beginnings", known)
    stop = threading.Event()

    def make():
        kept = []
        while not stop.is_set():
            kept.append(Made())
            known[kept[-1]] = None
            if len(kept) > 500:
                kept.clear()

    threads = [threading.Thread(target=make) for _ in range(2)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for thread in threads:
            thread.start()
        for _ in range(10_000):  # one in 300 failed
            pytest_plugin._begin_again(None)
    finally:
        sys.setswitchinterval(before)
        stop.set()
        for thread in threads:
            thread.join()


def test_acquire_moves_the_clock(limitree_clock):
    before = limitree_clock.now_ns
    for _ in range(3):
        module_site.bare.acquire("job")
    assert limitree_clock.now_ns - before == 1800 * 10**9


def test_limiters_with_a_clock_keep_it(limitree_clock):
    own = ManualClock()
    assert limitree.Limiter(module_site.TREE, clock=own).clock is own
    made = limitree.Limiter(module_site.TREE)
    assert made.clock is limitree_clock


def test_what_cannot_begin_again(shared):
    for store in (shared, "redis+unix:///nowhere/redis.sock"):
        with limitree.Limiter(module_site.TREE, store) as limiter:
            assert limiter._beginning is None  # the plugin leaves it alone
            with pytest.raises(RuntimeError, match="idle limiter in memory"):
                limiter._renew([], {"store": store}, None)


def test_a_closed_limiter_stays_closed(limitree_clock):
    with limitree.Limiter(module_site.TREE) as limiter:
        pass
    limiter._begin_again(None)
    with pytest.raises(RuntimeError, match="closed"):
        limiter.authorize("job")


def test_without_the_plugin_nothing_is_kept():
    program = """if True:
        import limitree.limiter
        limiter = limitree.Limiter("schema: {job: {limits: 1/h}}")
        assert limitree.limiter.beginnings is None
        assert limiter._beginning is None
        """
    subprocess.run([sys.executable, "-c", program], check=True)
