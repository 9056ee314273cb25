"""Decides with the installed package: memory, shared memory, and a Redis that
is not there.

usage: decide.py <examples/limits.yaml>
"""

import os
import platform
import sys

import limitree


def trades(limiter, user):
    """Whether each of eight trades is allowed."""
    return [not limiter.authorize("user", user, "trade").limited
            for _ in range(8)]


def main():
    [limits] = sys.argv[1:]
    expected = [True] * 6 + [False] * 2
    assert trades(limitree.Limiter(limits), "alex") == expected
    if sys.platform == "linux":
        name = f"limitree-release-{os.getpid()}"
        limiter = limitree.Limiter(limits, store=f"shm://{name}")
        try:
            assert trades(limiter, "alex") == expected
        finally:
            os.unlink(f"/dev/shm/{name}")
    for url in "redis://127.0.0.1:1", "rediss://127.0.0.1:1":
        with limitree.Limiter(limits, store=url) as limiter:
            try:
                limiter.ping()
            except limitree.StoreError as error:
                assert "127.0.0.1:1" in str(error), error
            else:
                raise AssertionError("there is no Redis at port 1")
    assert limitree.openssl_version
    libc, number = platform.libc_ver()
    # Python has no name for musl.
    libc = f"glibc {number}" if libc == "glibc" else "musl"
    print(f"CPython {platform.python_version()}",
          libc if sys.platform == "linux" else sys.platform)


if __name__ == "__main__":
    main()
