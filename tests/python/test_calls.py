"""limitree.calls: limits in words on functions; the scenarios play the rest."""

import asyncio

import pytest

import limitree
from conftest import USERS
from limitree.calls import Calls

NOWHERE = "redis+unix:///nowhere/redis.sock"


def test_decorators_of_one_function_are_one_step(limiter, clock):
    calls = Calls(limiter)

    @calls.limit("1/minute", key=lambda user: user)
    @calls.limit("2/hour", ("user", lambda user: user, "trade"))
    def trade(user):
        """Trades."""
        return calls.decision.levels

    assert trade.__doc__ == "Trades."
    assert [level.remaining for level in trade("alex")] == [0, 1, 15, 5]
    assert calls.decision is None
    with pytest.raises(limitree.LimitExceeded) as denied:
        trade("alex")
    assert denied.value.decision.retry_after == 60
    # The denial has charged none: one of two per hour is left for all.
    assert [level.remaining for level in trade("bob")][1] == 0
    assert limiter.peek("user", "alex", "trade").limit == 6
    calls.reset("alex")
    assert calls.levels_of("alex")[0].remaining == 1


def test_what_ends_in_an_error_is_not_charged_by_its_result(limiter):
    calls = Calls(limiter)

    @calls.limit("1/minute", deduct_when=lambda result: result)
    def work(result):
        if result is None:
            raise ValueError("broken")
        return result

    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            work(None)
    assert [work(0), work(1)] == [0, 1]
    with pytest.raises(limitree.LimitExceeded):
        work(0)


def test_a_method_and_a_message(limiter):
    calls = Calls(limiter, strategy="fixed-window")

    class Desk:
        @calls.limit("1/minute", key=lambda self, user: user,
                     error_message=lambda: "later")
        def sell(self, user):
            return user

    assert Desk().sell("alex") == "alex"
    with pytest.raises(limitree.LimitExceeded, match="^later$"):
        Desk().sell("alex")
    assert calls.levels_of("alex")[0].policy.endswith("fixed_window-first")


def test_async_functions(clock):
    async def run():
        async with limitree.AsyncLimiter(USERS, clock=clock) as limiter:
            calls = Calls(limiter)

            async def key(user):
                return user

            @calls.limit("1/minute", key=key, on_breach=lambda found: found)
            async def trade(user):
                return user

            assert await trade("alex") == "alex"
            assert (await trade("alex")).limited
            await calls.reset("alex")
            assert await trade("alex") == "alex"
            with pytest.raises(TypeError, match="give Calls a Limiter"):
                calls.limit("1/minute")(lambda: None)
    asyncio.run(run())


def test_what_cannot_be(limiter):
    async def work():
        pass

    calls = Calls(limiter)
    with pytest.raises(limitree.ConfigError, match='"call"'):
        Calls(limiter)
    with pytest.raises(TypeError, match="needs limits"):
        calls.limit()
    with pytest.raises(limitree.ConfigError, match="period must be"):
        calls.limit("5/fortnight")
    with pytest.raises(TypeError, match="could run an async function"):
        calls.limit("1/minute", key=work)(lambda: None)()
    with limitree.Limiter(USERS, NOWHERE) as remote:
        with pytest.raises(TypeError, match="give Calls an AsyncLimiter"):
            Calls(remote).limit("1/minute")(work)
