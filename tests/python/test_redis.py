"""The limiters on a store that has to be asked over a socket."""

import asyncio
import gc
import os
import signal
import threading
import time

import pytest

import limitree
from limitree.aio import _PEEK
from servers import PATIENT, redis_server, suspend, suspended, until

LIMITS = """
schema:
  user: {children: {"*": {limits: [99, 1, 3600]}}}
  job: {limits: [0, 1, 3600]}
"""


@pytest.fixture(scope="module")
def server():
    with redis_server() as found:
        yield found


@pytest.fixture
def url(server):
    limiter = limitree.Limiter(LIMITS, server[0], timeout=PATIENT)
    for path in (["job"], ["user", "alex"]):
        limiter.reset(*path)
    limiter.close()
    return server[0]


def made(url, **options):
    return limitree.Limiter(LIMITS, url, **{"timeout": PATIENT, **options})


def made_async(url, **options):
    """Makes a limiter without the deny cache, so that it asks every time."""
    return limitree.AsyncLimiter(
        LIMITS, url, **{"timeout": PATIENT, "deny_cache": False, **options})


# ---- Limiter ----------------------------------------------------------------


def test_two_limiters_share(url):
    with made(url) as one, made(url) as other:
        assert one.ping() > 0
        assert one.authorize("job", levels=True).levels[0].charged
        assert other.authorize("job").limited
        assert other.authorize("job").source == "deny_cache"
        one.refund("job")
        assert one.authorize("job").allowed
        assert one.stats().round_trips >= 3
        assert one.reset("job") is None


def check_threads(limiter):
    """Eight threads get no more than the limit, and no less."""
    admitted = []

    def work():
        for _ in range(40):
            admitted.append(limiter.authorize("user", "alex").allowed)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(admitted), len(admitted)) == (100, 320)


def test_threads_admit_the_limit(url):
    with made(url) as limiter:
        check_threads(limiter)


def test_other_threads_run_meanwhile(server):
    """The interpreter's lock is released while the server does not answer."""
    url, process = server
    with made(url, timeout="2s") as limiter:
        limiter.ping()
        with suspended(process):
            asking = threading.Thread(target=pytest.raises, args=(
                limitree.StoreTimeout, limiter.authorize, "job"))
            asking.start()
            steps = 0
            while asking.is_alive():
                steps += 1
                time.sleep(0.001)
        assert steps > 20


def test_closed_by_another_thread_meanwhile(server):
    url, process = server
    limiter = made(url, timeout="2s")
    limiter.ping()
    with suspended(process):
        errors = []

        def ask():
            try:
                limiter.authorize("job")
            except limitree.StoreTimeout as error:
                errors.append(error)

        asking = threading.Thread(target=ask)
        asking.start()
        until(lambda: limiter._busy == 1)
        limiter.close()
        asking.join()
    assert len(errors) == 1 and errors[0].reason
    assert isinstance(errors[0], TimeoutError)
    with pytest.raises(RuntimeError, match="closed"):
        limiter.authorize("job")


def test_no_server(tmp_path):
    with made(f"redis+unix://{tmp_path}/nobody") as limiter:
        with pytest.raises(limitree.StoreError) as caught:
            limiter.authorize("job")
        assert caught.value.reason
        assert not isinstance(caught.value, limitree.StoreTimeout)
        with pytest.raises(limitree.StoreError):
            limiter.ping()


@pytest.mark.parametrize("answer", ["allow", "deny", "local"])
def test_on_store_error(tmp_path, answer):
    with made(f"redis+unix://{tmp_path}/nobody",
              on_store_error=answer) as limiter:
        decision = limiter.authorize("job")
        assert decision.source == answer and decision.degraded
        assert decision.allowed is (answer != "deny")


def test_async_function_needs_the_other_limiter(url):
    async def job():
        pass

    with made(url) as limiter:
        with pytest.raises(TypeError, match="use AsyncLimiter"):
            limiter.limit("job")(job)


# ---- AsyncLimiter -----------------------------------------------------------


def test_tasks_admit_the_limit(url):
    async def main():
        async with made_async(url) as limiter:
            answers = await asyncio.gather(*(
                limiter.authorize("user", "alex") for _ in range(320)))
            assert sum(answer.allowed for answer in answers) == 100
            assert (await limiter.peek("user", "alex", cost=0)).limit == 100

    asyncio.run(main())


@pytest.mark.parametrize("count", [10, 1000])
def test_a_busy_event_loop_costs_nobody_an_answer(url, count):
    async def main():
        async with made_async(url, timeout="2s") as limiter:
            await limiter.ping()
            for turns in range(3):  # asked, sent, perhaps answered
                asked = [asyncio.ensure_future(
                    limiter.authorize("user", "alex")) for _ in range(count)]
                for _ in range(turns):
                    await asyncio.sleep(0)
                time.sleep(2.5)  # but the server is healthy
                answers = await asyncio.gather(*asked)
                assert {answer.source for answer in answers} == {"store"}
            assert limiter.stats().store_errors == 0

    asyncio.run(main())


def test_what_a_turn_asks_for_leaves_with_it(url):
    async def main():
        async with made_async(url) as limiter:
            await limiter.authorize("user", "alex")
            asked = [asyncio.ensure_future(limiter.authorize("user", "alex"))
                     for _ in range(10)]
            await asyncio.sleep(0)  # now they have asked
            await asyncio.sleep(0)  # and that turn is over
            with made(url) as other:
                wait = time.monotonic() + 10
                while (other.peek("user", "alex").remaining > 100 - 11
                       and time.monotonic() < wait):
                    time.sleep(0.001)
                assert other.peek("user", "alex").remaining <= 100 - 11
            await asyncio.gather(*asked)

    asyncio.run(main())


def test_all_operations(url):
    async def main():
        async with made_async(url, levels=True) as limiter:
            assert (await limiter.authorize("job")).levels[0].policy == "job"
            assert await limiter.ping() > 0
            await limiter.refund("job")
            assert (await limiter.spend("job", cost=5)).remaining == 0
            await limiter.reset("job")
            paths = [["job"], ("user", b"alex")]
            decision = await limiter.authorize_all(paths, levels=False)
            assert decision.allowed and decision.levels is None
            assert (await limiter.authorize_all(paths)).limited
            decision = await limiter.authorize_all(
                paths, part=["spend_if_fits", "check"])
            assert decision.allowed and decision.shadowed
            call = limiter.authorize_action_for_user
            assert await call("alex", "x") is None
            assert await call("alex", "x", 101)
            with pytest.raises(limitree.LimitExceeded):
                await limiter.limit("job")(main)()

    asyncio.run(main())


def test_wrong_arguments(url):
    async def main():
        async with made_async(url) as limiter:
            for path, cost in [(("job", None), 1), (("job",), 1.5)]:
                with pytest.raises(TypeError, match=r"path\[1\]|cost"):
                    await limiter.authorize(*path, cost=cost)
            with pytest.raises(ValueError, match="unknown root"):
                await limiter.authorize("jobs")
            with pytest.raises(TypeError, match=r"paths\[0\] must be"):
                await limiter.authorize_all(["job"])
            assert (await limiter.authorize("job")).allowed

    asyncio.run(main())


def test_the_loop_runs_while_the_server_hangs(server):
    url, process = server

    async def main():
        async with made_async(url, timeout="2s") as limiter:
            await limiter.ping()
            await limiter.peek("job")
            with suspended(process):
                asking = asyncio.ensure_future(limiter.authorize("job"))
                steps = 0
                while not asking.done():
                    steps += 1
                    await asyncio.sleep(0.001)
            assert isinstance(asking.exception(), limitree.StoreTimeout)
            assert steps > 20

    asyncio.run(main())


def test_cancelled(server):
    """The answer for a cancelled task is dropped; other tasks get theirs."""
    url, process = server

    async def main():
        async with made_async(url) as limiter:
            await limiter.peek("job")
            with suspended(process):
                tasks = [asyncio.ensure_future(limiter.peek("job"))
                         for _ in range(6)]
                await asyncio.sleep(0.01)
                for task in tasks[::2]:
                    task.cancel()
                await asyncio.sleep(0)
            answers = await asyncio.gather(*tasks, return_exceptions=True)
            assert [type(answer) for answer in answers] == [
                asyncio.CancelledError, limitree.Decision] * 3

    asyncio.run(main())


def test_closed_while_tasks_wait(server):
    url, process = server

    async def main():
        limiter = made_async(url)
        await limiter.peek("job")
        with suspended(process):
            tasks = [asyncio.ensure_future(limiter.peek("job"))
                     for _ in range(3)]
            await asyncio.sleep(0.01)
            await limiter.close()
            answers = await asyncio.wait_for(
                asyncio.gather(*tasks, return_exceptions=True), 60)
        assert [type(answer) for answer in answers] == [RuntimeError] * 3

    asyncio.run(main())


def test_one_loop_after_the_other(server):
    """It works even if the first loop was closed with a pending request."""
    url, process = server
    limiter = made_async(url)

    async def leave():
        await limiter.peek("job")
        suspend(process)
        asyncio.ensure_future(limiter.peek("job"))
        await asyncio.sleep(0.01)

    try:
        asyncio.run(leave())
    finally:
        process.send_signal(signal.SIGCONT)
    for _ in range(3):
        assert asyncio.run(limiter.peek("job")).limit == 1
    asyncio.run(limiter.close())


def test_two_loops_at_once(server):
    url, process = server
    limiter = made_async(url)

    async def main():
        await limiter.peek("job")
        with suspended(process):
            waiting = asyncio.ensure_future(limiter.peek("job"))
            await asyncio.sleep(0.01)
            with pytest.raises(RuntimeError, match="another event loop"):
                await asyncio.to_thread(asyncio.run, limiter.peek("job"))
        assert (await waiting).limit == 1
        await limiter.close()

    asyncio.run(main())


def test_no_loop_comes_between(server):
    """One that asks while another starts a call is told so."""
    url, process = server
    limiter = made_async(url)
    errors = []

    def ask():
        try:
            asyncio.run(limiter.peek("job"))
        except Exception as error:
            errors.append(str(error))

    other = threading.Thread(target=ask)

    def start(make):
        other.start()
        other.join(0.5)  # long enough to come between
        return limiter._limiter._start(_PEEK, ("job",), False, 1, None, make,
                                       None)

    async def main():
        await limiter.peek("job")
        with suspended(process):
            asking = asyncio.ensure_future(limiter._watch.ask_about(start))
            await asyncio.sleep(0)
            await asyncio.to_thread(other.join)
        assert "another event loop waits" in errors[0]
        assert (await asking).limit == 1
        await limiter.close()

    asyncio.run(main())


def test_a_loop_leaves_the_answers_of_another_alone(server):
    """Its call and its reader may be due when the other one takes over."""
    url, process = server
    limiter = made_async(url)

    async def ask():
        return await limiter.peek("job")

    first, second = asyncio.new_event_loop(), asyncio.new_event_loop()
    first.run_until_complete(ask())
    with suspended(process):
        asking = second.create_task(ask())
        second.run_until_complete(asyncio.sleep(0.01))
    ping = made(url)
    ping.ping()  # now the answer is there
    ping.close()
    limiter._watch._run(first)
    assert [one.done() for one in limiter._watch._waiting] == [False]
    assert second.run_until_complete(asking).limit == 1
    second.run_until_complete(limiter.close())
    first.close()
    second.close()


def test_forgotten_with_requests_under_way(server):
    url, process = server

    async def main():
        limiter = made_async(url)
        await limiter.peek("job")
        suspend(process)
        asyncio.ensure_future(limiter.peek("job"))
        await asyncio.sleep(0.01)

    try:
        asyncio.run(main())
    finally:
        process.send_signal(signal.SIGCONT)
    gc.collect()


def test_after_a_fork(url):
    async def use(limiter):
        return (await limiter.authorize("user", "alex")).remaining

    limiter = made_async(url)
    assert asyncio.run(use(limiter)) == 99
    child = os.fork()
    if child == 0:
        try:
            os._exit(asyncio.run(use(limiter)))
        finally:
            os._exit(255)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == 98
    assert asyncio.run(use(limiter)) == 97
