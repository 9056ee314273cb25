"""Decisions through a client of redis-py, beside those of a URL.

On one private server, in turns.  Prints microseconds of each decision, the
median of the rounds: of one thread, of one task, and of 64 tasks at a time.

Usage: client_bench.py [rounds] [seconds]        (5 rounds of 1 second)
"""

import asyncio
import os
import pathlib
import statistics
import sys
import time

import redis
import redis.asyncio

import limitree

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "tests/python"))
from servers import redis_server  # noqa: E402

LIMITS = {"schema": {"user": {"children": {"*": {
    "limits": "1000000 per 1m"}}}}}
ROUNDS = int(sys.argv[1]) if len(sys.argv) > 1 else 5
SECONDS = float(sys.argv[2]) if len(sys.argv) > 2 else 1.0


def blocking(store):
    with limitree.Limiter(LIMITS, store, timeout=5.0) as limiter:
        limiter.authorize("user", "0")
        count, begin = 0, time.perf_counter()
        while time.perf_counter() - begin < SECONDS:
            limiter.authorize("user", str(count % 1000))
            count += 1
        return (time.perf_counter() - begin) / count * 1e6


async def awaited(store, tasks):
    async with limitree.AsyncLimiter(LIMITS, store, timeout=5.0) as limiter:
        await limiter.authorize("user", "0")
        count, begin = 0, time.perf_counter()

        async def work():
            nonlocal count
            while time.perf_counter() - begin < SECONDS:
                await limiter.authorize("user", str(count % 1000))
                count += 1

        await asyncio.gather(*[work() for _ in range(tasks)])
        return (time.perf_counter() - begin) / count * 1e6


async def awaited_client(path, tasks):
    async with redis.asyncio.Redis(unix_socket_path=path) as client:
        return await awaited(client, tasks)


def main():
    with redis_server() as (url, _):
        path = url.removeprefix("redis+unix://")
        client = redis.Redis(unix_socket_path=path)
        kinds = {
            "thread, URL": lambda: blocking(url),
            "thread, redis.Redis": lambda: blocking(client),
            "1 task, URL": lambda: asyncio.run(awaited(url, 1)),
            "1 task, redis.asyncio": lambda: asyncio.run(
                awaited_client(path, 1)),
            "64 tasks, URL": lambda: asyncio.run(awaited(url, 64)),
            "64 tasks, redis.asyncio": lambda: asyncio.run(
                awaited_client(path, 64)),
        }
        found = {name: [] for name in kinds}
        for _ in range(ROUNDS):
            for name, measure in kinds.items():
                found[name].append(measure())
        for name, times in found.items():
            print(f"{name:26}{statistics.median(times):8.1f} us")
        print("load", *(f"{load:.2f}" for load in os.getloadavg()))


main()
