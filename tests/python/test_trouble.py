"""A store that dies, and programs that end, while requests are pending."""

import asyncio
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest

import limitree
from servers import PATIENT, redis_server, suspend

JOBS = "schema: {job: {children: {'*': {limits: [0, 1, 60]}}}, free: {}}"

# Depends on what comes first: the end of the connection, or the timeout.
LOST = (limitree.StoreError, limitree.StoreTimeout)


def test_threads_whose_store_dies():
    """Each thread gets an error, none hangs, and the limiter still works."""
    ends = []

    def ask(limiter):
        try:
            ends.append(limiter.peek("job", "a"))
        except limitree.StoreError as error:
            ends.append(error)

    with redis_server() as (url, process):
        with limitree.Limiter(JOBS, url, timeout="2s") as limiter:
            limiter.ping()
            suspend(process)
            threads = [threading.Thread(target=ask, args=[limiter])
                       for _ in range(8)]
            for thread in threads:
                thread.start()
            time.sleep(0.05)  # on their way
            start = time.monotonic()
            process.kill()
            for thread in threads:
                thread.join(20)
            assert time.monotonic() - start < 10
            assert [type(end) in LOST for end in ends] == [True] * 8
            with pytest.raises(limitree.StoreError):
                limiter.peek("job", "a")
            assert limiter.stats().errors >= 8


def test_tasks_whose_store_dies():
    async def main(url, process):
        async with limitree.AsyncLimiter(JOBS, url, timeout="2s") as limiter:
            await limiter.peek("job", "a")
            suspend(process)
            tasks = [asyncio.create_task(limiter.authorize("job", "a"))
                     for _ in range(50)]
            await asyncio.sleep(0.02)
            assert not any(task.done() for task in tasks)
            process.kill()
            answers = await asyncio.wait_for(
                asyncio.gather(*tasks, return_exceptions=True), 20)
            assert {type(answer) for answer in answers} <= set(LOST)
            with pytest.raises(limitree.StoreError):
                await limiter.authorize("job", "a")

    with redis_server() as (url, process):
        asyncio.run(main(url, process))


@pytest.mark.parametrize("keeper", ["asyncio", "builtins"])
@pytest.mark.parametrize("goes_on", [True, False])
def test_programs_that_end_with_tasks_under_way(goes_on, keeper):
    """Some answers may never be read, and the limiter is not closed.

    A limiter in `builtins` is freed when nothing can be imported any more.
    """
    program = """
        import asyncio, builtins, limitree, os, signal, sys
        limiter = limitree.AsyncLimiter(sys.argv[2], sys.argv[1], timeout="5s")
        globals()[sys.argv[5]].kept = limiter
        async def main():
            await limiter.peek("free")
            await limiter.peek("job", "a")
            os.kill(int(sys.argv[3]), signal.SIGSTOP)
            for _ in range(20):
                asyncio.ensure_future(limiter.peek("job", "a"))
            await asyncio.sleep(0.02)
            if sys.argv[4] == "True":
                os.kill(int(sys.argv[3]), signal.SIGCONT)
        asyncio.run(main())
        print("ended")
        """
    with redis_server() as (url, process):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(program), url, JOBS,
             str(process.pid), str(goes_on), keeper],
            capture_output=True, text=True, timeout=60)
        process.send_signal(signal.SIGCONT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ended\n", "")


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_segments_are_bytes(store):
    """Any bytes are a name: each has its own bucket, and none is refused."""
    names = [b"", b"\xff", b"\xff\xfe", b"a\x00b", b"a:b", b"*", b"\xc3\xa4",
             b"x" * 300, b"{a}", b"%", b"\r\nDEL x"]

    def use(limiter):
        for name in names:
            assert limiter.authorize("job", name).allowed, name
        for name in names:
            assert limiter.authorize("job", name).limited, name
        assert limiter.authorize("job", "\u00e4").limited  # its UTF-8

    if store == "memory":
        use(limitree.Limiter(JOBS))
    else:
        with redis_server() as (url, _):
            use(limitree.Limiter(JOBS, url, timeout=PATIENT))


def test_an_async_limiter_that_is_closed():
    async def main():
        limiter = limitree.AsyncLimiter(JOBS)
        await limiter.close()
        await limiter.close()
        assert limiter.closed
        for ask in (limiter.authorize, limiter.peek, limiter.spend,
                    limiter.refund, limiter.reset):
            with pytest.raises(RuntimeError, match="the limiter is closed"):
                await ask("job", "a")
        for ask in (limiter.authorize_all, limiter.peek_all):
            with pytest.raises(RuntimeError, match="the limiter is closed"):
                await ask([["job", "a"]])
        for look in (limiter.stats, limiter.limit_stats, limiter.prometheus,
                     limiter.reload):
            with pytest.raises(RuntimeError, match="the limiter is closed"):
                look()
        with pytest.raises(RuntimeError, match="the limiter is closed"):
            await limiter.ping()

    asyncio.run(main())
