"""Web servers of their own for a test: gunicorn and uvicorn, on a free port."""

import contextlib
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).parent
_ADDRESS = re.compile(r"http://127\.0\.0\.1:([1-9]\d*)")


@contextlib.contextmanager
def gunicorn(application, *options, **environment):
    """Yields the address of a gunicorn, once it listens."""
    with _server("gunicorn", "--bind", "127.0.0.1:0", "--no-control-socket",
                 *options, application, environment=environment) as found:
        yield found


@contextlib.contextmanager
def uvicorn(application, *options, **environment):
    """Yields the address of a uvicorn, once it listens."""
    with _server("uvicorn", "--port", "0", "--lifespan", "off", *options,
                 application, environment=environment) as found:
        yield found


@contextlib.contextmanager
def _server(*command, environment):
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *command], stdout=log, stderr=log, cwd=HERE,
            env={**os.environ, "PYTHONPATH": path, **environment})
        try:
            yield _address(process, log)
        finally:
            process.terminate()
            try:
                process.wait(10)
            finally:
                process.kill()


def _listens(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def _address(process, log):
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        log.seek(0)
        found = _ADDRESS.search(log.read())
        if found and _listens(int(found[1])):
            return found[0]
        time.sleep(0.02)
    log.seek(0)
    raise RuntimeError(f"the server does not listen:\n{log.read()}")
