"""The fixtures that pytest has when limitree is installed."""

from __future__ import annotations

import weakref
from collections.abc import Iterator

import pytest

from limitree import default, limiter
from limitree.testing import ManualClock

# Set here, because pytest imports plugins before the programs that it tests.
limiter.beginnings = weakref.WeakKeyDictionary()


@pytest.fixture
def limitree_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[ManualClock]:
    """The clock of every limiter without one that the test makes or finds.

    Limiters in memory that were made before, with the modules of a program,
    begin again with full buckets, and once more when the test ends.
    """
    clock = ManualClock()
    monkeypatch.setattr(limiter, "default_clock", clock)
    monkeypatch.setattr(default, "_limiter", default._limiter)
    _begin_again(clock)
    yield clock
    _begin_again(None)


def _begin_again(clock: ManualClock | None) -> None:
    if limiter.beginnings is None:
        return
    for found in limiter.beginnings.keyrefs():  # threads may make others now
        one = found()
        if one is not None:
            one._begin_again(clock)
