"""Reservations when something goes wrong."""

import asyncio
import os
import subprocess
import sys

import pytest

import limitree
from holding import LIMITS, SHARED, left, reserve
from servers import PATIENT

# ---- Children of fork -------------------------------------------------------

FORKS = """
import os
import sys
import limitree
limits, url, leaves = sys.argv[1:]
with limitree.Limiter(limits, url, timeout="30s") as limiter:
    with limiter.reserve("key", "k", cost={"tokens": 400}) as held:
        child = os.fork()
        if child == 0 and leaves == "by an exception":
            sys.exit()
        if child != 0:
            assert os.waitpid(child, 0)[1] == 0
            levels = limiter.peek("key", "k", cost=0, levels=True).levels
            print(*[level.remaining for level in levels])
            held.settle(tokens=81)
"""


@pytest.mark.parametrize("holding", SHARED, indirect=True)
@pytest.mark.parametrize("leaves", ["at its end", "by an exception"])
def test_a_child_leaves_the_block_of_its_parent(holding, leaves):
    seen = subprocess.run([sys.executable, "-c", FORKS, LIMITS, holding,
                           leaves], check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    assert seen == "59 600 1\n"
    with limitree.Limiter(LIMITS, holding, timeout=PATIENT) as limiter:
        assert left(limiter) == [59, 919, 2]


@pytest.mark.parametrize("holding", SHARED, indirect=True)
def test_a_child_may_settle_what_its_parent_has_reserved(holding):
    with limitree.Limiter(LIMITS, holding, timeout=PATIENT) as limiter:
        with reserve(limiter) as held:
            child = os.fork()
            if child == 0:
                os._exit(0 if held.settle(tokens=81) == 2 else 1)
            assert os.waitpid(child, 0)[1] == 0
        assert left(limiter) == [59, 919, 2]


# ---- Receipts that are none -------------------------------------------------


def test_receipts_that_were_changed(holding):
    with limitree.Limiter(LIMITS, holding, timeout=PATIENT) as limiter:
        held = reserve(limiter)
        receipt = held.receipt
        wrong = [receipt[:i] + other + receipt[i + 1:]
                 for i in range(len(receipt))
                 for other in "AQz.\0" if other != receipt[i]]
        wrong += [receipt[:i] for i in range(len(receipt))]
        wrong += [receipt + "A", receipt + "=", receipt * 2, " " + receipt,
                  receipt.upper(), "", "lr1.", "lr1." + "A" * 65532, "%" * 40]
        for text in wrong:
            for form in (text, text.encode()):
                for ask in (limiter.settle, limiter.cancel,
                            lambda one: limiter.extend(one, "1h")):
                    with pytest.raises(ValueError, match="not a receipt|bytes"):
                        ask(form)
        assert left(limiter) == [59, 600, 1]
        assert limiter.settle(receipt, tokens=81) == 2


def test_receipts_of_another_tree(holding, clock):
    with limitree.Limiter(LIMITS, holding, clock=clock,
                          timeout=PATIENT) as limiter:
        receipt = reserve(limiter).receipt
        for limits, error in [
                ("schema: {other: {limits: 1/s}}", ValueError),
                ("schema: {key: {children: {'*': {limits: 1/s}}}}", None),
                ("schema: {key: {limits: {concurrent: 1, hold: 1s}}}", None),
                (LIMITS.replace("name: tpm", "name: other"), None)]:
            with limitree.Limiter(limits, holding, clock=clock,
                                  timeout=PATIENT) as other:
                if error is None:
                    assert other.settle(receipt) in (0, 1)
                else:
                    with pytest.raises(error):
                        other.settle(receipt)
        assert left(limiter)[1] == 600
        assert limiter.settle(receipt, tokens=81) >= 1
        assert left(limiter)[1] == 919


def test_the_largest_receipt(holding):
    with limitree.Limiter(LIMITS, holding, timeout=PATIENT) as limiter:
        name = "x" * 49_000  # and a third more as base64
        held = limiter.reserve("key", name, cost={"tokens": 1})
        assert 65_000 < len(held.receipt) <= 65_536
        assert limiter.settle(held.receipt, tokens=0) == 2
        long = limiter.reserve("key", name * 2, cost={"tokens": 1})
        with pytest.raises(ValueError, match="at most 65536 bytes"):
            long.receipt
        assert long.cancel() == 2


# ---- asyncio: cancelled at every step ---------------------------------------


async def work(limiter):
    """All that waits, one after the other."""
    async with limiter.reserve("key", "k", cost={"tokens": 400}) as held:
        await held.extend("1m")
        await asyncio.sleep(0)
        await held.settle(tokens=0)
    held = await limiter.reserve("key", "k", cost={"tokens": 300}, hold="9m")
    try:
        await limiter.extend(held.receipt, "10m")
    finally:
        await held.cancel()
    async with await limiter.reserve("key", "k", cost={"tokens": 200}):
        await asyncio.sleep(0)
        raise KeyError


@pytest.mark.parametrize("holding", SHARED, indirect=True)
def test_cancelled_after_any_number_of_steps(holding, clock):
    async def main():
        async with limitree.AsyncLimiter(LIMITS, holding, clock=clock,
                                         timeout=PATIENT) as limiter:
            steps, done = 0, False
            while not done:
                task = asyncio.ensure_future(work(limiter))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
                (outcome,) = await asyncio.gather(task, return_exceptions=True)
                assert isinstance(outcome, (KeyError, asyncio.CancelledError))
                done = isinstance(outcome, KeyError)
                await free(limiter, steps)
                # A server that waits for a processor takes thousands.
                steps += 1 + steps // 20
            return steps

    assert asyncio.run(main()) > 3  # shm:// mostly answers at once


async def free(limiter, steps):
    """Waits until nothing is held."""
    deadline = asyncio.get_running_loop().time() + 60
    while True:
        seen = await limiter.peek("key", "k", cost=0, levels=True)
        rest = [level.remaining for level in seen.levels[1:]]
        if rest == [1000, 2]:
            return
        assert asyncio.get_running_loop().time() < deadline, (steps, rest)
        await asyncio.sleep(0.001)
