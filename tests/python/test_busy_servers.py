"""gunicorn under load: on a machine with more work than processors, while
gunicorn is stopped for a moment, and with a Redis that hangs or dies."""

import asyncio
import collections
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import urllib.parse

import httpx
import pytest

from servers import redis_server, suspend
from shared_files import DIES_WITH_PARENT
from web_servers import gunicorn

SECONDS = float(os.environ.get("LIMITREE_BUSY_SECONDS", "1"))
CONNECTIONS = 50
DEADLINE = 0.05  # of a call to Redis, in seconds
KINDS = {"gthread": ("-k", "gthread", "--threads", "8"),
         "gevent": ("-k", "gevent")}


@contextlib.contextmanager
def served(kind, store, **environment):
    """Yields a server that has answered, so that tests do not see its start."""
    with gunicorn("flask_site:create_busy()", *KINDS[kind], STORE=store,
                  **environment) as url:
        answer = httpx.get(url + "/free", timeout=60)
        assert answer.status_code == 200
        yield url, int(answer.text)  # the process that answers


@contextlib.contextmanager
def busy_processes(count=2):
    """Runs processes that never sleep while the test runs."""
    spin = DIES_WITH_PARENT + "while True: pass"
    spinning = [subprocess.Popen([sys.executable, "-c", spin])
                for _ in range(count)]
    try:
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()


async def ask(host, port, path, until, codes):
    """Sends one request after the other, on one connection while it is open."""
    request = (f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").encode()
    while not until():
        reader, writer = await asyncio.open_connection(host, port)
        with contextlib.closing(writer):
            while not until():
                writer.write(request)
                try:
                    head = await reader.readuntil(b"\r\n\r\n")
                except asyncio.IncompleteReadError:
                    break  # the server closed the connection
                head = head.decode("latin-1").lower()
                codes[int(head.split()[1])] += 1
                size = head.partition("content-length:")[2].split("\r\n")[0]
                await reader.readexactly(int(size))
                if "connection: close" in head:
                    break


async def load(url, path, until):
    """Returns how often each status came."""
    address = urllib.parse.urlsplit(url)
    codes = collections.Counter()
    await asyncio.gather(*(
        ask(address.hostname, address.port, path, until, codes)
        for _ in range(CONNECTIONS)))
    return codes


def for_a_while(seconds):
    end = time.monotonic() + seconds
    return lambda: time.monotonic() > end


class ProcessorMeter:
    """Measures the longest time that a process waited for a processor.

    ``longest`` is in seconds.
    """

    def __init__(self, process):
        self._stat = pathlib.Path(f"/proc/{process.pid}/schedstat")
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._measure)
        self.longest = 0.0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._done.set()
        self._thread.join()

    def _measure(self):
        # The kernel adds a wait when it ends.
        last = self._waited()
        while not self._done.wait(0.002):
            now = self._waited()
            self.longest = max(self.longest, now - last)
            last = now

    def _waited(self):
        return int(self._stat.read_text().split()[1]) / 1e9


@pytest.mark.parametrize("environment", [{}, {"ON_ERROR": "raise"}],
                         ids=["local", "raise"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_busy_machine_is_no_dead_store(kind, environment):
    """The deadline is 50 ms.  With `raise`, each failed call would be a 503."""
    with redis_server() as (store, redis), served(
            kind, store, **environment) as (url, _), busy_processes():
        for _ in range(8):
            with ProcessorMeter(redis) as meter:
                codes = asyncio.run(load(url, "/", for_a_while(SECONDS)))
            # Redis may be too late if it had to wait for a processor itself.
            if set(codes) == {200} or meter.longest < DEADLINE / 2:
                break
    assert set(codes) == {200}, (codes, meter.longest)
    assert codes[200] > CONNECTIONS


async def pause_often(pid, pause):
    """Stops a process several times, as a busy machine does."""
    for _ in range(5):
        await asyncio.sleep(0.1)
        os.kill(pid, signal.SIGSTOP)
        await asyncio.sleep(pause)
        os.kill(pid, signal.SIGCONT)
    await asyncio.sleep(0.1)


@pytest.mark.parametrize("pause", [0.06, 0.5])
@pytest.mark.parametrize("kind", KINDS)
def test_pauses_of_the_server_are_not_those_of_redis(kind, pause):
    """The server pauses for longer than the deadline while Redis answers.  Each
    failed call would be a 503."""
    async def main(url, pid):
        pausing = asyncio.ensure_future(pause_often(pid, pause))
        codes = await load(url, "/", pausing.done)
        await pausing
        return codes

    with redis_server() as (store, redis), served(
            kind, store, ON_ERROR="raise") as (url, pid):
        for _ in range(5):
            with ProcessorMeter(redis) as meter:
                codes = asyncio.run(main(url, pid))
            # Redis may be too late if it had to wait for a processor itself.
            if set(codes) == {200} or meter.longest < DEADLINE / 2:
                break
    assert set(codes) == {200}, (codes, meter.longest)
    assert codes[200] > CONNECTIONS


@pytest.mark.parametrize("kind", KINDS)
def test_a_store_that_hangs_and_dies_under_load(kind):
    """No request is refused, and requests without a limit are not held up."""
    with redis_server() as (store, process), served(kind, store) as (url, _):
        answered = collections.Counter()

        async def trouble(stop):
            phase = "healthy"

            async def free():
                address = urllib.parse.urlsplit(url)
                while not stop.is_set():
                    codes = collections.Counter()
                    await ask(address.hostname, address.port, "/free",
                              lambda: bool(codes), codes)
                    answered[phase] += codes[200]

            asking = asyncio.ensure_future(free())
            await asyncio.sleep(0.5)
            phase = "hangs"
            suspend(process)
            await asyncio.sleep(1)
            process.send_signal(signal.SIGCONT)
            phase = "healthy again"
            await asyncio.sleep(0.5)
            phase = "dead"
            process.kill()
            await asyncio.sleep(1)
            stop.set()
            await asking

        async def main():
            stop = asyncio.Event()
            codes, _ = await asyncio.gather(
                load(url, "/", stop.is_set), trouble(stop))
            return codes

        codes = asyncio.run(main())
    assert set(codes) == {200}, codes
    assert all(answered[phase] for phase in ("hangs", "dead")), answered
