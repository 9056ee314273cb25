"""Limits that hold, and a limiter whose answers wait for the test."""

import functools
import os

import limitree
from limitree import delivery

#: So slow that nothing comes back during a test.
LIMITS = """
schema:
  key:
    children:
      "*":
        limits:
          - {name: rpm, count: 60, period: 100d}
          - {name: tpm, count: 1000, period: 100d, unit: tokens, hold: 10m}
          - {name: slots, concurrent: 2, hold: 30s}
  plain: {limits: 5/d}
  day: {limits: {count: 100, period: 1d, algorithm: fixed_window, hold: 1h,
                 unsettled: free, cost: 2}}
  watched: {limits: {concurrent: 1, hold: 30s, mode: shadow}}
"""
#: Those that can hold, and those of them that other processes can ask.
STORES = ["memory", "shared", "redis", "memcached"]
SHARED = [store for store in STORES if store != "memory"]


def left(limiter, *path):
    """Returns what is left at each level."""
    levels = limiter.peek(*path or ("key", "k"), cost=0, levels=True).levels
    return [level.remaining for level in levels]


def reserve(limiter, tokens=400, **options):
    return limiter.reserve("key", "k", cost={"tokens": tokens}, **options)


def _later(name):
    """A native call whose answer is due when a test asks for it."""
    def call(self, *args):
        *args, make = args
        ask = functools.partial(getattr(super(Slow, self), name), *args, None)
        if make is None:
            return ask()
        waiting = make()
        self.due.append((waiting, ask))
        return waiting
    return call


class Slow(limitree.Limiter):
    """A limiter in memory that seems to be remote."""

    is_remote = True
    _reserve, _settle, _cancel, _extend = map(
        _later, ["_reserve", "_settle", "_cancel", "_extend"])

    def __init__(self):
        self.due = []
        self.ends = os.pipe()
        super().__init__(LIMITS)

    def answer(self, error=None):
        """Lets the store answer what it was asked, or fail."""
        due, self.due = self.due, []
        for waiting, ask in due:
            decision = ask() if error is None else None
            delivery.deliver([(waiting, decision, error)])

    def _loop_fd(self):
        return self.ends[0]

    def _set_loop_wakeups(self, on):
        pass

    def _run_loop(self):
        pass

    @property
    def _pending(self):
        return len(self.due)
