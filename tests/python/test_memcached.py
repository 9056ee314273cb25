"""memcached behind TLS, which Debian's memcached does not speak itself."""

import contextlib
import socket
import ssl
import subprocess
import threading

import pytest

import limitree
from servers import PATIENT, memcached

LIMITS = "schema: {user: {limits: 2/d}}"


def copy(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def front(tmp_path):
    """The port of a server with TLS in front of memcached, and its file."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days",
         "2", "-subj", "/CN=localhost", "-addext",
         "subjectAltName=DNS:localhost", "-keyout", tmp_path / "key.pem",
         "-out", tmp_path / "cert.pem"], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with (memcached() as (url, _),
          socket.create_server(("127.0.0.1", 0)) as server):
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    threading.Thread(target=carry, args=[connection],
                                     daemon=True).start()

        def carry(connection):
            with (contextlib.suppress(OSError),
                  context.wrap_socket(connection, server_side=True) as client,
                  socket.socket(socket.AF_UNIX) as behind):
                behind.connect(url.removeprefix("memcached+unix://"))
                back = threading.Thread(target=copy, args=[behind, client],
                                        daemon=True)
                back.start()
                copy(client, behind)
                back.join()

        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1], str(tmp_path / "cert.pem")
        server.shutdown(socket.SHUT_RDWR)


def test_limits_are_kept_behind_tls(front):
    port, authority = front
    with limitree.Limiter(LIMITS, f"memcacheds://localhost:{port}",
                          tls_ca_file=authority, timeout=PATIENT,
                          deny_cache=False) as limiter:
        assert [limiter.authorize("user").allowed for _ in range(3)] == [
            True, True, False]


def test_a_certificate_that_nobody_trusts_is_refused(front):
    port, _ = front
    with limitree.Limiter(LIMITS, f"memcacheds://localhost:{port}",
                          timeout=PATIENT) as limiter:
        with pytest.raises(limitree.StoreError, match="certificate"):
            limiter.authorize("user")
