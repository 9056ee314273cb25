"""Reservations of greenlets."""

import pathlib
import subprocess
import sys
import textwrap

from holding import LIMITS
from test_gevent import run

BEGIN = f"""
from gevent import monkey
monkey.patch_all()
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
import gevent
import limitree
from holding import Slow, left, reserve

limiter = Slow()

def asking(function, *args):
    greenlet = gevent.spawn(function, *args)
    gevent.sleep(0.01)
    assert not greenlet.dead and len(limiter.due) == 1
    return greenlet

def answer(error=None):
    assert len(limiter.due) == 1
    limiter.answer(error)
    gevent.sleep(0.01)

def block(body):
    with reserve(limiter) as held:
        body(held)
"""


def run_greenlets(program):
    done = subprocess.run([sys.executable, "-c", BEGIN +
                           textwrap.dedent(program)], capture_output=True,
                          text=True, timeout=60)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_greenlets():
    run_greenlets("""
    greenlet = asking(reserve, limiter)
    answer()
    held = greenlet.get()
    assert held.held == 2 and type(held) is limitree.Reservation
    for call in (lambda: held.extend("1m"), lambda: held.settle(tokens=1)):
        greenlet = asking(call)
        answer()
        assert greenlet.get() == 2
    assert left(limiter) == [59, 999, 2]
    greenlet = asking(block, lambda held: None)
    answer()
    answer()
    assert greenlet.successful() and left(limiter) == [58, 599, 2]
    """)


def test_greenlets_that_are_killed():
    run_greenlets("""
    greenlet = asking(reserve, limiter)
    greenlet.kill()
    answer()
    assert left(limiter) == [59, 600, 1]
    answer()
    assert left(limiter) == [59, 1000, 2]

    greenlet = asking(reserve, limiter)
    greenlet.kill(block=False)  # it dies after the answer
    limiter.answer()
    gevent.sleep(0.01)
    assert greenlet.dead
    answer()
    assert left(limiter) == [58, 1000, 2]

    with gevent.Timeout(0.02, False):
        reserve(limiter, 1001)
        raise AssertionError
    answer()  # a denial
    assert not limiter.due

    for error in (limitree.StoreTimeout("", "timeout"),
                  limitree.StoreError("", "refused")):
        greenlet = asking(reserve, limiter)
        greenlet.kill()
        answer(error)
        assert len(limiter.due) == (type(error) is limitree.StoreTimeout)
        limiter.answer()
        gevent.sleep(0.01)

    greenlet = asking(block, lambda held: gevent.sleep(99))
    answer()
    gevent.spawn(greenlet.kill)
    gevent.sleep(0.01)
    answer()
    assert greenlet.dead and left(limiter) == [57, 1000, 2]

    greenlet = asking(block, lambda held: held.settle(tokens=81))
    answer()
    greenlet.kill()
    answer()
    assert left(limiter) == [56, 919, 2]
    """)


def test_greenlets_of_redis():
    run(f"""
    limiter = limitree.Limiter({LIMITS!r}, url, timeout=sys.argv[4])

    def left():
        levels = limiter.peek("key", "k", cost=0, levels=True).levels
        return [level.remaining for level in levels]

    def reserve():
        return limiter.reserve("key", "k", cost={{"tokens": 9}})

    held = [one for one in together(5, reserve) if one.allowed]
    assert len(held) == 2 and left() == [58, 982, 0]
    with held[0] as one:
        assert one.extend("1h") == 2 and one.settle(tokens=1) == 2
    assert limiter.settle(held[1].receipt, tokens=1) == 2
    assert left() == [58, 998, 2]

    os.kill(pid, signal.SIGSTOP)
    killed = gevent.spawn(reserve)
    gevent.sleep(0.02)
    killed.kill()
    with gevent.Timeout(0.02, False):
        reserve()
        raise AssertionError
    os.kill(pid, signal.SIGCONT)
    with gevent.Timeout(60):
        while left() != [56, 998, 2]:
            gevent.sleep(0.01)
    """)
