"""What limitree.litellm holds for a request, which ends once."""

import asyncio
import time

import pytest

import limitree
from limitree.errors import StoreError
from limitree.litellm import held as module
from limitree.litellm.held import Held
from limitree.litellm.usage import Usage

TREE = {"schema": {"key": {"children": {"*": {"limits": [
    {"name": "tokens", "count": 100, "period": "1d", "unit": "tokens",
     "hold": "10m"},
    {"name": "slots", "concurrent": 1, "hold": "10m"}]}}}}}
PATIENCE = 60


class Site:
    def __init__(self, clock):
        self.clock = clock
        self.limiter = limitree.AsyncLimiter(TREE, clock=clock)

    async def hold(self, tokens=40, hold=600.0, outer=None):
        reservation = await self.limiter.reserve(
            "key", "k", cost={"tokens": tokens}, hold=hold)
        return Held(reservation, "id", Usage(0, tokens, tokens), hold, outer)

    async def used(self):
        decision = await self.limiter.peek("key", "k", cost=0, levels=True)
        return [level.limit - level.remaining for level in decision.levels]

    async def until(self, used):
        deadline = time.monotonic() + PATIENCE
        while await self.used() != used:
            assert time.monotonic() < deadline, await self.used()
            await asyncio.sleep(0.005)


@pytest.fixture
def site(clock):
    return Site(clock)


def test_it_ends_once(site):
    async def main():
        held = await site.hold()
        await asyncio.gather(
            held.end(lambda: held.reservation.settle(tokens=7)),
            held.end(held.reservation.cancel), held.end(pytest.fail))
        assert await site.used() == [7, 0]
        assert held.has_ended
    asyncio.run(main())


def test_a_cancelled_caller_does_not_stop_the_end(site):
    async def main():
        held = await site.hold()
        gate = asyncio.Event()

        async def settle():
            await gate.wait()
            await held.reservation.settle(tokens=7)

        task = asyncio.create_task(held.end(settle))
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        gate.set()
        await site.until([7, 0])
    asyncio.run(main())


def test_a_request_that_no_hook_ends_is_charged_as_held(site, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 0.01)

    async def main():
        await asyncio.create_task(site.hold())
        await site.until([40, 0])
    asyncio.run(main())


def test_a_hook_may_come_after_the_request(site, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 3600.0)

    async def main():
        held = await asyncio.create_task(site.hold())
        await asyncio.sleep(0.01)
        await held.end(lambda: held.reservation.settle(tokens=7))
        assert await site.used() == [7, 0]
    asyncio.run(main())


def test_a_stream_may_outlive_the_task_of_its_request(site, monkeypatch):
    monkeypatch.setattr(module, "GRACE", 0.0)

    async def main():
        async def begin():
            held = await site.hold()
            held.is_streaming = True
            return held

        held = await asyncio.create_task(begin())
        for _ in range(50):
            await asyncio.sleep(0.001)
        assert await site.used() == [40, 1]
        await held.end(held.reservation.cancel)
        assert await site.used() == [0, 0]
    asyncio.run(main())


def test_it_is_held_on(site):
    async def main():
        held = await site.hold(hold=0.02)
        asked = []
        extend = held.reservation.extend

        async def counted(hold):
            asked.append(await extend(hold))

        held.reservation.extend = counted
        deadline = time.monotonic() + PATIENCE
        while len(asked) < 3:
            assert time.monotonic() < deadline
            await asyncio.sleep(0.005)
        assert set(asked) == {2}
        await held.end(held.reservation.cancel)
        known = len(asked)
        await asyncio.sleep(0.05)
        assert len(asked) == known
    asyncio.run(main())


def test_a_store_that_fails_at_the_end_is_logged(site, caplog):
    async def main():
        held = await site.hold()

        async def fail():
            raise StoreError("the store is down", "refused")

        await held.end(fail)
        assert held.has_ended
    asyncio.run(main())
    assert "stays held until its end: the store is down" in caplog.text


def test_what_holds_nothing_has_ended(site):
    async def main():
        await site.hold()
        denied = await site.hold()
        assert denied.reservation.limited and denied.has_ended
        await denied.end(pytest.fail)
    asyncio.run(main())


def test_ended_requests_are_not_kept(site):
    async def main():
        held = None
        for _ in range(5):
            held = await site.hold(tokens=1, outer=held)
            await held.end(held.reservation.cancel)
        last = await site.hold(tokens=1, outer=held)
        assert last.outer is None
    asyncio.run(main())
