"""close(drain=...): new calls are refused, running calls may finish."""

import asyncio
import os
import signal
import threading
import time

import pytest

import limitree
from servers import PATIENT, redis_server, suspend
from test_gevent import run

TREE = "schema: {job: {limits: 1000000/s}}"


@pytest.fixture
def stopped():
    """A server that hangs until a test resumes it."""
    with redis_server() as (url, process):
        def stop():
            suspend(process)

        def go_on():
            process.send_signal(signal.SIGCONT)
        yield url, stop, go_on
        go_on()


def outcome(limiter, ends):
    try:
        ends.append(limiter.authorize("job").source)
    except Exception as error:
        ends.append(type(error))


def wait_until(true):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_threads_get_their_answers(stopped):
    url, stop, go_on = stopped
    limiter = limitree.Limiter(TREE, url, timeout=PATIENT)
    limiter.ping()
    stop()
    ends = []
    asking = [threading.Thread(target=outcome, args=(limiter, ends))
              for _ in range(4)]
    for thread in asking:
        thread.start()
    wait_until(lambda: limiter._busy == 4)
    closing = threading.Thread(target=limiter.close, args=("30s",))
    closing.start()
    wait_until(lambda: limiter.closed)
    with pytest.raises(RuntimeError, match="closed"):
        limiter.authorize("job")
    assert closing.is_alive() and not ends
    go_on()
    closing.join(60)
    for thread in asking:
        thread.join(60)
    assert ends == ["store"] * 4 and limiter._busy == 0


def test_threads_that_wait_too_long(stopped):
    url, stop, go_on = stopped
    limiter = limitree.Limiter(TREE, url, timeout="3s")
    limiter.ping()
    stop()
    ends = []
    asking = threading.Thread(target=outcome, args=(limiter, ends))
    asking.start()
    wait_until(lambda: limiter._busy == 1)
    limiter.close(drain=0.05)
    assert limiter.closed and not ends
    asking.join(60)
    assert ends == [limitree.StoreTimeout]


@pytest.mark.parametrize("drain, goes_on, expected", [
    ("30s", True, "store"), (0.05, False, RuntimeError),
    (0, True, RuntimeError)])
def test_tasks(stopped, drain, goes_on, expected):
    url, stop, go_on = stopped

    async def main():
        limiter = limitree.AsyncLimiter(TREE, url, timeout=PATIENT)
        await limiter.authorize("job")
        stop()
        asking = [asyncio.ensure_future(limiter.authorize("job"))
                  for _ in range(3)]
        await asyncio.sleep(0.02)
        closing = asyncio.ensure_future(limiter.close(drain))
        await asyncio.sleep(0.02)
        with pytest.raises(RuntimeError, match="closed"):
            await limiter.authorize("job")
        if goes_on:
            go_on()
        await asyncio.wait_for(closing, 60)
        assert limiter.closed
        ends = await asyncio.gather(*asking, return_exceptions=True)
        return {end.source if isinstance(end, limitree.Decision)
                else type(end) for end in ends}

    assert asyncio.run(main()) == {expected}


def test_greenlets():
    run("""
    limiter.authorize("job")
    os.kill(pid, signal.SIGSTOP)
    asking = [gevent.spawn(limiter.authorize, "job") for _ in range(3)]
    gevent.sleep(0.02)
    closing = gevent.spawn(limiter.close, "30s")
    gevent.sleep(0.02)
    try:
        limiter.authorize("job")
        raise AssertionError("it is closed")
    except RuntimeError:
        pass
    os.kill(pid, signal.SIGCONT)
    closing.get()
    assert all(one.get().allowed for one in asking)
    """)


def closes_in_a_child(limiter):
    """Whether a child of fork waits for no call of this process."""
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            if limiter._busy == 0:
                limiter.close(drain="10m")
                os._exit(0)
        finally:
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def test_children_of_fork(stopped):
    url, stop, go_on = stopped
    with limitree.Limiter(TREE, url, timeout="60s") as limiter:
        limiter.ping()
        stop()
        ends = []
        asking = threading.Thread(target=outcome, args=(limiter, ends))
        asking.start()
        wait_until(lambda: limiter._busy == 1)
        assert closes_in_a_child(limiter)
        assert limiter._busy == 1
        go_on()
        asking.join(60)
        assert ends == ["store"]


def test_children_of_fork_beside_tasks(stopped):
    url, stop, go_on = stopped

    async def main():
        async with limitree.AsyncLimiter(TREE, url, timeout="60s") as limiter:
            await limiter.authorize("job")
            stop()
            asking = asyncio.ensure_future(limiter.authorize("job"))
            await asyncio.sleep(0)
            assert limiter._limiter._busy == 1
            assert closes_in_a_child(limiter._limiter)
            go_on()
            assert (await asking).source == "store"

    asyncio.run(main())


@pytest.mark.parametrize("kind", [limitree.Limiter, limitree.AsyncLimiter])
def test_a_drain_that_is_none(kind):
    limiter = kind(TREE)

    def close(drain):
        done = limiter.close(drain=drain)
        if done is not None:
            asyncio.run(done)

    with pytest.raises(limitree.ConfigError, match="drain must be a duration"):
        close("soon")
    with pytest.raises(TypeError, match="drain must be seconds or a text"):
        close(None)
    assert not limiter.closed
    close("1s")  # nothing is under way
    assert limiter.closed
