"""TLS, certificates of clients, and certificates that change."""

import contextlib
import os
import ssl
import subprocess
import time

import grpc
import httpx
import pytest
from authority import Authority, openssl
from raw import (
    AUTHORIZE, Client, connect, connect_to, framed, tls_connect)
from service import COMMAND, error_of, eventually, request

OK = request("huge", "x").SerializeToString()


@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "one")


@pytest.fixture(name="other", scope="module")
def make_other(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("tls") / "other")


@pytest.fixture(name="own", scope="module")
def make_own(authority):
    """Options for the certificate of the server."""
    cert, key = authority.sign("server", "DNS:localhost,IP:127.0.0.1")
    return ["--tls-cert", cert, "--tls-key", key]


def credentials(authority, pair=None):
    cert, key = pair or (None, None)
    return grpc.ssl_channel_credentials(
        authority.cert.read_bytes(), key and key.read_bytes(),
        cert and cert.read_bytes())


def call(service, **options):
    """Calls the server; True if that went well, else the code."""
    from service import pb_grpc
    channel = service.channel(credentials=credentials(**options))
    limiter = pb_grpc.LimiterStub(channel)
    try:
        return not limiter.Authorize(request("huge", "x"), timeout=30).limited
    except grpc.RpcError as error:
        return error.code()
    finally:
        channel.close()


def context_for(authority, protocols=("h2",)):
    context = ssl.create_default_context(cafile=authority.cert)
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context


class FixedContext(ssl.SSLContext):
    """A context whose protocols httpx does not replace."""

    def __new__(cls, context):
        context.__class__ = cls
        return context

    def __init__(self, context):
        pass

    def set_alpn_protocols(self, alpn_protocols):
        pass


UNAVAILABLE = grpc.StatusCode.UNAVAILABLE


def test_tls(serve, own, authority, other):
    service = serve(*own)
    assert call(service, authority=authority) is True
    assert call(service, authority=other) == UNAVAILABLE  # it does not trust
    plain = service.limiter()
    code, _ = error_of(lambda: plain.Authorize(request("huge", "x")))
    assert code == UNAVAILABLE
    assert call(service, authority=authority) is True


def test_large_messages(serve, own, authority):
    client = Client(None, tls_connect(serve(*own), context_for(authority)))
    assert client.socket.version() == "TLSv1.3"
    for _ in range(20):
        stream = client.start(AUTHORIZE)
        message = framed(OK + b"\x0a\x10\x0a\x04huge\x0a\x08xxxxxxxx" * 1000)
        for at in range(0, len(message), 10_000):
            client.send(stream, message[at:at + 10_000])
        client.send(stream, b"", end=True)
        assert client.status(stream) == ("0", "")
    client.close()


def test_clients_that_go_away_while_they_are_answered(serve, own, authority):
    service = serve(*own)
    message = framed(b"".join(
        request("user", str(i)).SerializeToString() for i in range(2000)))
    for _ in range(20):
        client = Client(None, tls_connect(service, context_for(authority)))
        for _ in range(3):
            stream = client.start(AUTHORIZE)
            client.send_all(stream, message)
        client.close()
    assert call(service, authority=authority) is True


@pytest.mark.parametrize("protocols", [("http/1.1",), ()])
def test_only_http2_is_negotiated(serve, own, authority, protocols):
    service = serve(*own)
    with pytest.raises((ssl.SSLError, ConnectionError, AssertionError)):
        connection = tls_connect(service, context_for(authority, protocols))
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert connection.recv(1)
    assert call(service, authority=authority) is True


@pytest.mark.parametrize("protocols, version", [
    (("h2", "http/1.1"), "HTTP/2"), (("h2",), "HTTP/2"),
    (("http/1.1",), "HTTP/1.1"), ((), "HTTP/1.1")])
def test_https_negotiates_both_versions(serve, own, authority, protocols,
                                        version):
    service = serve(*own, "--https-listen", "127.0.0.1:0", "--http-listen",
                    "127.0.0.1:0", "--workers", 2)
    (secure,) = (place for place in service.http if "https" in place)
    context = context_for(authority, protocols)
    url = secure.replace("127.0.0.1", "localhost")
    with httpx.Client(verify=FixedContext(context),
                      http2=version == "HTTP/2") as client:
        answer = client.get(f"{url}/healthcheck")
        assert (answer.text, answer.http_version) == ("OK", version)
    # The port without TLS stays as it is.
    (plain,) = (place for place in service.http if "https" not in place)
    assert httpx.get(f"{plain}/healthcheck").text == "OK"
    assert call(service, authority=authority) is True


def test_https_refuses_other_protocols(serve, own, authority):
    service = serve(*own, "--https-listen", "127.0.0.1:0")
    address = service.http[0]
    with pytest.raises((ssl.SSLError, ConnectionError)):
        context_for(authority, ("h3",)).wrap_socket(
            connect_to(address), server_hostname="localhost")
    # One that goes on with another protocol than it has negotiated is served.
    secure = context_for(authority).wrap_socket(
        connect_to(address), server_hostname="localhost")
    secure.sendall(b"GET /healthcheck HTTP/1.0\r\n\r\n")
    assert secure.recv(1000).startswith(b"HTTP/1.1 200 OK")
    secure.close()


def test_https_in_pieces_and_large(serve, own, authority):
    service = serve(*own, "--https-listen", "127.0.0.1:0")
    address = service.http[0]
    secure = context_for(authority, ()).wrap_socket(
        connect_to(address), server_hostname="localhost")
    body = b'{"paths": [["huge", "' + b"x" * 100_000 + b'"]]}'
    one = (b"POST /v1/authorize HTTP/1.1\r\nHost: localhost\r\n"
           b"Content-Type: application/json\r\n"
           b"Content-Length: %d\r\n\r\n" % len(body)) + body
    for at in range(0, len(one), 10_000):
        secure.sendall(one[at:at + 10_000])
    secure.sendall(one * 3 + b"GET /healthcheck HTTP/1.0\r\n\r\n")
    data = b""
    while block := secure.recv(65536):
        data += block
    assert data.count(b"HTTP/1.1 200 OK") == 5
    secure.close()


def test_old_versions_of_tls_are_refused(serve, own, authority):
    context = context_for(authority)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.maximum_version = ssl.TLSVersion.TLSv1_2
    service = serve(*own)
    assert tls_connect(service, context).version() == "TLSv1.2"
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with pytest.raises((ssl.SSLError, ConnectionError)):
        tls_connect(service, context)


def test_garbage_instead_of_a_handshake(serve, own, authority):
    service = serve(*own)
    for data in (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\xff",
                 b"\0" * 1000, b""):
        connection = connect(service)
        connection.sendall(data)
        if data[:1] == b"\x16" or not data:
            connection.close()
            continue
        with contextlib.suppress(ConnectionResetError):
            while connection.recv(1000):
                pass
    assert call(service, authority=authority) is True


@pytest.fixture(name="clients", scope="module")
def make_clients(authority, other):
    return {
        "dns": authority.sign("dns", "DNS:envoy.example"),
        "wild": authority.sign("wild", "DNS:*.mesh.example"),
        "uri": authority.sign("uri", "URI:spiffe://mesh/ns/a/sa/envoy"),
        "ip": authority.sign("ip", "IP:192.0.2.1"),
        "stranger": other.sign("stranger", "DNS:envoy.example"),
    }


def test_a_client_needs_a_certificate(serve, own, authority, clients):
    service = serve(*own, "--tls-client-ca", authority.cert)
    assert call(service, authority=authority) == UNAVAILABLE
    assert call(service, authority=authority,
                pair=clients["stranger"]) == UNAVAILABLE
    for name in ("dns", "wild", "uri", "ip"):
        assert call(service, authority=authority, pair=clients[name]) is True


@pytest.mark.parametrize(("name", "accepted"), [
    ("envoy.example", {"dns"}), ("a.mesh.example", {"wild"}),
    ("spiffe://mesh/ns/a/sa/envoy", {"uri"}), ("192.0.2.1", {"ip"}),
    ("spiffe://mesh/ns/a/sa", set()), ("dns", set())])  # no common names
def test_the_name_of_a_client_counts(serve, own, authority, clients, name,
                                     accepted):
    service = serve(*own, "--tls-client-ca", authority.cert,
                    "--tls-client-name", "nobody.example", "--tls-client-name",
                    name)
    for who in ("dns", "wild", "uri", "ip"):
        expected = True if who in accepted else UNAVAILABLE
        assert call(service, authority=authority,
                    pair=clients[who]) == expected, who


def test_certificates_are_read_again(serve, authority, other, tmp_path):
    cert, key = tmp_path / "tls.crt", tmp_path / "tls.key"

    def put(pair):
        for source, target in zip(pair, (cert, key)):
            fresh = tmp_path / "fresh"
            fresh.write_bytes(source.read_bytes())
            os.replace(fresh, target)

    put(authority.sign("first", "DNS:localhost,IP:127.0.0.1"))
    service = serve("--tls-cert", cert, "--tls-key", key, "--workers", 1)
    old = Client(None, tls_connect(service, context_for(authority)))
    assert call(service, authority=authority) is True
    put(other.sign("second", "DNS:localhost,IP:127.0.0.1"))
    service.wait_for("the certificates are reloaded")
    # All workers learn of it.
    for who, expected in ((other, True), (authority, UNAVAILABLE)):
        eventually(lambda who=who, expected=expected: all(
            call(service, authority=who) == expected for _ in range(8)))
    # A connection that was there goes on.
    stream = old.start(AUTHORIZE)
    old.send(stream, framed(OK), end=True)
    assert old.status(stream) == ("0", "")
    # Files that are not valid change nothing.
    key.write_text("no key")
    service.wait_for("the certificates are as before")
    assert call(service, authority=other) is True
    said = len(service.lines)
    time.sleep(2)  # It tries again, and says so once.
    assert len(service.lines) == said


def test_authorities_of_clients_are_read_again(serve, own, authority, other,
                                               clients, tmp_path):
    file = tmp_path / "clients.pem"
    file.write_bytes(authority.cert.read_bytes())
    service = serve(*own, "--tls-client-ca", file)

    def answers():
        return [call(service, authority=authority, pair=clients[name])
                for name in ("dns", "stranger")]

    assert answers() == [True, UNAVAILABLE]
    file.write_bytes(other.cert.read_bytes())
    service.wait_for("the certificates are reloaded")
    eventually(lambda: answers() == [UNAVAILABLE, True])


def test_clients_that_never_shake_hands_are_closed(serve, own, authority):
    service = serve(*own, "--https-listen", "127.0.0.1:0")
    hello = b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"  # and more
    start = time.monotonic()
    slow = [connect(service), connect_to(service.http[0])]
    for connection in slow:
        connection.sendall(hello)
    for connection in slow:
        connection.settimeout(60)
        with contextlib.suppress(ConnectionResetError):
            assert not connection.recv(1)
        assert time.monotonic() - start > 9
        connection.close()
    assert call(service, authority=authority) is True


def start_fails(limits, *words):
    done = subprocess.run(
        [COMMAND, "serve", str(limits), "--listen", "127.0.0.1:0",
         *map(str, words)], capture_output=True, text=True, check=False,
        timeout=60)
    assert done.returncode == 1
    return done.stderr.removeprefix("limitree: ").rstrip("\n")


def test_mistakes_are_named(limits, authority, tmp_path):
    cert, key = authority.sign("good", "DNS:localhost")
    _, wrong = authority.sign("wrong", "DNS:localhost")
    text = tmp_path / "text"
    text.write_text("text")
    locked = tmp_path / "locked"
    openssl("ec", "-in", key, "-aes128", "-passout", "pass:x", "-out", locked)
    none = tmp_path / "none"
    both = ("--tls-cert", cert, "--tls-key", key)
    assert start_fails(limits, "--tls-cert", cert) == (
        "a certificate and its key need each other")
    assert start_fails(limits, "--tls-client-ca", cert) == (
        "client authorities need a certificate of the server")
    assert start_fails(limits, *both, "--tls-client-name", "x") == (
        "names of clients need client authorities")
    assert start_fails(limits, "--https-listen", "127.0.0.1:0") == (
        "HTTPS needs a certificate of the server")
    assert start_fails(limits, "--tls-cert", none, "--tls-key", key) == (
        f"certificate {none}: no such file or directory")
    assert start_fails(limits, "--tls-cert", text, "--tls-key", key) == (
        f"certificate {text}: no start line")
    assert start_fails(limits, "--tls-cert", cert, "--tls-key", none) == (
        f"key {none}: no such file or directory")
    assert start_fails(limits, "--tls-cert", cert, "--tls-key", wrong) == (
        f"key {wrong}: key values mismatch")
    assert start_fails(limits, "--tls-cert", cert, "--tls-key",
                       locked).startswith(f"key {locked}: ")
    assert start_fails(limits, *both, "--tls-client-ca", none) == (
        f"authorities {none}: no such file or directory")
    assert start_fails(limits, *both, "--tls-client-ca", text).startswith(
        f"authorities {text}: ")
