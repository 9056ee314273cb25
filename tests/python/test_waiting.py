"""acquire and the decorator limit, for threads and for asyncio."""

import asyncio
import inspect
import json
import pathlib
import threading
import time

import pytest

import limitree
from conftest import USERS
from limitree import web
from limitree.testing import ManualClock
from limitree.wait import seconds_of


class Both:
    """A limiter of either kind behind the names of Limiter."""

    def __init__(self, kind, clock):
        self.limiter = kind(USERS, clock=clock)

    def __getattr__(self, name):
        function = getattr(self.limiter, name)
        if not inspect.iscoroutinefunction(function):
            return function
        return lambda *args, **kw: asyncio.run(function(*args, **kw))


@pytest.fixture(params=[limitree.Limiter, limitree.AsyncLimiter])
def either(request, clock):
    return Both(request.param, clock)


def test_a_denial_is_true(either):
    call = either.authorize_action_for_user
    assert call("alex", "trade", 6) is None
    assert call("alex", "trade") and call("alex", "trade").limited


def test_acquire_waits(either, clock):
    start = clock.now_ns
    for _ in range(8):
        assert either.acquire("user", "alex", "trade").allowed
    assert clock.now_ns - start == 3_000_000_000


def test_acquire_gives_up_at_once(either, clock):
    start = clock.now_ns
    either.acquire("job")
    with pytest.raises(limitree.LimitExceeded) as caught:
        either.acquire("job", timeout=59)
    assert caught.value.decision.retry_after == 60
    assert str(caught.value) == "limit exceeded: try again in 60.000 s"
    assert clock.now_ns == start
    assert either.acquire("job", timeout=60).allowed


def test_acquire_of_what_never_fits(either):
    with pytest.raises(limitree.LimitExceeded, match="no wait is long enough"):
        either.acquire("job", cost=2)


def test_acquire_on_the_time_of_the_system():
    limits = "schema: {a: {limits: [0, 50, 1]}, slow: {limits: [0, 1, 3600]}}"
    with limitree.Limiter(limits) as limiter:
        for _ in range(3):
            assert limiter.acquire("a", timeout=30).allowed
        limiter.acquire("slow")
        with pytest.raises(limitree.LimitExceeded):
            limiter.acquire("slow", timeout=0)

    async def main():
        async with limitree.AsyncLimiter(limits) as limiter:
            ticks = []

            async def tick():
                while True:
                    ticks.append(1)
                    await asyncio.sleep(0.001)

            ticking = asyncio.ensure_future(tick())
            for _ in range(3):
                assert (await limiter.acquire("a", timeout=30)).allowed
            ticking.cancel()
            assert ticks
            await limiter.acquire("slow")
            waiting = asyncio.ensure_future(limiter.acquire("slow"))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert limiter.stats().allowed == 4

    asyncio.run(main())


def test_limit(limiter):
    @limiter.limit("user", lambda user, amount: user, "trade",
                   cost=lambda user, amount: amount)
    def trade(user, amount):
        """Trades."""
        return user, amount

    assert trade("alex", 4) == ("alex", 4)
    with pytest.raises(limitree.LimitExceeded) as caught:
        trade("alex", amount=3)
    assert caught.value.decision.remaining == 2
    assert trade("bob", 6) == ("bob", 6)
    assert (trade.__name__, trade.__doc__) == ("trade", "Trades.")


def test_limit_refuses_wrong_segments(limiter):
    @limiter.limit("user", lambda: None)
    def act():
        raise AssertionError("ran without a limit")

    with pytest.raises(TypeError, match=r"path\[1\] must be str or bytes"):
        act()


@pytest.mark.parametrize("kind", [limitree.Limiter, limitree.AsyncLimiter])
def test_limit_of_an_async_function(kind):
    limiter = kind(USERS, clock=ManualClock())

    @limiter.limit("job")
    async def job(value):
        return value

    assert inspect.iscoroutinefunction(job)
    assert asyncio.run(job(7)) == 7
    with pytest.raises(limitree.LimitExceeded):
        asyncio.run(job(7))


def test_async_limit_is_for_async_functions():
    limiter = limitree.AsyncLimiter(USERS)
    with pytest.raises(TypeError, match="not an async function"):
        limiter.limit("job")(print)


def test_memory_answers_without_the_loop():
    """A coroutine that never yields ends at its first step."""
    limiter = limitree.AsyncLimiter(USERS, levels=True)
    calls = [limiter.authorize("job"), limiter.peek("job"),
             limiter.spend("job"), limiter.refund("job"),
             limiter.reset("job", leaf=True), limiter.ping(),
             limiter.authorize_all([["job"]]),
             limiter.authorize_action_for_user("alex", "trade")]
    for call in calls:
        with pytest.raises(StopIteration):
            call.send(None)
    assert limiter.stats().allowed == 3
    assert [one.policy for one in limiter.limit_stats()][-1] == "job"
    assert "limitree" in limiter.prometheus()
    limiter.reload("schema: {job: {limits: [3, 1, 60]}}")
    assert "AsyncLimiter memory://" in repr(limiter)
    with pytest.raises(StopIteration):
        limiter.close().send(None)
    assert limiter.closed


# ---- Mistakes that are reported at once -------------------------------------


@pytest.mark.parametrize("kind", [limitree.Limiter, limitree.AsyncLimiter])
def test_a_decorator_without_a_path(kind):
    limiter = kind("schema: {job: {}}")
    with pytest.raises(TypeError, match="path that begins with a name"):
        @limiter.limit
        async def job():
            pass
    with pytest.raises(TypeError, match="path that begins with a name"):
        limiter.limit()


@pytest.mark.parametrize("timeout", [1.5, "1500ms", "1.5s", "1.5", "1s500ms"])
def test_timeouts(either, clock, timeout):
    either.authorize("user", "alex", "trade", cost=6)
    assert either.acquire("user", "alex", "trade", timeout=timeout).allowed
    with pytest.raises(limitree.LimitExceeded):
        either.acquire("user", "alex", "trade", cost=2, timeout=timeout)


@pytest.mark.parametrize("timeout, error", [
    (float("nan"), ValueError), (True, TypeError), (b"1s", TypeError)])
def test_timeouts_that_are_none(either, timeout, error):
    """They are refused even if no wait is needed."""
    with pytest.raises(error, match="timeout must be seconds or a text"):
        either.acquire("free", timeout=timeout)


DURATIONS = json.loads((pathlib.Path(__file__).parents[1] / "conformance" /
                        "rates.json").read_text())["durations"]


@pytest.mark.parametrize("case", DURATIONS, ids=lambda case: case["text"])
def test_texts_of_durations(either, case):
    text = case["text"]
    if "ns" in case:
        assert seconds_of(text, "timeout") == case["ns"] / 1e9
        assert either.acquire("free", timeout=text).allowed
        return
    with pytest.raises(limitree.ConfigError) as caught:
        either.acquire("free", timeout=text)
    assert caught.value.messages == (f"timeout {case['error']}",)


def test_an_unlimited_timeout(either):
    either.authorize("user", "alex", "trade", cost=6)
    assert either.acquire("user", "alex", "trade",
                          timeout=float("inf")).allowed


# ---- In line ----------------------------------------------------------------


def until(condition):
    end = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.001)


class HeldClock(ManualClock):
    """Nobody wakes up before `go` is set."""

    def __init__(self):
        super().__init__()
        self.go = threading.Event()

    def sleep(self, seconds):
        assert self.go.wait(30)
        self.advance(seconds)


def test_threads_wait_in_line():
    clock = HeldClock()
    with limitree.Limiter(USERS, clock=clock) as limiter:
        limiter.acquire("job")
        order, threads = [], []

        def work(number):
            limiter.acquire("job")
            order.append((number, clock.now_ns))

        start = clock.now_ns
        for number in range(8):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            until(lambda: len(limiter._line) == number + 1)
        assert limiter.stats().limited == 1  # only the first has asked
        clock.go.set()
        for thread in threads:
            thread.join()
        assert order == [(number, start + (number + 1) * 60_000_000_000)
                         for number in range(8)]
        # Each asks, sleeps and asks again; nobody asks in between.
        assert (limiter.stats().allowed, limiter.stats().limited) == (9, 8)
        assert len(limiter._line) == 0


def test_tasks_wait_in_line(clock):
    async def main():
        async with limitree.AsyncLimiter(USERS, clock=clock) as limiter:
            order = []

            async def work(number):
                await limiter.acquire("job")
                order.append((number, clock.now_ns))

            start = clock.now_ns
            await asyncio.gather(*map(work, range(50)))
            assert order == [(number, start + number * 60_000_000_000)
                             for number in range(50)]
            assert limiter.stats().limited == 49
    asyncio.run(main())


def test_a_task_that_is_cancelled_leaves_the_line():
    async def main():
        async with limitree.AsyncLimiter(USERS) as limiter:
            await limiter.acquire("job")
            tasks = [asyncio.ensure_future(limiter.acquire("job"))
                     for _ in range(3)]
            await asyncio.sleep(0)
            assert len(limiter._limiter._line) == 3
            with pytest.raises(limitree.LimitExceeded,
                               match="3 callers are waiting already"):
                await limiter.acquire("job", max_queue=3)
            # Two minutes are for those who came first.
            with pytest.raises(limitree.LimitExceeded):
                await limiter.acquire("job", timeout=0)
            for place in 1, 0, 2:  # the head, and one behind it
                tasks[place].cancel()
                await asyncio.gather(tasks[place], return_exceptions=True)
            assert len(limiter._limiter._line) == 0
            with pytest.raises(ValueError, match="max_queue must be a number"):
                await limiter.acquire("job", max_queue=-1)
    asyncio.run(main())


@pytest.mark.parametrize("timeout", [None, 60])
def test_tasks_in_line_that_are_cancelled_at_once(timeout):
    async def main():
        async with limitree.AsyncLimiter(USERS) as limiter:
            tasks = [asyncio.ensure_future(limiter.acquire(
                "user", "alex", "trade", cost=6, timeout=timeout))
                for _ in range(4)]
            assert (await tasks[0]).allowed
            for task in tasks[1:]:
                task.cancel()
            ends = await asyncio.gather(*tasks[1:], return_exceptions=True)
            assert [type(end) for end in ends] == [asyncio.CancelledError] * 3
            assert limiter.stats().allowed == 1
    asyncio.run(main())


def test_who_would_wait_too_long_in_line_gives_up_at_once():
    limits = "schema: {a: {limits: [9, 1, 60]}}"
    with limitree.Limiter(limits) as limiter:
        limiter.spend("a", cost=10)
        # It sleeps until the process ends.
        threading.Thread(target=limiter.acquire, args=("a",),
                         daemon=True).start()
        until(lambda: len(limiter._line) == 1)
        with pytest.raises(limitree.LimitExceeded) as caught:
            limiter.acquire("a", timeout=100)
        assert 60 < caught.value.decision.retry_after <= 120
        with pytest.raises(limitree.LimitExceeded, match="1 callers"):
            limiter.acquire("a", max_queue=1)
        with pytest.raises(limitree.LimitExceeded):
            limiter.acquire("a", cost={"request": 1}, timeout=0.01)
        assert len(limiter._line) == 1


@pytest.mark.parametrize("options", [{"max_queue": 1}, {"timeout": 0.01}])
def test_who_gives_up_is_denied_though_its_cost_fits(options):
    limits = "schema: {a: {limits: [9, 1, 60]}}"

    async def main():
        async with limitree.AsyncLimiter(limits) as limiter:
            await limiter.spend("a", cost=5)
            asyncio.ensure_future(limiter.acquire("a", cost=10))
            await asyncio.sleep(0)
            await limiter.acquire("a", **options)

    limiter = limitree.Limiter(limits)
    limiter.spend("a", cost=5)
    # It sleeps until the process ends.
    threading.Thread(target=limiter.acquire, args=("a",), kwargs={"cost": 10},
                     daemon=True).start()
    until(lambda: len(limiter._line) == 1)
    for ask in (lambda: limiter.acquire("a", **options),
                lambda: asyncio.run(main())):
        with pytest.raises(limitree.LimitExceeded) as caught:
            ask()
        assert caught.value.decision.limited
        assert 200 < caught.value.decision.retry_after <= 300
        assert "no wait is long enough" not in str(caught.value)
        assert web.answer_to(caught.value).status == 429


def test_who_gives_up_while_the_first_is_asking():
    """Nobody knows yet that the first has to wait."""
    error = limitree.LimitExceeded(limitree.Limiter(USERS).peek("job"))
    answer = web.answer_to(error)
    assert answer.status == 429
    assert dict(answer.headers)["Retry-After"] == "1"
