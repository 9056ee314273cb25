"""The fixtures that pytest finds when limitree is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from limitree import default, limiter
from limitree.testing import ManualClock


@pytest.fixture
def limitree_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[ManualClock]:
    """The clock of every limiter that the test makes without one of its own.

    The default limiter is made anew too, so each test starts with full buckets.
    """
    clock = ManualClock()
    monkeypatch.setattr(limiter, "default_clock", clock)
    monkeypatch.setattr(default, "_limiter", None)
    yield clock
