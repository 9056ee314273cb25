"""A lock for data that Python code shares between threads and across fork()."""

from __future__ import annotations

# threading and weakref use this, but take longer to import.
import _thread
import os
from _weakref import ref

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class ForkLock:
    """A lock that is always free in a child of ``fork()``.

    The thread that held it does not exist in the child, so it would never be
    released there.
    """

    def __init__(self) -> None:
        # Not imported by name, because gevent replaces it.
        self._lock = _thread.allocate_lock()
        _all.add(ref(self, _all.discard))

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, kind: type[BaseException] | None,
                 error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._lock.release()

    def _renew(self) -> None:
        self._lock = _thread.allocate_lock()


_all: set[ref[ForkLock]] = set()


def _renew_all() -> None:
    for one in list(_all):
        lock = one()
        if lock is not None:
            lock._renew()


os.register_at_fork(after_in_child=_renew_all)
