"""The fixtures that pytest has when limitree is installed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from limitree import default, limiter
from limitree.testing import ManualClock


@pytest.fixture
def limitree_clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[ManualClock]:
    """The clock of every limiter that the test makes without a clock.

    The default limiter is new in each test, too, so buckets are full at first.
    """
    clock = ManualClock()
    monkeypatch.setattr(limiter, "default_clock", clock)
    monkeypatch.setattr(default, "_limiter", None)
    yield clock
