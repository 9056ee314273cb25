"""examples/fastapi under a real server, over HTTP, with a real Redis."""

import asyncio
import pathlib
import time

import httpx

from asgi_servers import serve
from servers import redis_server

FOLDER = pathlib.Path(__file__).parents[2] / "examples/fastapi"


def test_it_is_short():
    assert len((FOLDER / "app.py").read_text().splitlines()) <= 40


def test_two_processes_admit_exactly_the_limit():
    async def trade(addresses):
        async with httpx.AsyncClient(timeout=30) as client:
            return await asyncio.gather(*[
                client.post(f"{addresses[i % 2]}/trade",
                            headers={"x-user": "ann"}) for i in range(40)])

    with redis_server() as (store, _):
        more = {"cwd": FOLDER, "STORE": store, "TIMEOUT": "5s"}
        with (serve("uvicorn-uvloop", "app:app", **more) as (one, _),
              serve("hypercorn", "app:app", **more) as (other, _)):
            before = time.monotonic()
            answers = asyncio.run(trade([one, other]))
            gained = int((time.monotonic() - before) / 1.5)  # on a slow machine
            statuses = [answer.status_code for answer in answers]
            assert set(statuses) == {200, 429}
            assert 6 <= statuses.count(200) <= 6 + gained
            denied = max(answers, key=lambda answer: answer.status_code)
            assert int(denied.headers["retry-after"]) >= 1
            assert denied.json()["violated-policies"] == ["user:*/trade"]
            other_user = httpx.post(f"{one}/trade", headers={"x-user": "bob"})
            assert other_user.status_code == 200

            # Without a user the address counts, as the proxy reports it.
            headers = {"x-forwarded-for": "1.1.1.1, 203.0.113.7"}
            prices = [httpx.get(f"{one}/prices", headers=headers)
                      for _ in range(4)]
            assert [answer.status_code for answer in prices[:3]] == [200] * 3
            told = prices[0].headers["ratelimit-policy"]
            assert told == ('"route:GET/prices/*/3/1s";q=3;w=1, '
                            '"route:GET/prices/*/60/1m";q=60;w=60')
