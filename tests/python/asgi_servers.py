"""ASGI servers for one test: uvicorn and hypercorn, on free ports."""

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
# As uvicorn, hypercorn and gunicorn write it, and as uWSGI does.
_ADDRESS = re.compile(r"(?:http://|TCP address )127\.0\.0\.1:([1-9]\d*)")

#: The values of `server` for `serve`, with the command of each server.
SERVERS = {
    "uvicorn": ["uvicorn", "--port", "0", "--loop", "asyncio",
                "--no-proxy-headers"],
    "uvicorn-uvloop": ["uvicorn", "--port", "0", "--loop", "uvloop",
                       "--no-proxy-headers"],
    "hypercorn": ["hypercorn", "--bind", "127.0.0.1:0"],
    "hypercorn-uvloop": ["hypercorn", "--bind", "127.0.0.1:0",
                         "--worker-class", "uvloop"],
}


@contextlib.contextmanager
def serve(server, application, *options, cwd=HERE, **environment):
    """Yields the address of a server, once it listens, and its process.

    The process has a function `log` that returns what it wrote.
    """
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", *SERVERS[server], *options, application],
            stdout=log, stderr=log, cwd=cwd,
            env={**os.environ, "PYTHONPATH": path, **environment})
        process.log = lambda: _text_of(log)
        try:
            yield listening_address(process, log), process
        finally:
            process.terminate()
            try:
                process.wait(60)
            finally:
                process.kill()


def listening_address(process, log):
    """Returns the address that a server writes to its log, once it listens."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        found = _ADDRESS.search(_text_of(log))
        if found and _listens(int(found[1])):
            return f"http://127.0.0.1:{found[1]}"
        time.sleep(0.02)
    raise RuntimeError(f"the server does not listen:\n{_text_of(log)}")


def _text_of(log):
    log.seek(0)
    return log.read()


def _listens(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0
