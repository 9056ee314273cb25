"""A lock for data that Python code shares between threads and across fork()."""

from __future__ import annotations

import os
import threading
import weakref
from types import TracebackType


class ForkLock:
    """A lock that is always free in a child of ``fork()``.

    The thread that held it does not exist in the child, so it would never be
    released there.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        _all.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._lock.release()

    def _renew(self) -> None:
        self._lock = threading.Lock()


_all: weakref.WeakSet[ForkLock] = weakref.WeakSet()


def _renew_all() -> None:
    for lock in _all:
        lock._renew()


os.register_at_fork(after_in_child=_renew_all)
