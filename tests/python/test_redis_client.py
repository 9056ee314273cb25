"""Limiters whose commands redis-py sends."""

import asyncio
import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
import types
import weakref

import pytest
import redis
import redis.asyncio
from redis.backoff import NoBackoff

import limitree
import test_conformance
import test_conformance_holds
import test_redis
from limitree.redis_client import Tasks, Threads
from servers import PATIENT, redis_server

LIMITS = """
schema:
  user: {children: {"*": {limits: [99, 1, 3600]}}}
  job: {limits: [0, 1, 3600]}
"""


def path_of(url):
    return url.removeprefix("redis+unix://")


@pytest.fixture(scope="module")
def server():
    with redis_server() as found:
        yield found


@pytest.fixture
def path(server):
    path = path_of(server[0])
    with redis.Redis(unix_socket_path=path) as client:
        client.flushall()
    return path


@pytest.fixture
def client(path):
    with redis.Redis(unix_socket_path=path) as client:
        yield client


def made(client, **options):
    return limitree.Limiter(LIMITS, client, **{"timeout": PATIENT, **options})


@contextlib.asynccontextmanager
async def made_async(path, **options):
    """A limiter that asks every time, and its client."""
    async with redis.asyncio.Redis(unix_socket_path=path) as client:
        async with limitree.AsyncLimiter(
                LIMITS, client, **{"timeout": PATIENT, "deny_cache": False,
                                   **options}) as limiter:
            yield limiter, client


# ---- the vectors ------------------------------------------------------------


class Awaited:
    """An AsyncLimiter in the place of a Limiter."""

    loop = None

    def __init__(self, *args, **kwargs):
        self.limiter = limitree.AsyncLimiter(*args, **kwargs)

    def __getattr__(self, name):
        method = getattr(self.limiter, name)
        if name == "reload":
            return method

        async def call(*args, **kwargs):
            return await method(*args, **kwargs)
        return lambda *args, **kwargs: self.loop.run_until_complete(
            call(*args, **kwargs))


@pytest.fixture(scope="module")
def awaited(server):
    """A client for asyncio, whose loop is that of Awaited."""
    loop = Awaited.loop = asyncio.new_event_loop()
    client = redis.asyncio.Redis(unix_socket_path=path_of(server[0]))
    yield client
    loop.run_until_complete(client.aclose())
    loop.close()


@pytest.fixture(scope="module")
def blocking(server):
    with redis.Redis(unix_socket_path=path_of(server[0])) as client:
        yield client


@pytest.mark.parametrize("case", test_conformance.CASES,
                         ids=lambda case: case["id"])
@pytest.mark.parametrize("kind", ["redis", "asyncio"])
def test_vector(case, kind, blocking, awaited):
    store, make = ((blocking, limitree.Limiter) if kind == "redis"
                   else (awaited, Awaited))
    test_conformance.run(case, store, make, timeout=PATIENT,
                         prefix=f"{kind}:{case['id']}:")


@pytest.mark.parametrize("case", test_conformance_holds.CASES,
                         ids=lambda case: case["id"])
@pytest.mark.parametrize("kind", ["redis", "asyncio"])
def test_vector_of_holds(case, kind, blocking, awaited):
    store, make = ((blocking, limitree.Limiter) if kind == "redis"
                   else (awaited, Awaited))
    runner = test_conformance_holds.Runner(
        store, make, timeout=PATIENT, prefix=f"{kind}:{case['id']}:")
    test_conformance_holds.play(runner, case)


# ---- redis.Redis ------------------------------------------------------------


def test_shares_with_a_url(client, server):
    with made(client) as one, made(server[0], deny_cache=False) as other:
        assert one.ping() > 0
        assert one.authorize("job").allowed
        assert other.authorize("job").limited
        one.reset("job")
        assert other.peek("job").allowed
        assert one.stats().connects == 0
        assert repr(one) == "<limitree.Limiter redis.Redis>"


def test_threads_admit_the_limit(client):
    with made(client) as limiter:
        test_redis.check_threads(limiter)


@pytest.mark.parametrize("options", [
    {}, {"decode_responses": True}, {"protocol": 2}, {"protocol": 3}])
def test_settings_of_the_client(path, options):
    with redis.Redis(unix_socket_path=path, **options) as client:
        with made(client) as limiter:
            assert limiter.authorize("user", "m\u00fcller\0").remaining == 99
            assert limiter.authorize("user", "m\u00fcller\0").remaining == 98


def test_scripts_are_loaded_again(client):
    with made(client) as limiter:
        assert limiter.authorize("user", "alex").allowed
        client.script_flush()
        assert limiter.authorize("user", "alex").remaining == 98


class Fake:
    """A client with the answers of a function."""

    def __init__(self, answer):
        self.answer = answer

    def execute_command(self, *args):
        return self.answer(*args)


@pytest.mark.parametrize("answer, error, reason", [
    (b"garbage", limitree.StoreError, "nodecision"),
    ("", limitree.StoreError, "nodecision"),
    (5, limitree.StoreError, "nodecision"),
    (None, limitree.StoreError, "nodecision"),
    (redis.ConnectionError("Connection closed by server."),
     limitree.StoreTimeout, "lost"),
    (redis.ConnectionError("Error 111 connecting to x:1. Refused."),
     limitree.StoreError, "lost"),
    (redis.TimeoutError("Timeout reading from socket"),
     limitree.StoreTimeout, "lost"),
    (redis.exceptions.BusyLoadingError("Redis is loading"),
     limitree.StoreError, "loading"),
    (redis.exceptions.ReadOnlyError("You can't write"),
     limitree.StoreError, "readonly"),
    (redis.exceptions.NoPermissionError("this user has no permissions"),
     limitree.StoreError, "noperm"),
    (redis.exceptions.ResponseError("MISCONF Redis is configured"),
     limitree.StoreError, "misconf"),
    (redis.exceptions.ResponseError("Error compiling script x"),
     limitree.StoreError, "script"),
    (ZeroDivisionError("oops"), limitree.StoreTimeout, "lost"),
    (SystemExit(1), limitree.StoreTimeout, "lost"),
])
def test_trouble(answer, error, reason):
    def execute(*_):
        if isinstance(answer, BaseException):
            raise answer
        return answer

    with made(Fake(execute)) as limiter:
        with pytest.raises(error) as raised:
            limiter.authorize("job")
        assert raised.value.reason == reason


def test_a_client_that_hangs():
    release = threading.Event()
    asked = []

    def hang(*args):
        asked.append(args)
        release.wait(60)

    with made(Fake(hang), timeout="1s", on_store_error="local") as limiter:
        begin = time.monotonic()
        for _ in range(50):
            limiter.authorize("user", "alex")
        assert limiter.authorize("user", "alex").source == "local"
        assert time.monotonic() - begin < 30
        assert len(asked) < 10  # the breaker keeps the others from it
    release.set()


def test_a_closed_client_has_the_policy_of_outages(server, path):
    client = redis.Redis(unix_socket_path=path + "gone",
                         retry=redis.retry.Retry(NoBackoff(), 0))
    with made(client, on_store_error="deny") as limiter:
        decision = limiter.authorize("job")
        assert decision.limited
        assert decision.source == "deny"
        with pytest.raises(limitree.StoreError):
            limiter.ping()


def test_too_many_for_its_threads(monkeypatch):
    monkeypatch.setattr(Threads, "MOST", 1)
    monkeypatch.setattr(Threads, "MOST_WAITING", 2)
    begun, release = threading.Event(), threading.Event()

    def execute(*_):
        begun.set()
        release.wait(60)

    with made(Fake(execute), timeout="30s") as limiter:
        def ask():
            with contextlib.suppress(limitree.StoreError):
                limiter.authorize("job")

        threads = [threading.Thread(target=ask) for _ in range(3)]
        threads[0].start()
        assert begun.wait(30)  # else all of them wait for a moment
        for thread in threads[1:]:
            thread.start()
        sender = limiter._client
        until(lambda: sender._waiting == 2)
        with pytest.raises(limitree.StoreError, match="too many commands"):
            limiter.authorize("job")
        release.set()
        for thread in threads:
            thread.join()


def until(condition):
    late = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < late
        time.sleep(0.001)


def threads_since(before):
    return set(threading.enumerate()) - before


def test_its_threads_end_with_it(client):
    # Threads of the tests before may end meanwhile.
    before = set(threading.enumerate())
    limiter = made(client)
    limiter.authorize("job")
    assert len(threads_since(before)) == 1
    limiter.close()
    until(lambda: not threads_since(before))
    limiter = made(client)
    limiter.authorize("job")
    gone = weakref.ref(limiter)
    del limiter
    gc.collect()
    assert gone() is None
    until(lambda: not threads_since(before))


def test_a_child_asks_by_threads_of_its_own(client):
    with made(client) as limiter:
        assert limiter.authorize("user", "alex").remaining == 99
        child = os.fork()
        if child == 0:
            code = 1
            with contextlib.suppress(BaseException):
                code = limiter.authorize("user", "alex").remaining - 98
            os._exit(code)
        assert os.waitpid(child, 0)[1] == 0
        assert limiter.authorize("user", "alex").remaining == 97


def test_under_gevent(path):
    program = f"""
from gevent import monkey; monkey.patch_all()
import gevent, redis, limitree
client = redis.Redis(unix_socket_path={path!r})
limiter = limitree.Limiter({LIMITS!r}, client, timeout="30s")
def work():
    return sum(limiter.authorize("user", "alex").allowed for _ in range(30))
jobs = [gevent.spawn(work) for _ in range(5)]
gevent.joinall(jobs)
print(sum(job.value for job in jobs), limiter.ping() > 0)
limiter.reset("user", "alex")
print(limiter.authorize("user", "alex").remaining)
"""
    ran = subprocess.run([sys.executable, "-c", program], text=True, timeout=60,
                         capture_output=True)
    assert ran.stdout == "100 True\n99\n", ran.stderr


# ---- redis.asyncio.Redis ----------------------------------------------------


def test_many_tasks_at_once(path):
    async def main():
        async with made_async(path) as (limiter, _):
            decisions = await asyncio.gather(
                *[limiter.authorize("user", "alex") for _ in range(150)])
            assert sum(one.allowed for one in decisions) == 100
            assert await limiter.ping() > 0
            await limiter.reset("user", "alex")
            assert (await limiter.authorize("user", "alex")).remaining == 99
            async with await limiter.reserve("user", "alex"):
                pass

    asyncio.run(main())


def test_an_async_limiter_with_threads(client):
    async def main():
        async with limitree.AsyncLimiter(LIMITS, client,
                                         timeout=PATIENT) as limiter:
            decisions = await asyncio.gather(
                *[limiter.authorize("user", "alex") for _ in range(120)])
            assert sum(one.allowed for one in decisions) == 100
            assert await limiter.ping() > 0

    asyncio.run(main())


def test_blocks_by_a_client_for_asyncio(path):
    limits = {"schema": {"user": {"children": {"*": {
        "limits": ["9/minute", {"block": True}]}}}}}

    async def main():
        async with (
                redis.asyncio.Redis(unix_socket_path=path) as client,
                limitree.AsyncLimiter(limits, client, timeout=PATIENT) as one):
            await one.block("user", "alex", duration="1d")
            assert (await one.authorize("user", "alex")).limited
            await one.unblock("user", "alex")
            assert (await one.authorize("user", "alex")).allowed
            assert repr(one) == "<limitree.AsyncLimiter redis.asyncio.Redis>"

    asyncio.run(main())


def test_messages_name_no_files(path):
    client = redis.asyncio.Redis(unix_socket_path=path)
    limiter = limitree.AsyncLimiter(LIMITS, client)._limiter
    with pytest.raises(limitree.StoreError) as raised:
        limiter.ping()  # outside of an event loop
    assert str(raised.value).endswith(
        "redis.asyncio.Redis answers in an event loop: use AsyncLimiter")
    limiter.close()


def test_an_error_without_a_text_ends_no_thread():
    class Silent(Exception):
        def __str__(self):
            raise ValueError

    client = Fake(lambda *_: (_ for _ in ()).throw(Silent))
    client.connection_pool = types.SimpleNamespace(max_connections=1)
    with made(client, on_store_error="allow") as limiter:
        assert limiter.authorize("job").source == "allow"
        client.answer = lambda *_: b"garbage"
        assert limiter.ping() > 0  # by the same thread


def test_a_client_for_asyncio_needs_an_async_limiter(path):
    client = redis.asyncio.Redis(unix_socket_path=path)
    with pytest.raises(TypeError, match="redis.asyncio.Redis answers in an "
                                        "event loop: use AsyncLimiter"):
        made(client)


class FakeAsync:
    def __init__(self, answer):
        self.answer = answer

    async def execute_command(self, *args):
        return await self.answer(*args)


def test_a_client_for_asyncio_that_hangs(monkeypatch):
    monkeypatch.setattr(Tasks, "GRACE", 0)
    cancelled = []

    async def hang(*_):
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def main():
        async with limitree.AsyncLimiter(
                LIMITS, FakeAsync(hang), timeout="1s") as limiter:
            with pytest.raises(limitree.StoreTimeout) as raised:
                await limiter.authorize("job")
            assert raised.value.reason == "timeout"
            while raised.value.reason != "backoff":  # the wait may be 0
                with pytest.raises(limitree.StoreError) as raised:
                    await limiter.authorize("job")
            # The next one that goes out cancels it.
            while not cancelled:
                with contextlib.suppress(limitree.StoreError):
                    await limiter.authorize("job")
                await asyncio.sleep(0.01)

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_client_for_asyncio_that_fails():
    async def fail(*_):
        raise redis.ConnectionError("Connection closed by server.")

    async def main():
        async with limitree.AsyncLimiter(
                LIMITS, FakeAsync(fail), timeout=PATIENT,
                on_store_error="allow") as limiter:
            assert (await limiter.authorize("job")).source == "allow"

    asyncio.run(main())


def test_closing_cancels(path):
    async def main():
        async def hang(*_):
            await asyncio.sleep(60)

        limiter = limitree.AsyncLimiter(LIMITS, FakeAsync(hang),
                                        timeout="30s")
        waiting = asyncio.ensure_future(limiter.authorize("job"))
        await asyncio.sleep(0)
        await limiter.close()
        with pytest.raises(RuntimeError, match="closed"):
            await waiting

    asyncio.run(main())


def test_a_client_for_asyncio_that_wraps_it(path):
    class Traced(redis.asyncio.Redis):
        def execute_command(self, *args, **options):
            return super().execute_command(*args, **options)

    async def main():
        async with (Traced(unix_socket_path=path) as client,
                    limitree.AsyncLimiter(LIMITS, client, timeout=PATIENT
                                          ) as limiter):
            assert (await limiter.authorize("job")).allowed

    asyncio.run(main())


def test_no_client():
    with pytest.raises(TypeError, match="is a class: give a client, Redis"):
        made(redis.Redis)
    with pytest.raises(TypeError, match="give sentinel.master_for"):
        made(redis.sentinel.Sentinel([]))
    for store in (5, object()):
        with pytest.raises((TypeError, limitree.ConfigError), match="store"):
            made(store)
    with pytest.raises(limitree.ConfigError, match="per_second_store"):
        made(Fake(None), per_second_store="redis://localhost")
