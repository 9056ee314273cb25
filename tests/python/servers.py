"""A redis-server or a memcached for one test, on a socket in its own folder."""

import contextlib
import os
import random
import signal
import socket
import subprocess
import tempfile
import time

#: The timeout of limiters in these tests: long, for a busy machine.
PATIENT = "5s"


def free_ports(count):
    """Ports below those that the system chooses by itself, so that no other
    test is given one of them."""
    found = set()
    while len(found) < count:
        port = random.randrange(15000, 30000)
        try:
            socket.create_server(("", port)).close()
            found.add(port)
        except OSError:
            pass
    return list(found)


@contextlib.contextmanager
def redis_server(**variables):
    """Yield the URL of a server and its process, which has the variables."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/redis.sock"
        # The server must not load the sanitizer of this process.
        environment = {name: value for name, value in os.environ.items()
                       if name != "LD_PRELOAD"} | variables
        process = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", path, "--save", "",
             "--dir", folder], stdout=subprocess.DEVNULL, env=environment,
            # In its own session: without a terminal, the kernel may hang up
            # a process group that has a stopped process.
            start_new_session=True)
        try:
            wait_for(path, process)
            yield f"redis+unix://{path}", process
        finally:
            process.kill()
            process.wait()


@contextlib.contextmanager
def memcached():
    """Yield the URL of a server and its process."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/memcached.sock"
        environment = {name: value for name, value in os.environ.items()
                       if name != "LD_PRELOAD"}
        user = ["-u", "root"] if os.geteuid() == 0 else []
        process = subprocess.Popen(
            ["memcached", "-s", path, *user], stdout=subprocess.DEVNULL,
            env=environment, start_new_session=True)
        try:
            wait_for(path, process, b"mn\r\n", b"MN\r\n")
            yield f"memcached+unix://{path}", process
        finally:
            process.kill()
            process.wait()


def suspend(process):
    """Stop a child, and return when none of its threads runs any more.

    A thread on another processor may answer once more after the signal.
    """
    process.send_signal(signal.SIGSTOP)
    os.waitpid(process.pid, os.WUNTRACED)


@contextlib.contextmanager
def suspended(process):
    """Run a block while a child stands still."""
    suspend(process)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def wait_for(path, process, ping=b"PING\r\n", pong=b"+PONG\r\n"):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and process.poll() is None:
        with socket.socket(socket.AF_UNIX) as connection:
            with contextlib.suppress(OSError):
                connection.connect(path)
                connection.sendall(ping)
                if connection.recv(len(pong)) == pong:
                    return
        time.sleep(0.01)
    raise RuntimeError("the server does not answer")


def until(is_so):
    """Waits for a minute at most."""
    deadline = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.01)
