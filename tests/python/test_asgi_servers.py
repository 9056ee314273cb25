"""limitree.asgi under real servers, with real clients and a real Redis."""

import asyncio
import json

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from asgi_servers import SERVERS, serve
from servers import redis_server, suspended

APP = "asgi_site:app"
POLICY = '"ip:*";q=3;w=3600'


@pytest.fixture(scope="module", params=SERVERS)
def site(request):
    with serve(request.param, APP) as (address, _):
        yield request.param, address


def from_address(client):
    return {"x-forwarded-for": f"1.1.1.1, {client}"}


def test_four_requests(site):
    server, address = site
    headers = from_address("203.0.113.1")
    with httpx.Client(base_url=address, headers=headers) as client:
        answers = [client.get("/") for _ in range(4)]
        assert [one.status_code for one in answers] == [200, 200, 200, 429]
        assert answers[0].text == (
            "uvloop" if server.endswith("uvloop") else "asyncio")
        for left, one in zip([2, 1, 0, 0], answers):
            assert one.headers["ratelimit-policy"] == POLICY
            assert one.headers["ratelimit"].startswith(f'"ip:*";r={left};t=')
        assert "retry-after" not in answers[2].headers
        denied = answers[3]
        assert denied.headers["content-type"] == "application/problem+json"
        assert denied.headers["cache-control"] == "no-store"
        assert 1190 <= int(denied.headers["retry-after"]) <= 1200
        assert denied.json()["violated-policies"] == ["ip:*"]
        # A denied request with a body leaves the connection in order.
        assert client.post("/", content=b"x" * 100_000).status_code == 429
        assert client.get("/events").json() == ["lifespan.startup"]
        assert "ratelimit" not in client.get("/static/a.css").headers
        # Only the proxy's entry counts: 1.1.1.1, which the client may have made
        # up, is the same as before.
        assert client.get("/", headers=from_address("203.0.113.99")
                          ).status_code == 200


def test_streams_have_headers(site):
    _, address = site
    with httpx.stream("GET", f"{address}/stream",
                      headers=from_address("203.0.113.2")) as answer:
        assert answer.headers["ratelimit-policy"] == POLICY
        assert list(answer.iter_lines()) == ["0", "1", "2"]


def test_websockets(site):
    _, address = site
    url = address.replace("http", "ws") + "/ws"
    headers = from_address("203.0.113.3")

    async def talk():
        for left in (2, 1, 0):
            async with connect(url, additional_headers=headers) as socket:
                told = socket.response.headers
                assert told["RateLimit"].startswith(f'"ip:*";r={left};t=')
                await socket.send("hello")
                assert await socket.recv() == "hello"
        with pytest.raises(InvalidStatus) as denied:
            async with connect(url, additional_headers=headers):
                pass
        return denied.value.response

    answer = asyncio.run(talk())
    assert answer.status_code == 429
    assert int(answer.headers["Retry-After"]) > 1000
    assert json.loads(answer.body)["status"] == 429


@pytest.mark.parametrize("server", SERVERS)
def test_two_processes_share_a_redis(server, tmp_path):
    ended = tmp_path / "ended"
    headers = from_address("203.0.113.4")

    async def ask(addresses):
        async with httpx.AsyncClient(headers=headers, timeout=30) as client:
            return await asyncio.gather(*[
                client.get(addresses[i % 2]) for i in range(30)])

    with redis_server() as (store, redis):
        with (serve(server, APP, STORE=store, ENDED=str(ended)) as (one, _),
              serve(server, APP, STORE=store) as (other, _)):
            answers = asyncio.run(ask([one, other]))
            statuses = sorted(answer.status_code for answer in answers)
            assert statuses == [200] * 3 + [429] * 27

            # When Redis dies, no worker hangs, and each answers 503.
            redis.kill()
            redis.wait()
            for address in one, other:
                answer = httpx.get(address, headers=from_address("203.0.113.5"),
                                   timeout=30)
                assert answer.status_code == 503
                assert answer.headers["content-type"] == (
                    "application/problem+json")
                assert httpx.get(f"{address}/events").status_code == 200
    # When the server ended, the application's own lifespan ended, too.
    assert json.loads(ended.read_text()) == ["lifespan.startup",
                                             "lifespan.shutdown"]


def test_the_loop_goes_on_while_redis_hangs():
    async def ask(address, redis):
        async with httpx.AsyncClient(base_url=address, timeout=30) as client:
            assert (await client.get("/")).status_code == 200
            with suspended(redis):
                waiting = [asyncio.create_task(client.get("/"))
                           for _ in range(20)]
                answered = 0
                while not all(task.done() for task in waiting):
                    assert (await client.get("/events")).status_code == 200
                    answered += 1
                answers = await asyncio.gather(*waiting)
            return answers, answered

    with redis_server() as (store, redis):
        with serve("uvicorn-uvloop", APP, STORE=store,
                   TIMEOUT="2s") as (address, _):
            answers, answered = asyncio.run(ask(address, redis))
    assert {answer.status_code for answer in answers} == {503}
    assert answered > 25  # a loop that waits answers between them at most


def test_a_server_starts_without_its_store():
    with serve("uvicorn", APP, STORE="redis+unix:///nowhere/redis.sock",
               ON_STORE_ERROR="allow") as (address, _):
        assert httpx.get(address).status_code == 200
