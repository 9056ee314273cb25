"""limitree.django behind real servers, asked by a real client."""

import asyncio
import collections
import contextlib
import json
import signal
import threading
import time

import httpx
import pytest
from asgiref.sync import SyncToAsync
from django.test import AsyncClient, override_settings

import django_site
from servers import redis_server, suspend
from web_servers import gunicorn, uvicorn


def settings(**changed):
    """The environment of a server with these settings."""
    return {"LIMITREE_TEST": json.dumps(changed)}


@contextlib.contextmanager
def served(kind, **changed):
    """Yields a client of a server, with several workers if it has a store."""
    workers = ["--workers", "3" if changed else "1"]
    if kind == "asgi":
        server = uvicorn("django_site:asgi", *workers, **settings(**changed))
    else:
        more = {"sync": [], "preload": ["--preload"],
                "threads": ["--threads", "6"]}[kind]
        server = gunicorn("django_site:application", *workers, *more,
                          **settings(**changed))
    with server as address, httpx.Client(base_url=address) as client:
        yield client


def statuses(client, urls, times, threads=6):
    """Returns how often each status came, of requests at the same time."""
    found = collections.Counter()

    def work():
        with httpx.Client(base_url=client.base_url, timeout=30) as own:
            for turn in range(times // threads):
                url = urls[turn % len(urls)]
                found[own.get(url).status_code] += 1

    workers = [threading.Thread(target=work) for _ in range(threads)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return found


@pytest.mark.parametrize("kind", ["sync", "preload", "threads", "asgi"])
def test_workers_admit_the_limit_together(kind):
    with redis_server() as (url, _):
        admit_together(kind, url)


@pytest.mark.parametrize("kind", ["preload", "asgi"])
def test_workers_share_a_file(kind, shared):
    admit_together(kind, shared)


def admit_together(kind, store):
    with served(kind, STORE=store, TIMEOUT="10s") as client:
        urls = ["/hard?user=alex", "/async/hard?user=alex"]
        found = statuses(client, urls, 120)
        assert found == {200: 50, 429: 70}
        for url in urls:
            response = client.get(url)
            assert response.status_code == 429
            assert response.headers["Retry-After"]
            assert response.json()["status"] == 429


@pytest.mark.parametrize("kind, url", [
    ("sync", "/stream"), ("asgi", "/async/stream"), ("asgi", "/stream")])
def test_streams(kind, url):
    with served(kind) as client:
        for left in range(5, -1, -1):
            with client.stream("GET", url, params={"user": "a"}) as response:
                assert f'"user:*/trade";r={left}' in (
                    response.headers["RateLimit"])
                assert response.read() == b"ab"
        assert client.get(url, params={"user": "a"}).status_code == 429


@pytest.mark.parametrize("kind, policy, expected", [
    ("sync", "raise", {503: 60}), ("asgi", "raise", {503: 60}),
    ("sync", "allow", {200: 60}), ("asgi", "deny", {429: 60}),
    ("sync", "local", {200: 50, 429: 10}),
    ("asgi", "local", {200: 50, 429: 10})])
def test_the_store_is_gone(kind, policy, expected):
    url = "/async/hard?user=a" if kind == "asgi" else "/hard?user=a"
    with redis_server() as (store, process):
        # One worker: with "local", each worker would count by itself.
        environment = settings(STORE=store, ON_STORE_ERROR=policy,
                               TIMEOUT="2s")
        server = (uvicorn("django_site:asgi", **environment) if kind == "asgi"
                  else gunicorn("django_site:application", **environment))
        with server as address, httpx.Client(base_url=address) as client:
            assert client.get(url).status_code == 200
            process.kill()
            process.wait()
            found = statuses(client, [url], 60)
            assert found == expected
            failed = client.get(url)
            if policy == "raise":
                assert failed.headers["Retry-After"] == "1"
                assert store not in failed.text


# ---- Nothing blocks the event loop ------------------------------------------


def hops_of(url, **changed):
    """Returns how often an ASGI request goes to a thread, and its status.

    Django itself does so for signals.
    """
    found = []
    before = SyncToAsync.__call__

    async def counted(self, *args, **kwargs):
        found.append(self.func)
        return await before(self, *args, **kwargs)

    with override_settings(LIMITREE={"LIMITS": django_site.LIMITS, **changed}):
        SyncToAsync.__call__ = counted
        try:
            response = asyncio.run(AsyncClient().get(url))
        finally:
            SyncToAsync.__call__ = before
    return len(found), response.status_code


@pytest.mark.parametrize("store", ["memory", "redis"])
def test_no_thread_for_a_request(store):
    middleware = [one for one in django_site.settings.MIDDLEWARE
                  if "limitree" in one]
    with contextlib.ExitStack() as stack:
        more = {"DEFAULT": "1000/m"}
        if store == "redis":
            url, _ = stack.enter_context(redis_server())
            more |= {"STORE": url, "TIMEOUT": "5s"}
        stack.enter_context(override_settings(MIDDLEWARE=[]))
        alone, _ = hops_of("/async/trade?user=a", ENABLED=False)
        stack.enter_context(override_settings(MIDDLEWARE=middleware))
        for _ in range(6):
            assert hops_of("/async/trade?user=a", **more) == (alone, 200)
            assert hops_of("/async/class?user=b", **more) == (alone, 200)
            if store == "memory":  # its buckets are new each time
                break
        if store == "redis":
            # Django logs statuses of 400 and above in one more thread.
            denied = hops_of("/async/trade?user=a", **more)
            assert denied == (alone + 1, 429)


def test_other_requests_go_on_while_redis_hangs():
    with redis_server() as (url, process), override_settings(
            MIDDLEWARE=["limitree.django.LimitreeMiddleware"],
            LIMITREE={"LIMITS": django_site.LIMITS, "STORE": url,
                      "TIMEOUT": "2s", "DEFAULT": "10/m",
                      "ON_STORE_ERROR": "raise",
                      "EXEMPT": ["/async/class"]}):
        async def main():
            client = AsyncClient()
            assert (await client.get("/async/trade?user=a")).status_code == 200
            suspend(process)
            steps = 0
            for path in ("/async/trade?user=b", "/async/class?user=b"):
                start = time.monotonic()
                asked = asyncio.ensure_future(client.get(path))
                while not asked.done():
                    steps += 1
                    await asyncio.sleep(0.005)
                assert time.monotonic() - start > 1.9
                assert asked.result().status_code == 503
            return steps

        try:
            steps = asyncio.run(main())
        finally:
            process.send_signal(signal.SIGCONT)
        assert steps > 20  # about 700 on an idle machine
