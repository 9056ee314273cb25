"""Leases when something goes wrong: nobody is ever over the limit."""

import json
import os
import random
import signal
import struct
import subprocess
import sys
import time

import pytest

import limitree
from servers import PATIENT, memcached, redis_server

#: Nothing drains during a test, so what is left says what was charged.
SLOW = """
schema:
  user:
    children:
      "*": {limits: {count: 1000, period: 90d, lease: 20s}}
"""
SECOND = 10**9
MILLISECOND = 10**6
#: A lease takes one of the thousand.
MOST = 999


class Clock:
    """A clock of limiters, which Redis and memcached obey."""

    def __init__(self):
        self.now = 1_750_000_000 * SECOND

    def __call__(self):
        return self.now


@pytest.fixture(name="clock")
def a_clock():
    return Clock()


@pytest.fixture(params=["redis", "memcached"], name="url")
def a_server(request):
    with (redis_server if request.param == "redis" else memcached)() as (
            url, _):
        yield url


def held(limiter):
    """How many units it has taken and may still use."""
    stats = limiter.stats()
    return stats.leased - stats.lease_used - stats.lease_lost


def left(limiter):
    """What the store has left."""
    return limiter.peek("user", "alex", cost=0).remaining


def hot(limiter, clock):
    """Asks until units are held; returns how many requests were allowed."""
    for asked in range(1, 200):
        clock.now += SECOND
        assert limiter.authorize("user", "alex").allowed
        if held(limiter) > 10:
            return asked
    raise AssertionError("nothing is leased")


def first_answer(limiter):
    """What it says when the store is there again."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return limiter.authorize("user", "alex")
        except limitree.StoreError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def drain(limiter):
    """How many requests are allowed at this instant."""
    allowed = 0
    while limiter.authorize("user", "alex").allowed:
        allowed += 1
    return allowed


# ---- The store is away -------------------------------------------------------


@pytest.mark.parametrize("trouble", [signal.SIGSTOP, signal.SIGKILL])
def test_what_is_held_outlasts_the_store(clock, trouble):
    with redis_server() as (url, process):
        with limitree.Limiter(SLOW, url, clock=clock, timeout="2s") as limiter:
            hot(limiter, clock)
            units = held(limiter)
            process.send_signal(trouble)
            for _ in range(units):
                assert limiter.authorize("user", "alex").source == "lease"
            with pytest.raises(limitree.StoreError):
                limiter.authorize("user", "alex")
            if trouble == signal.SIGSTOP:
                process.send_signal(signal.SIGCONT)
                assert first_answer(limiter).source == "store"


def test_then_on_store_error_decides(clock):
    with redis_server() as (url, process):
        with limitree.Limiter(SLOW, url, clock=clock, timeout="2s",
                              on_store_error="deny") as limiter:
            hot(limiter, clock)
            units = held(limiter)
            process.kill()
            sources = [limiter.authorize("user", "alex").source
                       for _ in range(units + 2)]
            assert sources == ["lease"] * units + ["deny"] * 2
            assert held(limiter) == 0


def test_what_is_held_ends_while_the_store_is_away(clock):
    with redis_server() as (url, process):
        with limitree.Limiter(SLOW, url, clock=clock, timeout="2s") as limiter:
            hot(limiter, clock)
            process.kill()
            clock.now += 20 * SECOND
            with pytest.raises(limitree.StoreError):
                limiter.authorize("user", "alex")
            assert held(limiter) == 0


# ---- Processes that end, stand still or fork ---------------------------------

KILLED = """
import os, signal, sys
import limitree
sys.path.insert(0, sys.argv[1])
from test_leases_trouble import SLOW, Clock, held, hot
clock = Clock()
limiter = limitree.Limiter(SLOW, sys.argv[2], clock=clock, timeout="20s")
used = hot(limiter, clock)
print(used, held(limiter), clock.now, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def run(code, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-B", "-c", code, os.path.dirname(__file__),
         *arguments], stdout=subprocess.PIPE, text=True, **options)


def test_a_killed_process_loses_what_it_held(url, clock):
    child = run(KILLED, url)
    used, lost, clock.now = map(int, child.communicate()[0].split())
    assert child.returncode == -signal.SIGKILL
    assert lost > 10
    with limitree.Limiter(SLOW, url, clock=clock, timeout=PATIENT) as limiter:
        assert left(limiter) == MOST - used - lost
        assert drain(limiter) == MOST - used - lost


STOPPED = """
import os, signal, sys, time
import limitree
limits = "schema: {user: {limits: {count: 1000, period: 10s, lease: 2s}}}"
with limitree.Limiter(limits, sys.argv[2], timeout="20s") as limiter:
    def held():
        stats = limiter.stats()
        return stats.leased - stats.lease_used - stats.lease_lost
    while held() < 10:
        limiter.authorize("user")
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGSTOP)
    before = limiter.stats()
    source = limiter.authorize("user").source
    stats = limiter.stats()
    print(source, stats.lease_used - before.lease_used, stats.lease_lost > 0)
"""


def test_a_process_that_stood_still_uses_nothing_that_has_ended(url):
    child = run(STOPPED, url)
    assert os.WIFSTOPPED(os.waitpid(child.pid, os.WUNTRACED)[1])
    time.sleep(2.1)  # longer than what it holds lasts
    child.send_signal(signal.SIGCONT)
    assert child.communicate()[0].split() == ["store", "0", "True"]


def test_a_child_has_nothing_of_what_its_parent_holds(url, clock):
    with limitree.Limiter(SLOW, url, clock=clock, timeout=PATIENT) as limiter:
        used = hot(limiter, clock)
        units = held(limiter)
        child = os.fork()
        if child == 0:
            good = limiter.authorize("user", "alex").source == "store"
            os._exit(0 if good and held(limiter) == 0 else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert held(limiter) == units
        assert left(limiter) == MOST - used - units - 1
        assert drain(limiter) == MOST - used - 1


SHIFTED = """
import sys, time
import limitree
with limitree.Limiter(sys.argv[3], sys.argv[2], timeout="20s") as limiter:
    sources = []
    sys.stdin.readline()  # all begin together
    while True:
        decision = limiter.authorize("user", "alex")
        if decision.limited:
            break
        sources.append(decision.source)
        time.sleep(0.002)
    stats = limiter.stats()
    print(int(time.time()), len(sources), sources.count("lease"),
          stats.leased - stats.lease_used)
"""


def test_clocks_that_are_hours_apart(tmp_path):
    limits = SLOW.replace("20s", "200ms")
    with redis_server() as (url, _):
        children = []
        for hours in (-1, 0, 1):
            shift = tmp_path / str(hours)
            shift.write_bytes(struct.pack("q", hours * 3600))
            children.append(run(
                SHIFTED, url, limits, stdin=subprocess.PIPE,
                env=os.environ | {
                    "SHIFTED_CLOCK": str(shift),
                    "LD_PRELOAD": os.environ["LIMITREE_TEST_CLOCK"]}))
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        seen = [list(map(int, child.communicate()[0].split()))
                for child in children]
        assert seen[2][0] - seen[0][0] > 7000
        assert sum(one[1] + one[3] for one in seen) == MOST
        assert sum(one[2] for one in seen) > 100


# ---- Resets, refunds and reloads ---------------------------------------------


@pytest.mark.parametrize("forget", ["reset", "refund"])
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_resets_and_refunds(url, clock, forget, where):
    with (limitree.Limiter(SLOW, url, clock=clock, timeout=PATIENT) as limiter,
          limitree.Limiter(SLOW, url, clock=clock, timeout=PATIENT) as other):
        used = hot(limiter, clock)
        units = held(limiter)
        change = getattr(limiter if where == "here" else other, forget)
        change("user", "alex")
        # Another process keeps what was charged before.
        kept = units if where == "elsewhere" else 0
        assert held(limiter) == kept
        now_left = (MOST if forget == "reset"
                    else MOST - used - units + 1)
        assert left(other) == now_left
        assert drain(limiter) == now_left + kept


def exact(uses, limits):
    """Whether one bucket admits all uses, as (time, which limit)."""
    debt, last = 0, 0
    for now, which in uses:
        interval, offset = limits[which]
        debt = max(0, debt - (now - last)) + interval
        last = now
        if debt > offset:
            return False
    return True


def trace(url, clock, name, versions, seed):
    """Uses of three processes that change from one limit to the next."""
    rng = random.Random(seed)
    yaml = [f"schema: {{user: {{children: {{'*': {{limits: {one}}}}}}}}}"
            for one in versions]
    limiters = [limitree.Limiter(yaml[0], url, clock=clock, timeout=PATIENT,
                                 deny_cache=False) for _ in range(3)]
    uses, version, leased = [], 0, 0
    for asked in range(900):
        lull = rng.random() < 0.02
        clock.now += rng.randrange(90 if lull else 2) * MILLISECOND
        if asked % 300 == 299 and version + 1 < len(versions):
            version += 1
            for limiter in limiters:
                limiter.reload(yaml[version])
        decision = rng.choice(limiters).authorize("user", name)
        leased += decision.source == "lease"
        if decision.allowed:
            uses.append((clock.now, version))
    for limiter in limiters:
        limiter.close()
    assert leased > 100
    return uses


@pytest.mark.parametrize("name, versions, limits", [
    ("raised", ["{count: 400, period: 1s, lease: 50ms}",
                "{count: 800, period: 1s, lease: 50ms}",
                "{count: 1000, period: 500ms, lease: 50ms}"],
     [(2_500_000, SECOND), (1_250_000, SECOND), (500_000, SECOND // 2)]),
    ("longer", ["{count: 400, period: 1s, lease: 20ms}",
                "{count: 400, period: 1s, lease: 90ms}"],
     [(2_500_000, SECOND)] * 2),
    # docs/leases.md: by the difference of the two times.
    ("shorter", ["{count: 400, period: 1s, lease: 90ms}",
                 "{count: 400, period: 1s, lease: 10ms}"],
     [(2_500_000, SECOND + 80 * MILLISECOND)] * 2),
    ("lowered", ["{count: 800, period: 1s, lease: 50ms}",
                 "{count: 400, period: 1s, lease: 50ms}"],
     [(1_250_000, SECOND), (2_500_000, SECOND)]),
])
def test_reloads(clock, name, versions, limits):
    with redis_server() as (url, _):
        for seed in range(2):
            uses = trace(url, clock, f"{name}{seed}", versions, seed)
            assert exact(uses, limits)


def test_the_judge_of_reloads_can_say_no():
    limits = [(MILLISECOND, 10 * MILLISECOND)]
    assert exact([(SECOND, 0)] * 10, limits)
    assert not exact([(SECOND, 0)] * 11, limits)


# ---- Real processes, at random -----------------------------------------------

HAMMER = """
import json, random, sys, time
import limitree
rng = random.Random(int(sys.argv[4]))
uses, leased = [], 0
with limitree.Limiter(sys.argv[3], sys.argv[2], timeout="20s") as limiter:
    sys.stdin.readline()
    end = time.monotonic() + float(sys.argv[5])
    while time.monotonic() < end:
        before = time.monotonic_ns()
        decision = limiter.authorize("user", "alex")
        if decision.allowed:
            uses.append((before, time.monotonic_ns()))
        leased += decision.source == "lease"
        time.sleep(rng.expovariate(1 / 0.003))
print(json.dumps([uses, leased]))
"""


def test_no_window_of_a_random_run_is_over():
    limits = ("schema: {user: {children: {'*': {limits: "
              "{count: 600, period: 2s, burst: 300, lease: 100ms}}}}}")
    with redis_server() as (url, _):
        children = [run(HAMMER, url, limits, str(seed), "2.5",
                        stdin=subprocess.PIPE) for seed in range(3)]
        for child in children:
            child.stdin.write("go\n")
            child.stdin.flush()
        seen = [json.loads(child.communicate()[0]) for child in children]
    assert sum(leased for _, leased in seen) > 100
    uses = sorted(use for uses, _ in seen for use in uses)
    by_end = sorted(uses, key=lambda use: use[1])
    interval, burst = 2 * SECOND // 600, 300
    # A use lies somewhere between its two times: it is in a window only if
    # both are.
    for start, _ in uses[::7]:
        count = 0
        for before, after in by_end:
            if before >= start:
                count += 1
                assert count <= burst + (after - start) // interval + 1
