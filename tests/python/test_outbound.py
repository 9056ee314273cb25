"""Outbound calls through httpx, sync and async, and requests, to a server."""

import asyncio
import contextlib
import copy
import email.utils
import http.server
import pickle
import threading
import time

import httpx
import pytest
import requests

import limitree
import limitree.httpx
import limitree.requests
from limitree.outbound import WaitTooLong
from limitree.testing import ManualClock


class Server(http.server.ThreadingHTTPServer):
    """Answers with `answers`, each a status and Retry-After, then with 200."""

    daemon_threads = True
    request_queue_size = 100

    def __init__(self):
        self.answers, self.seen = [], []
        super().__init__(("127.0.0.1", 0), _Handler)
        self.host = f"127.0.0.1:{self.server_address[1]}"
        self.url = f"http://{self.host}"


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        status, wait = (self.server.answers.pop(0) if self.server.answers
                        else (200, None))
        self.send_response(status)
        if wait is not None:
            self.send_header("Retry-After", wait)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    with Server() as made:
        threading.Thread(target=made.serve_forever, args=(0.01,),
                         daemon=True).start()
        yield made
        made.shutdown()


class Sync:
    """A client whose `get` returns a status."""

    kind = limitree.Limiter

    @contextlib.contextmanager
    def client(self, *args, **options):
        with httpx.Client(transport=limitree.httpx.LimitTransport(
                *args, **options), timeout=60) as client:
            yield lambda url: client.get(url).status_code


class Requests:
    kind = limitree.Limiter

    @contextlib.contextmanager
    def client(self, *args, **options):
        with requests.Session() as session:
            session.mount("http://", limitree.requests.LimitAdapter(
                *args, **options))
            yield lambda url: session.get(url, timeout=60).status_code


class Async:
    kind = limitree.AsyncLimiter

    @contextlib.contextmanager
    def client(self, *args, **options):
        loop = asyncio.new_event_loop()
        client = httpx.AsyncClient(transport=limitree.httpx.AsyncLimitTransport(
            *args, **options), timeout=60)

        def get(url):
            return loop.run_until_complete(client.get(url)).status_code

        get.client, get.loop = client, loop
        with contextlib.closing(loop):
            yield get
            loop.run_until_complete(client.aclose())


@pytest.fixture(params=[Sync, Async, Requests])
def library(request):
    return request.param()


def limits(text):
    return {"schema": {"host": {"children": {"*": {"limits": text}}}}}


def test_calls_to_each_host_wait(library, server, clock):
    start = clock.now_ns
    limiter = library.kind(limits("6/minute burst 2"), clock=clock)
    with library.client(limiter=limiter, max_wait=None) as get:
        for _ in range(4):
            assert get(f"{server.url}/a") == 200
        assert clock.now_ns - start == 20_000_000_000
        other = server.url.replace("127.0.0.1", "localhost")
        for _ in range(2):  # another host, by its name
            assert get(f"{other}/b") == 200
    assert clock.now_ns - start == 20_000_000_000
    assert server.seen == ["/a"] * 4 + ["/b"] * 2


def test_a_call_that_would_wait_too_long_is_not_sent(library, server, clock):
    limiter = library.kind(limits("1/hour"), clock=clock)
    with library.client(limiter=limiter, max_wait="59m") as get:
        assert get(server.url) == 200
        with pytest.raises(WaitTooLong) as caught:
            get(server.url)
    error = caught.value
    assert isinstance(error, (httpx.TransportError, requests.RequestException))
    assert error.host == server.host
    assert error.retry_after == 3600 and error.decision.limited
    assert str(error) == (f"{server.host} must not be called now: "
                          "try again in 3600.000 s")
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error) and str(again) == str(error)
    assert again.retry_after == 3600
    assert server.seen == ["/"]


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_obeyed(library, server, status):
    clock = ManualClock(1_700_000_000 * 10**9)
    date = email.utils.formatdate(1_700_000_000 + 40, usegmt=True)
    server.answers += [(status, "15"), (200, None), (status, date)]
    limiter = library.kind(limits("1000/second"), clock=clock)
    with library.client(limiter=limiter) as get:
        assert get(server.url) == status
        assert get(server.url) == 200  # the status of a call is not hidden
        assert clock() == 1_700_000_015 * 10**9
        assert get(server.url) == status
        assert get(server.url) == 200
        assert clock() == 1_700_000_040 * 10**9


@pytest.mark.parametrize("status, wait", [
    (429, None), (429, "soon"), (503, "-5"), (429, "0"), (200, "100"),
    (500, "100"), (429, "1, 2"), (429, "Mon, 99 Foo 2000 00:00:00 GMT"),
    (429, "Mon, 1 Jan , 00:00:00 GMT"),
    (429, "Wed, 21 Oct 2015 07:28:00 GMT")])
def test_other_answers_do_not_pause(library, server, clock, status, wait):
    server.answers.append((status, wait))
    start = clock.now_ns
    limiter = library.kind(limits("1000/second"), clock=clock)
    with library.client(limiter=limiter) as get:
        assert get(server.url) == status
        assert get(server.url) == 200
    assert clock.now_ns == start


def test_a_pause_may_be_too_long(library, server, clock):
    server.answers.append((503, "61"))
    limiter = library.kind(limits("1000/second"), clock=clock)
    with library.client(limiter=limiter) as get:
        assert get(server.url) == 503
        with pytest.raises(WaitTooLong) as caught:
            get(server.url)
        assert caught.value.retry_after == 61
        assert caught.value.decision is None
        assert "has asked to wait" in str(caught.value)
        clock.advance(2)
        assert get(server.url) == 200  # it waited for the rest
    assert len(server.seen) == 2


def test_a_line_in_real_time(library, server):
    """20 calls at once, 2 of them at once, then one every 5 ms."""
    begin = time.monotonic()
    with library.client("200/second burst 2") as get:
        if isinstance(library, Async):
            async def all_at_once():
                return await asyncio.gather(*[get.client.get(server.url)
                                              for _ in range(20)])
            answers = get.loop.run_until_complete(all_at_once())
            statuses = [one.status_code for one in answers]
        else:
            statuses = []
            threads = [threading.Thread(
                target=lambda: statuses.append(get(server.url)))
                for _ in range(20)]
            for one in threads:
                one.start()
            for one in threads:
                one.join()
    assert statuses == [200] * 20
    assert time.monotonic() - begin >= 0.09
    assert len(server.seen) == 20


def test_a_queue_is_bounded(server):
    """The second call waits, so the third one gets an error."""
    async def ask():
        async with httpx.AsyncClient(
                transport=limitree.httpx.AsyncLimitTransport(
                    "1/hour", max_wait="2h", max_queue=1)) as client:
            await client.get(server.url)
            waiting = asyncio.create_task(client.get(server.url))
            await asyncio.sleep(0)
            while not waiting.get_coro().cr_await:
                await asyncio.sleep(0)
            with pytest.raises(limitree.httpx.RateLimitExceeded) as caught:
                await client.get(server.url)
            assert "1 callers are waiting already" in str(caught.value)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
    asyncio.run(ask())


def test_an_adapter_is_not_copied():
    """A copy would count by itself, or have no limits at all."""
    with requests.Session() as session:
        session.mount("http://", limitree.requests.LimitAdapter("1/hour"))
        for copied in pickle.dumps, copy.deepcopy:
            with pytest.raises(TypeError, match="cannot be pickled or copied"):
                copied(session)


def test_a_redirect_is_a_call(server, clock):
    limiter = limitree.Limiter(limits("1/minute"), clock=clock)
    paths = []

    def path(request):
        paths.append(request.url.path)
        return "host", request.url.host

    transport = limitree.httpx.LimitTransport(limiter=limiter, path=path)
    with httpx.Client(transport=transport) as client:
        assert client.get(f"{server.url}/one").status_code == 200
        start = clock.now_ns
        assert client.get(f"{server.url}/two").status_code == 200
        assert clock.now_ns - start == 60_000_000_000
    assert paths == ["/one", "/two"]


def test_what_servers_ask_for_is_bounded(clock):
    from limitree import outbound
    pauses = outbound.Pauses(clock)
    for number in range(3000):
        pauses.hear(f"host{number}", 429, "100")
    assert len(pauses._until) == outbound._MOST_HOSTS
    assert pauses.left("host2999") == 100 and pauses.left("host0") == 0
    pauses.hear("host2999", 429, "999999999")
    assert pauses.left("host2999") == outbound._LONGEST
    pauses.hear("host2999", 429, "1")  # the later one holds
    assert pauses.left("host2999") == outbound._LONGEST


def test_wrong_options(library):
    other = (limitree.Limiter if library.kind is limitree.AsyncLimiter
             else limitree.AsyncLimiter)
    for options, message in [
            ({}, "give a limit of each host"),
            ({"limit": "1/s", "limiter": library.kind(limits("1/s"))},
             "give a limit of each host"),
            ({"limit": "1/s", "path": str}, "a path is for a limiter"),
            ({"limiter": other(limits("1/s"))}, "limiter must be a"),
            ({"limit": "1/s", "max_queue": -1}, "max_queue must be"),
            ({"limit": "1/s", "max_wait": "soon"}, "max_wait"),
            ({"limit": "often"}, "often")]:
        with pytest.raises((TypeError, ValueError), match=message):
            with library.client(**options):
                pass
