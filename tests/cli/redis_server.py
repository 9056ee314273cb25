"""redis-servers that tests start: from redis_server import make_start."""

import pathlib
import socket
import subprocess
import sys
import tempfile
import time

import pytest

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from servers import free_ports  # noqa: E402


class Server:
    """A redis-server on a Unix socket and, for URLs with hosts, a port."""

    def __init__(self, folder, *settings):
        self.port, = free_ports(1)
        self.settings = settings
        self.path = folder / "redis.sock"
        self.process = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1",
             "--unixsocket", str(self.path), "--save", "", "--appendonly",
             "no", "--dir", str(folder), *settings],
            stdout=subprocess.DEVNULL, start_new_session=True)
        self.url = f"redis://127.0.0.1:{self.port}"

    def wait(self):
        until = time.monotonic() + 20
        while time.monotonic() < until:
            try:
                with socket.create_connection(("127.0.0.1", self.port)) as one:
                    one.sendall(b"PING\r\n")
                    if one.recv(1):
                        return self
            except OSError:
                time.sleep(0.01)
        raise TimeoutError("redis-server does not answer")

    def stop(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(name="start")
def make_start():
    servers = []
    # Paths of Unix sockets are short; those of tmp_path may not be.
    with tempfile.TemporaryDirectory() as folder:
        def start(*settings):
            servers.append(Server(pathlib.Path(folder), *settings))
            return servers[-1].wait()
        yield start
        for server in servers:
            server.stop()
