"""Clients that reset their connection before the server looks at them."""

import socket
import struct
import threading
import time
import urllib.parse
import urllib.request

import pytest

from asgi_servers import serve

CLIENTS = 20
RESET = struct.pack("ii", 1, 0)  # of SO_LINGER: close() sends a reset


def reset(address):
    """Sends a request and resets the connection."""
    where = urllib.parse.urlsplit(address)
    with socket.create_connection((where.hostname, where.port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)


def ask(address, path="/"):
    with urllib.request.urlopen(address + path, timeout=30) as answer:
        return answer.status


@pytest.mark.parametrize("application", [
    ["gone_site:asgi"], ["gone_site:fastapi"],
    ["--factory", "gone_site:django"]], ids=["asgi", "fastapi", "django"])
def test_a_client_that_is_gone_is_no_news(application):
    *options, name = application
    with serve("uvicorn", name, *options) as (address, process):
        assert ask(address) == 200
        # While the server is busy, the others come and go.
        busy = threading.Thread(target=ask, args=(address, "/still"))
        busy.start()
        time.sleep(0.1)
        for _ in range(CLIENTS):
            reset(address)
        busy.join()
        assert ask(address) == 200
        log = process.log()
    assert "Traceback" not in log, log
    assert len(log.splitlines()) < CLIENTS + 15, log
