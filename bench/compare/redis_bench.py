"""Limits in Redis from Python: limitree beside its peers, on one server.

Threads: limitree decides two levels and returns a Decision, `limits` decides
one fixed window and returns a bool.  asyncio: limitree's decisions beside
redis.asyncio running the very script that limitree runs, with its arguments.
Each library runs in its own process, on one fresh, private server, and the
libraries alternate.  The output has the median and the result of each round.

CPU is the processor time of the client for each decision.

Usage: redis_bench.py [rounds] [seconds]        (5 rounds of 1 second)
"""

import asyncio
import contextlib
import json
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

LIMIT = "1000000 per 1m"  # no request is denied
LIMITS = {"schema": {"user": {"children": {"*": {
    "limits": LIMIT, "children": {"trade": {"limits": LIMIT}}}}}}}
CALLERS = 1000
THREADS = (1, 16, 64)
IN_FLIGHT = (64, 1024)


# ---- The calls to measure ---------------------------------------------------


def limitree_threads(url, threads):
    import limitree

    authorize = limitree.Limiter(LIMITS, url, timeout=5.0).authorize
    return lambda name: authorize("user", name, "trade")


def limits_threads(url, threads):
    import limits

    storage = limits.storage.storage_from_string(url)
    limiter = limits.strategies.FixedWindowRateLimiter(storage)
    item = limits.parse("1000000/minute")
    hit = limiter.hit
    return lambda name: hit(item, "user", name)


async def limitree_asyncio(url):
    import limitree

    authorize = limitree.AsyncLimiter(LIMITS, url, timeout=5.0).authorize
    return lambda name: authorize("user", name, "trade")


async def redis_asyncio(url):
    import redis.asyncio

    sha, *arguments = await script_of_a_decision(url)
    # More connections than this would be slower.
    pool = redis.asyncio.BlockingConnectionPool.from_url(
        url, max_connections=64, timeout=None)
    run = redis.asyncio.Redis(connection_pool=pool).evalsha
    key = arguments.pop(1)
    first, rest = key.split("caller0")
    return lambda name: run(sha, arguments[0], f"{first}{name}{rest}",
                            *arguments[1:])


async def script_of_a_decision(url):
    """Returns the arguments of limitree's EVALSHA for a decision on caller0."""
    import limitree
    import redis.asyncio

    limiter = limitree.Limiter(LIMITS, url, timeout=5.0)
    limiter.authorize("user", "caller0", "trade")  # loads the script
    async with redis.asyncio.Redis.from_url(url).monitor() as monitor:
        limiter.authorize("user", "caller0", "trade")
        async for command in monitor.listen():
            words = command["command"].split(" ")
            if words[0].upper() == "EVALSHA":
                return words[1:]


# ---- Measuring --------------------------------------------------------------


def cpu():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def summary(latencies, seconds, cpu_seconds):
    latencies.sort()
    count = len(latencies)
    return {"ops": count / seconds, "p50": latencies[count // 2] / 1000,
            "p99": latencies[count * 99 // 100] / 1000,
            "cpu": cpu_seconds / count * 1e6}


def measure_threads(call, threads, seconds):
    found = [[] for _ in range(threads)]
    begin = threading.Barrier(threads + 1)
    end = threading.Event()
    for i in range(10):
        call(f"caller{i}")

    def work(i):
        times, now = found[i], time.perf_counter_ns
        names = [f"caller{(i * 101 + j * 7) % CALLERS}" for j in range(CALLERS)]
        begin.wait()
        j = 0
        while not end.is_set():
            start = now()
            call(names[j])
            times.append(now() - start)
            j = j + 1 if j + 1 < CALLERS else 0

    workers = [threading.Thread(target=work, args=(i,)) for i in range(threads)]
    for worker in workers:
        worker.start()
    begin.wait()
    used, start = cpu(), time.perf_counter()
    time.sleep(seconds)
    end.set()
    for worker in workers:
        worker.join()
    took = time.perf_counter() - start
    return summary(sum(found, []), took, cpu() - used)


async def measure_asyncio(make, url, in_flight, seconds):
    call = await make(url)
    times, now = [], time.perf_counter_ns
    await asyncio.gather(*(call(f"caller{i}") for i in range(in_flight)))
    used, start = cpu(), time.perf_counter()
    deadline = start + seconds

    async def work(i):
        j = i
        while time.perf_counter() < deadline:
            before = now()
            await call(f"caller{j % CALLERS}")
            times.append(now() - before)
            j += 7

    await asyncio.gather(*(work(i) for i in range(in_flight)))
    took = time.perf_counter() - start
    return summary(times, took, cpu() - used)


# ---- Separate processes -----------------------------------------------------

SYNC = {"limitree": limitree_threads, "limits": limits_threads}
ASYNC = {"limitree": limitree_asyncio, "redis.asyncio": redis_asyncio}


def one(kind, library, url, count, seconds):
    if kind == "threads":
        call = SYNC[library](url, count)
        return measure_threads(call, count, seconds)
    return asyncio.run(measure_asyncio(ASYNC[library], url, count, seconds))


def run(kind, library, url, count, seconds):
    """Runs `one` in another process, and returns its result."""
    answer = subprocess.run(
        [sys.executable, __file__, "--one", kind, library, url, str(count),
         str(seconds)], check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(answer)


@contextlib.contextmanager
def redis_server(arguments=(), environment=None):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            ["redis-server", "--port", str(port), "--save", "", "--dir",
             folder, "--bind", "127.0.0.1", *arguments],
            stdout=subprocess.DEVNULL, env=environment)
        try:
            while process.poll() is None:
                with contextlib.suppress(OSError):
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                time.sleep(0.01)
            yield f"redis://127.0.0.1:{port}/0"
        finally:
            process.kill()
            process.wait()


def compare(kind, libraries, count, url, rounds, seconds):
    found = {library: [] for library in libraries}
    for _ in range(rounds):
        for library in libraries:
            found[library].append(run(kind, library, url, count, seconds))
    for library, results in found.items():
        median = {what: statistics.median(result[what] for result in results)
                  for what in results[0]}
        each = " ".join(f"{result['ops'] / 1000:.1f}" for result in results)
        print(f"{kind:<8} {count:>5}  {library:<14} {median['ops']:>9,.0f}/s "
              f"{median['p50']:>8.0f} {median['p99']:>8.0f} "
              f"{median['cpu']:>7.1f}   {each}", flush=True)


def main():
    if sys.argv[1:2] == ["--one"]:
        kind, library, url, count, seconds = sys.argv[2:]
        print(json.dumps(one(kind, library, url, int(count), float(seconds))))
        return
    rounds = int(sys.argv[1]) if sys.argv[1:] else 5
    seconds = float(sys.argv[2]) if sys.argv[2:] else 1.0
    print(f"{'':<14}  {'':<14} {'':>9}   {'p50 us':>8} {'p99 us':>8} "
          f"{'CPU us':>7}   thousands a second, each round")
    with redis_server() as url:
        for count in THREADS:
            compare("threads", SYNC, count, url, rounds, seconds)
        for count in IN_FLIGHT:
            compare("asyncio", ASYNC, count, url, rounds, seconds)


if __name__ == "__main__":
    main()
