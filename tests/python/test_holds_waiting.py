"""Reservations of tasks, and of other processes."""

import asyncio
import signal
import subprocess
import sys
import time

import pytest

import limitree
from holding import LIMITS, SHARED, Slow, left, reserve
from limitree.delivery import Watch
from servers import PATIENT, redis_server, suspend

# ---- Other processes --------------------------------------------------------


SETTLE = """
import sys
import limitree
limits, url, call, receipt, *rest = sys.argv[1:]
with limitree.Limiter(limits, url, timeout="30s") as limiter:
    print(eval(f"limiter.{call}"))
"""


def elsewhere(url, call, receipt):
    return int(subprocess.run(
        [sys.executable, "-c", SETTLE, LIMITS, url, call, receipt], check=True,
        stdout=subprocess.PIPE, text=True).stdout)


@pytest.mark.parametrize("holding", SHARED, indirect=True)
def test_receipts_are_good_in_other_processes(holding):
    with limitree.Limiter(LIMITS, holding, timeout=PATIENT) as limiter:
        held = reserve(limiter)
        assert elsewhere(holding, "extend(receipt, '1h')", held.receipt) == 2
        settle = "settle(receipt, tokens=81)"
        assert elsewhere(holding, settle, held.receipt) == 2
        assert left(limiter) == [59, 919, 2]
        assert elsewhere(holding, "cancel(receipt)", held.receipt) == 0
        assert held.settle() == 0
        other = limiter.reserve_all([("key", b"k\xff"), ("key", "")],
                                    {"tokens": 5})
        assert elsewhere(holding, "cancel(receipt)", other.receipt) == 4
        assert left(limiter, "key", b"k\xff") == [59, 1000, 2]


@pytest.mark.parametrize("holding", SHARED, indirect=True)
def test_what_a_process_that_ended_has_held(holding):
    with limitree.Limiter(LIMITS, holding, timeout=PATIENT) as limiter:
        program = SETTLE.replace("print(", "held = (") + (
            "    print(held.receipt)")
        receipt = subprocess.run(
            [sys.executable, "-c", program, LIMITS, holding,
             "reserve('key', 'k', cost={'tokens': 7})", ""], check=True,
            stdout=subprocess.PIPE, text=True).stdout.strip()
        assert left(limiter) == [59, 993, 1]
        assert limiter.settle(receipt, tokens=2) == 2
        assert left(limiter) == [59, 998, 2]


# ---- asyncio ----------------------------------------------------------------


def test_awaited(holding, clock):
    async def main():
        async with limitree.AsyncLimiter(LIMITS, holding, clock=clock,
                                         timeout=PATIENT) as limiter:
            held = await limiter.reserve("key", "k", cost={"tokens": 400})
            assert isinstance(held, limitree.AsyncReservation)
            assert held.allowed and held.held == 2 and held.levels is None
            assert await held.extend("1m") == 2
            assert await limiter.extend(held.receipt, 60) == 2
            assert await held.settle(tokens=81) == 2
            assert await held.settle() == await held.cancel() == 0
            held = await limiter.reserve_all([("key", "k")], {"tokens": 5},
                                             hold=9, levels=True)
            assert len(held.levels) == 3
            assert await limiter.settle(held.receipt, {"tokens": 1}) == 2
            held = await limiter.reserve("key", "k", cost={"tokens": 400})
            assert await limiter.cancel(held.receipt) == 2
            async with limiter.reserve("key", "k", cost={"tokens": 8}) as held:
                pass
            async with await limiter.reserve("key", "k",
                                             cost={"tokens": 400}) as held:
                assert await held.settle(tokens=10) == 2
            for error in (KeyError, asyncio.CancelledError):
                with pytest.raises(error):
                    async with limiter.reserve("key", "k",
                                               cost={"tokens": 400}):
                        raise error
            async with limiter.reserve("key", "k",
                                       cost={"tokens": 901}) as held:
                assert held.limited
            with pytest.raises(TypeError, match="`limited` or `allowed`"):
                bool(held)
            with pytest.raises(ValueError, match="no limit counts"):
                async with limiter.reserve("key", "k",
                                           cost={"tokens": 1}) as held:
                    await held.settle(cents=1)
            seen = await limiter.peek("key", "k", cost=0, levels=True)
            return [level.remaining for level in seen.levels]

    assert asyncio.run(main()) == [52, 900, 2]


def test_reserving_in_tasks(holding):
    async def main():
        async with limitree.AsyncLimiter(LIMITS, holding,
                                         timeout=PATIENT) as limiter:
            def reserving():
                return limiter.reserve("key", "k", cost={"tokens": 1})

            first = await asyncio.create_task(reserving())
            other, = await asyncio.gather(reserving())
            third = await asyncio.wait_for(reserving(), 60)
            assert [one.held for one in (first, other, third)] == [2, 2, 0]
            unused = reserving()
            unused.close()
            for wrong, error in (([None], TypeError), (["kez"], ValueError)):
                with pytest.raises(error):
                    await limiter.reserve(*wrong)
            for wrong in ("x", b""):
                with pytest.raises(ValueError, match="not a receipt"):
                    await limiter.settle(wrong)

    asyncio.run(main())


# ---- Tasks that are cancelled -----------------------------------------------


def run_slow(main):
    """Runs `main(limiter, slow)`; `slow` answers the calls of `limiter`."""
    async def run():
        limiter = limitree.AsyncLimiter(LIMITS)
        slow = limiter._limiter = Slow()
        limiter._watch = Watch(slow)
        await main(limiter, slow)
        assert not slow.due and not limiter._watch._waiting
        await limiter.close()

    asyncio.run(run())


async def turn():
    """Lets everything run that can."""
    for _ in range(5):
        await asyncio.sleep(0)


async def asking(limiter, tokens=400):
    """A task that waits for the store."""
    task = asyncio.ensure_future(reserve(limiter, tokens))
    await turn()
    assert not task.done()
    return task


async def cancelled(task):
    with pytest.raises(asyncio.CancelledError):
        await task


def test_waiting():
    async def main(limiter, slow):
        task = await asking(limiter)
        slow.answer()
        held = await task
        assert held.held == 2
        for settling in (held.extend("1m"), held.settle(tokens=1)):
            task = asyncio.ensure_future(settling)
            await turn()
            slow.answer()
            assert await task == 2
        assert left(slow) == [59, 999, 2]
        task = await asking(limiter)
        slow.answer(limitree.StoreError("refused", "refused"))
        with pytest.raises(limitree.StoreError):
            await task

    run_slow(main)


def test_cancelled_before_the_answer():
    async def main(limiter, slow):
        task = await asking(limiter)
        task.cancel()
        await cancelled(task)
        slow.answer()
        assert left(slow) == [59, 600, 1]
        await turn()
        assert len(slow.due) == 1
        slow.answer()
        assert left(slow) == [59, 1000, 2]
        await turn()

    run_slow(main)


def test_cancelled_between_the_answer_and_its_turn():
    async def main(limiter, slow):
        task = await asking(limiter)
        slow.answer()
        task.cancel()
        await cancelled(task)
        await turn()
        slow.answer()
        assert left(slow) == [59, 1000, 2]
        await turn()

    run_slow(main)


@pytest.mark.parametrize("error, gives_back", [
    (limitree.StoreTimeout("no answer", "timeout"), 1),
    (limitree.StoreError("refused", "refused"), 0),
    (RuntimeError("the limiter is closed"), 0)])
def test_cancelled_and_not_decided(error, gives_back):
    async def main(limiter, slow):
        task = await asking(limiter)
        task.cancel()
        await cancelled(task)
        slow.answer(error)
        await turn()
        assert len(slow.due) == gives_back
        slow.answer(error)  # nobody hears of it
        await turn()

    run_slow(main)


def test_cancelled_and_denied():
    async def main(limiter, slow):
        task = await asking(limiter, 1001)
        task.cancel()
        await cancelled(task)
        slow.answer()
        await turn()
        assert not slow.due

    run_slow(main)


async def in_block(limiter, slow, body):
    """A task that runs `body(held)` in a block."""
    async def work():
        async with reserve(limiter) as held:
            await body(held)

    task = asyncio.ensure_future(work())
    await turn()
    slow.answer()
    await turn()
    return task


def test_a_block_that_is_cancelled():
    async def main(limiter, slow):
        task = await in_block(limiter, slow, lambda held: asyncio.sleep(99))
        task.cancel()
        await turn()
        assert len(slow.due) == 1  # and the task waits for it
        task.cancel()  # once more
        await cancelled(task)
        slow.answer()
        assert left(slow) == [59, 1000, 2]

    run_slow(main)


def test_a_block_that_is_cancelled_while_it_settles():
    async def main(limiter, slow):
        task = await in_block(limiter, slow,
                              lambda held: held.settle(tokens=81))
        assert len(slow.due) == 1
        task.cancel()
        await cancelled(task)
        slow.answer()
        assert left(slow) == [59, 919, 2]

    run_slow(main)


def test_a_block_that_is_cancelled_at_its_end():
    async def main(limiter, slow):
        task = await in_block(limiter, slow, lambda held: asyncio.sleep(0))
        assert len(slow.due) == 1
        task.cancel()
        await cancelled(task)
        slow.answer()
        assert left(slow) == [59, 600, 2]

    run_slow(main)


def test_cancelled_while_redis_hangs():
    async def main(url, process):
        async with limitree.AsyncLimiter(LIMITS, url,
                                         timeout=PATIENT) as limiter:
            await limiter.peek("plain")
            suspend(process)
            tasks = [asyncio.ensure_future(reserve(limiter, 1))
                     for _ in range(2)]
            await asyncio.sleep(0.02)
            for task in tasks:
                task.cancel()
                await cancelled(task)
            process.send_signal(signal.SIGCONT)
            seen, deadline = [], time.monotonic() + 60
            while seen != [58, 1000, 2]:
                assert time.monotonic() < deadline, seen
                decision = await limiter.peek("key", "k", cost=0, levels=True)
                seen = [level.remaining for level in decision.levels]

    with redis_server() as (url, process):
        asyncio.run(main(url, process))


def test_a_loop_that_ends_first():
    limiter = limitree.AsyncLimiter(LIMITS)
    slow = limiter._limiter = Slow()
    limiter._watch = Watch(slow)

    async def main():
        await asyncio.wait_for(reserve(limiter), 0.01)

    with pytest.raises(asyncio.TimeoutError):
        asyncio.run(main())
    slow.answer()  # it stays held until its end
    assert left(slow) == [59, 600, 1]
