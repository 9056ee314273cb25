"""Threads, forks and the end of the interpreter."""

import os
import subprocess
import sys
import textwrap
import threading

import limitree
from conftest import USERS
from servers import redis_server


def test_threads_admit_the_limit():
    limits = "schema: {a: {children: {'*': {limits: [499, 1, 3600]}}}}"
    limiter = limitree.Limiter(limits, levels=True)
    start, admitted = threading.Barrier(8), []

    def work():
        start.wait()
        for i in range(1000):
            decision = limiter.authorize("a", str(i % 3))
            admitted.append(decision.levels[0].charged)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (sum(admitted), len(admitted)) == (1500, 8000)


def test_reload_beside_requests():
    limiter = limitree.Limiter(USERS)
    asked = threading.Event()
    reloads = 0

    def ask():
        for _ in range(3000):
            assert limiter.authorize("user", "alex").limit == 16
        asked.set()

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    while reloads < 20 or not asked.is_set():
        reloads += 1
        limiter.reload(USERS.replace("[0, 1, 60]", f"[{reloads}, 1, 60]"))
    for thread in threads:
        thread.join()
    stats = limiter.stats()
    assert stats.allowed + stats.limited == 6000
    assert stats.reloads == reloads
    assert limiter.peek("job").limit == reloads + 1


def exit_codes(count, run):
    """Returns what `run` returns in each of so many children of a fork."""
    children = []
    for _ in range(count):
        child = os.fork()
        if child == 0:
            try:
                os._exit(run())
            finally:
                os._exit(255)
        children.append(child)
    return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
            for child in children]


def admitted_by(limiter):
    """Returns how many of ten requests a limiter admits."""
    return sum(limiter.authorize("user", "alex", "trade").allowed
               for _ in range(10))


def test_each_process_counts_for_itself_after_a_fork():
    limiter = limitree.Limiter(USERS)
    limiter.authorize("user", "alex", "trade", cost=2)

    def run():
        admitted = admitted_by(limiter)
        limiter.close()
        return admitted

    assert exit_codes(4, run) == [4] * 4
    assert limiter.peek("user", "alex", "trade", cost=0).remaining == 4


def test_children_of_a_fork_share_a_file(shared):
    limiter = limitree.Limiter(USERS, shared)
    limiter.authorize("user", "alex", "trade", cost=2)

    def run():
        grandchild = os.fork()
        admitted = admitted_by(limiter)
        if grandchild != 0:
            status = os.waitpid(grandchild, 0)[1]
            admitted += os.waitstatus_to_exitcode(status)
        return admitted

    assert sum(exit_codes(4, run)) == 4
    assert limiter.peek("user", "alex", "trade", cost=0).remaining == 0
    # The requests of this process, the buckets of all.
    assert (limiter.stats().allowed, limiter.stats().buckets) == (1, 2)


def test_forks_while_threads_decide(store):
    limiter = limitree.Limiter(USERS, store)
    done = threading.Event()

    def work():
        while not done.is_set():
            limiter.authorize("user", "alex", "trade")
            limiter.reload(USERS)

    def run():
        limiter.authorize("user", "bob", "trade")
        limiter.reload(USERS)
        return 7

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(20):
            assert exit_codes(1, run) == [7]
    finally:
        done.set()
        for thread in threads:
            thread.join()


# ---- The end of the interpreter ---------------------------------------------


def ends_well(program, *arguments):
    """Returns whether a program ends by itself with nothing on stderr, and its
    result."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True, text=True, timeout=60)
    return done.returncode == 0 and done.stderr == "", done


def test_end_with_limiters_and_decisions_left():
    good, done = ends_well("""
        import limitree
        limiter = limitree.configure("schema: {a: {limits: [3, 1, 60]}}")
        kept = [limiter.authorize("a", levels=True) for _ in range(100)]
        forgotten = limitree.AsyncLimiter("schema: {a: {}}", clock=lambda: 1)
        class Late:
            def __del__(self, limiter=limiter):
                limiter.authorize("a")
        late = Late()
        """)
    assert good, done


def test_end_while_daemon_threads_decide():
    good, done = ends_well("""
        import limitree, threading, time
        limiter = limitree.Limiter("schema: {a: {limits: [3, 1, 60]}}")
        def work():
            while True:
                limiter.authorize("a", levels=True).headers()
        for _ in range(3):
            threading.Thread(target=work, daemon=True).start()
        time.sleep(0.1)
        """)
    assert good, done


def test_end_while_daemon_threads_wait_for_the_store():
    with redis_server() as (url, _):
        good, done = ends_well("""
            import limitree, sys, threading, time
            limiter = limitree.Limiter("schema: {a: {limits: [3, 1, 60]}}",
                                       sys.argv[1], timeout="30s",
                                       deny_cache=False)
            def work():
                while True:
                    try:
                        limiter.peek("a")
                    except limitree.StoreError:
                        pass
            for _ in range(4):
                threading.Thread(target=work, daemon=True).start()
            time.sleep(0.2)
            """, url)
    assert good, done
