"""Under gevent's monkey patching no call stops the other greenlets."""

import subprocess
import sys
import textwrap
import types

import pytest

import limitree
from servers import PATIENT, redis_server

TREE = """
schema:
  user: {children: {"*": {limits: 100/d}}}
  job: {limits: 1000000/s}
  model: {limits: {count: 100, period: 1d, unit: tokens}}
"""

# `steps` counts how often another greenlet runs meanwhile.
BEGIN = """
from gevent import monkey
monkey.patch_all()
import gevent, os, signal, sys, time
import limitree

tree, url, pid = sys.argv[1], sys.argv[2], int(sys.argv[3])
steps = 0

def step():
    global steps
    while True:
        gevent.sleep(0.005)
        steps += 1

def outcome(function, *args, **kwargs):
    try:
        return function(*args, **kwargs)
    except limitree.StoreError as error:
        return type(error).__name__

def together(count, function, *args, **kwargs):
    greenlets = [gevent.spawn(outcome, function, *args, **kwargs)
                 for _ in range(count)]
    return [one.get() for one in greenlets]

stepping = gevent.spawn(step)
limiter = limitree.Limiter(tree, url, timeout=sys.argv[4], deny_cache=False)
"""


def run(program, timeout=PATIENT, begin=BEGIN):
    """Runs a program next to a Redis; fails with its output."""
    with redis_server() as (url, process):
        return run_on(url, program, process.pid, timeout, begin)


def run_on(url, program, pid=0, timeout=PATIENT, begin=BEGIN):
    """The same with another store."""
    done = subprocess.run(
        [sys.executable, "-c", begin + textwrap.dedent(program), TREE, url,
         str(pid), timeout], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_hub_goes_on_while_redis_hangs():
    """All calls end together, because they wait at the same time, and the other
    greenlet keeps running."""
    run("""
    limiter.authorize("job")
    os.kill(pid, signal.SIGSTOP)
    steps, start = 0, time.monotonic()
    ends = together(8, limiter.authorize, "job")
    seconds = time.monotonic() - start
    assert set(ends) == {"StoreTimeout"}, ends
    assert 1.9 < seconds < 8 * 2 / 2, seconds
    assert steps > 30, steps
    os.kill(pid, signal.SIGCONT)
    assert limiter.stats().errors == 8
    """, "2s")


@pytest.mark.parametrize("ask", [
    'limiter.peek("job")', 'limiter.peek_all([["job"], ["user", "a"]], [1, 0])',
    'limiter.authorize("job", levels=True)', 'limiter.spend("job")',
    'limiter.refund_all([["job"]])', 'limiter.ping()', 'limiter.reset("job")',
    'limiter.authorize_action_for_user("a", "b")',
    'limiter.acquire("job", timeout="30s")'])
def test_every_call_lets_others_run(ask):
    run(f"""
    while outcome(limiter.ping) == "StoreTimeout":
        pass
    os.kill(pid, signal.SIGSTOP)
    steps = 0
    assert together(1, lambda: {ask}) == ["StoreTimeout"]
    assert steps > 10, steps
    os.kill(pid, signal.SIGCONT)
    """, "1s")


def test_answers_reach_those_who_asked():
    run("""
    answers = together(150, limiter.authorize, "user", "a")
    assert sum(one.allowed for one in answers) == 100
    assert {one.remaining for one in answers} == set(range(100))
    names = [f"u{i}" for i in range(100)]
    found = [gevent.spawn(limiter.authorize, "user", name, cost=i, levels=True)
             for i, name in enumerate(names)]
    assert [one.get().remaining for one in found] == [
        100 - i for i in range(100)]
    assert found[0].get().levels[0].policy == "user:*"
    denied = limiter.authorize_action_for_user("a", "b")
    assert denied and denied.limited
    assert limiter.authorize_action_for_user("b", "b") is None
    all_of_them = limiter.authorize_all([["user", "b"], ["job"]], [3, 1],
                                        levels=True)
    assert [one.cost for one in all_of_them.levels] == [3, 1]
    limiter.reset("user", "a")
    assert limiter.authorize("user", "a").remaining == 99
    limiter.spend("model", cost={"tokens": 9})
    [level] = limiter.peek_all([["model"]], {"request": [0], "tokens": 1},
                               levels=True).levels
    assert (level.unit, level.remaining) == ("tokens", 90)
    for wrong, error in (([None], TypeError), ([], ValueError),
                         (["nobody"], ValueError)):
        try:
            limiter.authorize(*wrong)
        except error:
            continue
        raise AssertionError(wrong)
    """)


def test_a_greenlet_that_is_killed_while_it_waits():
    run("""
    limiter.authorize("job")
    os.kill(pid, signal.SIGSTOP)
    killed = [gevent.spawn(limiter.authorize, "job") for _ in range(5)]
    with gevent.Timeout(0.05, False):
        limiter.authorize("job")
        raise AssertionError("a stopped server has answered")
    gevent.killall(killed)
    os.kill(pid, signal.SIGCONT)
    assert all(one.allowed for one in together(20, limiter.authorize, "job"))
    """)


def test_a_store_that_dies_and_a_limiter_that_is_closed():
    run("""
    limiter.authorize("job")
    os.kill(pid, signal.SIGSTOP)
    waiting = gevent.spawn(outcome, limiter.authorize, "job")
    gevent.sleep(0.02)
    os.kill(pid, signal.SIGKILL)
    assert waiting.get() in ("StoreError", "StoreTimeout"), waiting.get()
    with limitree.Limiter(tree, url, on_store_error="local") as other:
        assert {one.source for one in together(9, other.authorize, "job")} == {
            "local"}
    """)
    run("""
    limiter.authorize("job")
    os.kill(pid, signal.SIGSTOP)

    def ask():
        try:
            limiter.authorize("job")
        except RuntimeError as error:
            return str(error)

    waiting = [gevent.spawn(ask) for _ in range(3)]
    gevent.sleep(0.02)
    limiter.close()
    assert None not in [one.get() for one in waiting]
    assert ask() == "the limiter is closed"
    os.kill(pid, signal.SIGCONT)
    """)


def test_threads_beside_the_hub():
    """A real thread waits in the library, or on its own hub."""
    run("""
    sys.setswitchinterval(1e-6)  # threads meet at each step
    pool = gevent.get_hub().threadpool

    def work(count):
        return sum(limiter.authorize("user", "a").allowed for _ in range(count))

    for _ in range(100):  # new ones: several threads ask first
        limiter = limitree.Limiter(tree, url, timeout=sys.argv[4],
                                   deny_cache=False)
        limiter.reset("user", "a")
        asked = [pool.spawn(work, 20) for _ in range(3)]
        asked += [gevent.spawn(work, 20) for _ in range(5)]
        assert sum(one.get() for one in asked) == 100
    """)


def test_a_watch_is_closed_by_its_own_thread():
    """gevent's loops are no place for other threads."""
    run("""
    from gevent.monkey import get_original
    from limitree.greenlets import Watch
    thread = get_original("_thread", "get_ident")
    watch = Watch()
    ends = os.pipe()
    closed = []

    class Idle:
        _pending = 0
        runs = 0

        def _loop_fd(self):
            return ends[0]

        def _set_loop_wakeups(self, on):
            pass

        def _run_loop(self):
            self.runs += 1

    class Closing:  # an io that notes who closes it
        def __init__(self, io):
            self.io = io

        def close(self):
            closed.append(thread())
            self.io.close()

    idle = Idle()
    with watch.lock:
        assert watch.attach(idle, gevent.get_hub())
        first = watch._io
        watch._io = Closing(first)

    def elsewhere():
        with watch.lock:
            return watch.attach(idle, gevent.get_hub())

    assert gevent.get_hub().threadpool.apply(elsewhere)
    gevent.sleep(0.01)
    assert closed == [thread()]
    watch._run(idle, first)  # is not its turn any more
    assert idle.runs == 0
    watch.detach()
    """)


def test_a_program_ends_by_itself():
    """limitree does not keep the hub running."""
    assert run("""
    limiter.authorize("job")
    stepping.kill()
    gevent.wait()
    print("ended")
    """) == "ended\n"


def test_a_child_of_fork():
    run("""
    limiter.authorize("user", "a")
    child = os.fork()
    if child == 0:
        done = together(9, limiter.authorize, "user", "a")
        os._exit(0 if all(one.allowed for one in done) else 1)
    assert all(one.allowed for one in together(9, limiter.authorize, "user",
                                               "a"))
    assert os.waitpid(child, 0)[1] == 0
    assert limiter.authorize("user", "a").remaining == 100 - 20
    """)


def test_gevent_without_monkey_patching():
    begin = BEGIN.replace("monkey.patch_all()", "")
    run("""
    assert limiter.authorize("user", "a").remaining == 99
    assert [one.allowed for one in together(3, limiter.authorize, "job")] == (
        [True] * 3)
    assert limiter._greenlets is None
    """, begin=begin)


def test_a_file_that_processes_share(shared):
    """It answers at once: no other greenlet runs."""
    run_on(shared, """
    gevent.sleep(0.05)
    steps = 0
    answers = [limiter.authorize("user", "a") for _ in range(60)]
    answers += [limiter.peek("job"), limiter.acquire("job")]
    assert steps == 0 and limiter._greenlets is None
    child = os.fork()
    if child == 0:
        done = together(90, limiter.authorize, "user", "a")
        os._exit(sum(one.allowed for one in done))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 40
    assert together(2, limiter.ping)[0] > 0
    limiter.reset("user", "a")
    assert limiter.authorize("user", "a").remaining == 99
    """)


def test_eventlet_is_refused(monkeypatch):
    patched = types.SimpleNamespace(is_monkey_patched=lambda name: True)
    monkeypatch.setitem(sys.modules, "eventlet.patcher", patched)
    with pytest.raises(RuntimeError, match="under eventlet, whose green"):
        limitree.Limiter(TREE, "redis://localhost")
    assert limitree.Limiter(TREE).authorize("job").allowed
    patched.is_monkey_patched = lambda name: False
    limitree.Limiter(TREE, "redis://localhost").close()
