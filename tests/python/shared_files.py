"""Files of shm://, and a process that is stopped while it holds one."""

import contextlib
import pathlib
import signal
import subprocess
import sys
import time

import limitree


def path_of(url):
    """The file of a shm:// URL with a path."""
    return pathlib.Path(url.removeprefix("shm://").partition("?")[0])


#: The first lines of a program that the system kills with its parent, even if
#: it is stopped: otherwise it would stay if pytest is killed.
DIES_WITH_PARENT = """
import ctypes, sys
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
"""

_HOLD = DIES_WITH_PARENT + """
import limitree
limiter = limitree.Limiter("schema: {a: {}}", sys.argv[1])
print(flush=True)
while True:
    limiter.stats()
"""


@contextlib.contextmanager
def held(url):
    """Yield a process that is stopped while it holds the lock of a file.

    The file must have been made for few buckets, so that it has one lock.
    """
    process = subprocess.Popen([sys.executable, "-c", _HOLD, url],
                               stdout=subprocess.PIPE, start_new_session=True)
    try:
        process.stdout.readline()
        with limitree.Limiter("schema: {a: {}}", url) as limiter:
            deadline = time.monotonic() + 60
            process.send_signal(signal.SIGSTOP)
            while _answers(limiter):
                assert time.monotonic() < deadline, "it never holds the lock"
                process.send_signal(signal.SIGCONT)
                time.sleep(0.001)
                process.send_signal(signal.SIGSTOP)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def _answers(limiter):
    try:
        limiter.ping()
    except limitree.StoreError as error:
        assert error.reason == "shm_busy"
        return False
    return True
