"""Connections that are slow, idle, old or malicious."""

import random
import resource
import signal
import socket
import threading
import time

import grpc
import h2.events
import h2.settings
import hpack
import httpx
import pytest
from hyperframe.frame import (
    ContinuationFrame, DataFrame, GoAwayFrame, HeadersFrame, PingFrame,
    PriorityFrame, RstStreamFrame, SettingsFrame, WindowUpdateFrame)
from raw import (
    AUTHORIZE, PREFACE, REFLECTION, WATCH, Client, connect, connect_to, framed,
    frames_until_end, send_until_closed)
from service import error_of, eventually, pb, pb_grpc, request

OK = request("huge", "x").SerializeToString()
SETTINGS = SettingsFrame(0).serialize()

ENHANCE_YOUR_CALM = 11


def still_serves(service):
    return not service.limiter().Authorize(request("huge", "x")).limited


# ---- What is no HTTP/2 ------------------------------------------------------

@pytest.mark.parametrize("data", [
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"\x16\x03\x01\x02\x00\x01",
    b"\0" * 100, b"\xff" * 100_000, b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"],
    ids=["http1", "tls", "zeros", "ones", "almost"])
def test_garbage_closes_the_connection(service, data):
    connection = connect(service)
    connection.sendall(data)
    frames_until_end(connection)
    assert still_serves(service)


@pytest.mark.parametrize("frame", [
    b"\x00\x00\x00\x00\x04\x00\x00\x00\x01",  # settings of a stream
    b"\x00\x00\x05\x04\x00\x00\x00\x00\x00hello",  # settings of a wrong size
    b"\x00\x00\x01\x06\x00\x00\x00\x00\x00x",  # a ping of a wrong size
    b"\x00\x00\x04\x01\x04\x00\x00\x00\x01\xff\xff\xff\xff",  # no HPACK
    b"\xff\xff\xff\x00\x00\x00\x00\x00\x01",  # a frame of 16 MiB
    b"\x00\x00\x05\x00\x00\x00\x00\x00\x00hello",  # data without a stream
    b"\x00\x00\x05\x00\x00\x00\x00\x00\x07hello",  # data of no stream
    b"\x00\x00\x04\x08\x00\x00\x00\x00\x00\x00\x00\x00\x00",  # window by 0
    b"\x00\x00\x04\x01\x04\x00\x00\x00\x02\x82\x86\x84\x41",  # even stream
])
def test_a_frame_that_breaks_the_rules_ends_the_connection(service, frame):
    connection = connect(service)
    connection.sendall(PREFACE + SETTINGS + frame)
    frames = frames_until_end(connection)
    assert any(isinstance(one, GoAwayFrame) and one.error_code != 0
               for one in frames)
    assert still_serves(service)


def test_random_frames_do_no_harm(service):
    chance = random.Random(1)
    for _ in range(300):
        connection = connect(service)
        data = PREFACE + SETTINGS
        for _ in range(chance.randrange(1, 20)):
            body = chance.randbytes(chance.randrange(0, 60))
            data += (len(body).to_bytes(3, "big")
                     + bytes([chance.randrange(0, 12), chance.randrange(256)])
                     + chance.randrange(0, 9).to_bytes(4, "big") + body)
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        frames_until_end(connection)
    assert still_serves(service)


# ---- Floods -----------------------------------------------------------------

def goaway_of(service, data):
    """The error with which the server answers a flood."""
    connection = connect(service)
    connection.sendall(PREFACE + SETTINGS)
    frames = []
    reader = threading.Thread(
        target=lambda: frames.extend(frames_until_end(connection, 10**9)))
    reader.start()
    send_until_closed(connection, data)
    reader.join()
    connection.close()
    return [one.error_code for one in frames
            if isinstance(one, GoAwayFrame)][-1:]


def opened(stream=1):
    """The header of a call."""
    block = hpack.Encoder().encode([
        (":method", "POST"), (":scheme", "http"), (":path", WATCH),
        (":authority", "x"), ("content-type", "application/grpc")])
    frame = HeadersFrame(stream, block)
    frame.flags.add("END_HEADERS")
    return frame.serialize()


class Unknown:
    """A frame of a type that RFC 9113 does not have."""

    def __init__(self, kind, body):
        self.bytes = len(body).to_bytes(3, "big") + bytes([kind]) + (
            bytes(5) + body)

    def serialize(self):
        return self.bytes


@pytest.mark.parametrize("frame", [
    PingFrame(0, opaque_data=b"12345678"),
    PingFrame(0, opaque_data=b"12345678", flags=["ACK"]), SettingsFrame(0),
    PriorityFrame(5, depends_on=0, stream_weight=1, exclusive=False),
    WindowUpdateFrame(0, window_increment=1),
    Unknown(10, b"x"), Unknown(200, b"x" * 100)],
    ids=["ping", "pong", "settings", "priority", "window", "altsvc",
         "unknown"])
def test_a_flood_of_frames_ends_the_connection(service, frame):
    assert goaway_of(service, frame.serialize() * 1000) in (
        [], [ENHANCE_YOUR_CALM])
    assert still_serves(service)


def test_a_flood_of_empty_data_ends_the_connection(service):
    connection = connect(service)
    connection.sendall(PREFACE + SETTINGS + opened())
    assert send_until_closed(connection, DataFrame(1, b"").serialize() * 1000)
    assert still_serves(service)


@pytest.mark.parametrize("end", [
    lambda stream: RstStreamFrame(stream, error_code=8),
    lambda stream: WindowUpdateFrame(stream, window_increment=2**31 - 1),
    lambda stream: None], ids=["reset", "window", "refused"])
def test_a_flood_of_streams_that_fail_ends_the_connection(service, end):
    """The client resets them, makes the server do so, or opens too many."""
    connection = connect(service)
    connection.sendall(PREFACE + SETTINGS)
    reader = threading.Thread(
        target=lambda: frames_until_end(connection, 10**9))
    reader.start()
    with pytest.raises(OSError):
        for first in range(1, 1_000_000, 2000):
            connection.sendall(b"".join(
                opened(stream) + (frame.serialize() if frame else b"")
                for stream in range(first, first + 2000, 2)
                for frame in (end(stream),)))
    reader.join()
    connection.close()
    assert still_serves(service)


@pytest.mark.parametrize("field", [b"", b"\x00\x01x\x01y"],
                         ids=["empty", "fields"])
def test_a_header_without_end_ends_the_connection(service, field):
    connection = connect(service)
    frame = HeadersFrame(1, b"")
    connection.sendall(PREFACE + SETTINGS + frame.serialize())
    assert send_until_closed(connection,
                             ContinuationFrame(1, field).serialize() * 100)
    assert still_serves(service)


def test_a_client_that_asks_for_many_pings_and_reads_none(service):
    before = service.memory()
    connection = connect(service)
    connection.sendall(PREFACE + SETTINGS)
    assert send_until_closed(
        connection, PingFrame(0, opaque_data=b"12345678").serialize() * 1000)
    assert service.memory() - before < 20_000_000
    assert still_serves(service)


# ---- Slow clients -----------------------------------------------------------

def test_clients_that_never_begin_are_closed(serve):
    """They send a byte now and then."""
    service = serve("--http-listen", "127.0.0.1:0")
    http = service.http[0]
    start = time.monotonic()
    # Of the preface of HTTP/2, which is all that the ports know so far.
    slow = {connect(service): PREFACE, connect(service): PREFACE,
            connect_to(http): b"PR"}
    sent = 0
    took = []
    while slow:
        assert time.monotonic() - start < 60
        for connection, opening in list(slow.items()):
            connection.settimeout(0.2)
            try:
                connection.sendall(opening[sent:sent + 1])
                if connection.recv(65536):
                    continue
            except TimeoutError:
                continue
            except ConnectionError:
                pass
            took.append(time.monotonic() - start)
            connection.close()
            del slow[connection]
        sent += 1
    assert min(took) > 9
    assert still_serves(service)


def test_slow_readers_do_not_fill_the_memory(service):
    """They ask for 4 MB each, and read nothing."""
    ask = framed(b"\x1a\x19limitree/v1/limiter.proto")
    before = service.memory()
    clients = []
    asked = 0
    for _ in range(20):
        client = Client(service)
        stream = client.start(REFLECTION)
        while client.h2.local_flow_control_window(stream) > len(ask) * 100:
            client.send(stream, ask * 100)
            asked += 100
        clients.append(client)
    for _ in range(100):
        assert still_serves(service)
    assert service.memory() - before < 20_000_000
    # One that reads after all gets everything.
    client, stream = clients[0], 1
    client.h2.end_stream(stream)
    client.flush()
    answer = client.answer(stream)
    assert answer["trailers"]["grpc-status"] == "0"
    size = int.from_bytes(answer["body"][1:5], "big") + 5
    assert len(answer["body"]) == size * (asked // len(clients))
    assert len(answer["body"]) > 3_000_000
    for client in clients:
        client.close()
    assert still_serves(service)


def test_zero_windows_do_not_fill_the_memory(serve):
    """40 clients ask for megabytes of answers, and let none come."""
    service = serve("--workers", 1)
    ask = framed(b"\x22\x2benvoy.service.ratelimit.v3.RateLimitService")
    before = service.memory()
    clients = []
    for _ in range(40):
        client = Client(service)
        client.h2.update_settings(
            {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
        client.flush()
        for _ in range(100):
            client.send(client.start(REFLECTION), ask * 4)
        for _ in range(300):
            stream = client.start(AUTHORIZE)
            client.send(stream, framed(OK), end=True)
        clients.append(client)
    for _ in range(100):
        assert still_serves(service)
    assert service.memory() - before < 120_000_000
    for client in clients:
        client.close()
    eventually(lambda: service.memory() - before < 30_000_000)


# With an unknown field.
LARGE = framed(OK + b"\x7a\x80\x92\xf4\x01" + b"x" * 4_000_000)


@pytest.mark.parametrize("path, kind, body, store", [
    ("/nowhere", "text/plain", b"x" * 4_000_000, "memory"),
    (AUTHORIZE, "application/grpc", LARGE, "memory"),
    # It answers later.
    (AUTHORIZE, "application/grpc", LARGE, "redis")],
    ids=["http", "grpc", "later"], indirect=["store"])
def test_requests_that_are_answered_are_forgotten(serve, path, kind, body,
                                                  store):
    """Also if their client does not let the answers come."""
    service = serve("--workers", 1, "--http-listen", "127.0.0.1:0",
                    "--store", store)
    before = service.memory()
    client = Client(service, connect_to(
        service.http[0] if path == "/nowhere" else service.target))
    client.h2.update_settings(
        {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
    client.flush()
    for _ in range(12):
        stream = client.start(path, headers={"content-type": kind})
        assert client.send_all(stream, body)
        client.send(stream, b"", end=True)
        client.wait(h2.events.ResponseReceived, stream)
    assert service.memory() - before < 20_000_000
    client.close()


def test_the_process_has_a_budget_of_memory(serve):
    """Many hold what is little for each; who holds little is served."""
    service = serve("--workers", 1, "--max-buffered", 10_000_000,
                    "--http-listen", "127.0.0.1:0")
    before = service.memory()
    http = service.http[0]
    begun = b"\0" + (4_000_000).to_bytes(4, "big") + b"x" * 200_000
    post = (b"POST /v1/authorize HTTP/1.1\r\nHost: x\r\n"
            b"Content-Length: 4000000\r\n\r\n" + b"x" * 500_000)
    clients = []
    for _ in range(40):
        client = Client(service)
        for _ in range(16):
            client.send_all(client.start(AUTHORIZE), begun)
        clients.append(client)
        connection = connect_to(http)
        connection.sendall(post)
        clients.append(connection)
    assert still_serves(service)
    assert service.memory() - before < 60_000_000
    refused = clients[-2].wait(h2.events.StreamEnded).stream_id
    assert clients[-2].status(refused) == (
        "8", "too many messages of the connection are not complete")
    answer = clients[-1].recv(65536)
    assert answer.startswith(b"HTTP/1.1 503 ")
    for client in clients:
        client.close()
    assert still_serves(service)


def test_connections_have_a_limit(serve):
    service = serve("--workers", 2, "--max-connections", 10, "--http-listen",
                    "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
                    "--metrics-listen", "127.0.0.1:0")
    http = service.http[0]
    taken = [connect_to(http) for _ in range(5)]
    for connection in taken:
        connection.sendall(b"GET /healthcheck HTTP/1.1\r\nHost: x\r\n\r\n")
        assert connection.recv(65536)
    taken += [connect(service) for _ in range(5)]
    for connection in taken[5:]:
        connection.sendall(PREFACE + SETTINGS)
        assert connection.recv(65536)
    for more in (connect(service), connect_to(http)):
        with more:
            try:
                assert more.recv(65536) == b""
            except ConnectionResetError:
                pass
    service.wait_for("warning: connections are refused: there are 10")
    # Whoever looks what is wrong has a way in.
    with connect_to(service.admin[0]) as admin:
        admin.sendall(b"GET /stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert admin.recv(65536).startswith(b"HTTP/1.1 200 ")
    # And a probe does not end the process.
    answer = httpx.get(f"{service.metrics[0]}/livez", timeout=60)
    assert (answer.status_code, answer.text) == (200, "OK")
    for connection in taken:
        connection.close()
    eventually(lambda: still_serves_now(service))


def test_connections_leave_descriptors_for_the_rest(serve):
    service = serve("--workers", 1, max_descriptors=100)
    taken = [connect(service) for _ in range(120)]
    service.wait_for("warning: connections are refused: there are 75")
    service.signal(signal.SIGHUP)
    service.wait_for("the limits are reloaded")
    for connection in taken:
        connection.close()
    eventually(lambda: still_serves_now(service))


def test_connections_to_the_metrics_port_take_no_place_of_others(serve):
    service = serve("--workers", 1, "--http-listen", "127.0.0.1:0",
                    "--admin-listen", "127.0.0.1:0",
                    "--metrics-listen", "127.0.0.1:0", max_descriptors=100)
    admin = httpx.Client(base_url=service.admin[0], timeout=60)

    def address_of_admin():
        stream = admin.get("/stats").extensions["network_stream"]
        return stream.get_extra_info("client_addr")

    before = address_of_admin()
    taken = []
    for _ in range(100):
        connection = connect_to(service.metrics[0])
        taken.append(connection)
        connection.sendall(b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    assert taken[0].recv(1) == b""  # silent for longest
    assert address_of_admin() == before
    admin.close()
    assert httpx.get(f"{service.http[0]}/healthcheck", timeout=60).text == "OK"
    service.signal(signal.SIGHUP)
    service.wait_for("the limits are reloaded")
    for connection in taken:
        connection.close()


def still_serves_now(service):
    try:
        return still_serves(service)
    except grpc.RpcError:
        return False


def test_deadlines_that_pass_together_stop_nobody(serve):
    """Calls that last are few for each connection, whose time ends at once."""
    service = serve("--workers", 1)
    clients = [Client(service) for _ in range(50)]
    for client in clients:
        for _ in range(200):
            stream = client.start(WATCH, headers={"grpc-timeout": "2S"})
            client.h2.send_data(stream, framed(b""), end_stream=True)
        client.flush()
    limiter = service.limiter()
    until = time.monotonic() + 4
    worst = 0
    while time.monotonic() < until:
        start = time.monotonic()
        assert not limiter.Authorize(request("huge", "x")).limited
        worst = max(worst, time.monotonic() - start)
    assert worst < 2
    statuses = [clients[0].status(stream)[0] for stream in range(1, 401, 2)]
    assert statuses.count("8") == 100 and statuses.count("4") == 100
    for client in clients:
        client.close()


def test_a_reader_without_a_window_waits_for_it(service):
    client = Client(service)
    client.h2.update_settings(
        {h2.settings.SettingCodes.INITIAL_WINDOW_SIZE: 0})
    client.flush()
    client.wait(h2.events.SettingsAcknowledged)
    stream = client.start(AUTHORIZE)
    client.send(stream, framed(OK), end=True)
    client.wait(h2.events.ResponseReceived, stream)
    assert still_serves(service)
    for _ in range(1000):  # a byte at a time
        if any(isinstance(event, h2.events.StreamEnded)
               for event in client.events):
            break
        client.h2.increment_flow_control_window(1, stream)
        client.flush()
        client.read()
    assert client.status(stream) == ("0", "")
    client.close()


def allow_descriptors(count):
    """Also for the services that are started from now on."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if most != resource.RLIM_INFINITY and most < count:
        pytest.skip(f"a process may have {most} descriptors, not {count}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


@pytest.mark.parametrize("option, opening", [
    ("--listen", PREFACE + SETTINGS),
    ("--http-listen",
     b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    ("--http-listen",
     b"POST /nowhere HTTP/1.1\r\nHost: localhost\r\nX-Large: "
     + b"x" * 12_000 + b"\r\nContent-Length: 15000\r\n\r\n" + b"x" * 15_000)],
    ids=["grpc", "http", "http-large"])
def test_ten_thousand_idle_connections(serve, option, opening):
    allow_descriptors(10_200)
    service = serve("--workers", 2, option, "127.0.0.1:0")
    place = (service.http or service.target.split(", "))[-1]
    before = service.memory()
    idle = []
    for _ in range(10_000):
        connection = connect_to(place)
        connection.sendall(opening)
        idle.append(connection)
    for connection in idle:
        assert connection.recv(1)  # they are served
    assert service.descriptors() > 10_000
    start = time.monotonic()
    with grpc.insecure_channel(service.target.split(", ")[0]) as channel:
        limiter = pb_grpc.LimiterStub(channel)
        for _ in range(100):
            assert not limiter.Authorize(request("huge", "x")).limited
    assert time.monotonic() - start < 30
    assert (service.memory() - before) / len(idle) < 20_000
    for connection in idle:
        connection.close()
    eventually(lambda: service.descriptors() < 100)


# ---- Keepalive and age ------------------------------------------------------

def test_a_silent_client_must_give_a_sign_of_life(serve):
    service = serve("--keepalive-time", "500ms", "--keepalive-timeout", "3s")
    start = time.monotonic()
    silent = connect(service)
    silent.sendall(PREFACE + SETTINGS)
    frames = frames_until_end(silent)
    assert any(isinstance(frame, PingFrame) for frame in frames)
    assert 0.9 < time.monotonic() - start < 30
    # It may be late, but answers.
    lively = Client(serve("--keepalive-time", "500ms", "--keepalive-timeout",
                          "30s"))
    while len([event for event in lively.events if isinstance(
            event, h2.events.PingReceived)]) < 4:
        assert lively.read()  # answers pings
    stream = lively.start(AUTHORIZE)
    lively.send(stream, framed(OK), end=True)
    assert lively.status(stream) == ("0", "")


def test_an_old_connection_is_drained(serve):
    service = serve("--max-connection-age", "1s", "--max-connection-grace",
                    "20s")
    start = time.monotonic()
    client = Client(service)
    watch = client.start(WATCH)
    client.send(watch, framed(b""), end=True)
    first = client.wait(h2.events.ConnectionTerminated)
    assert 0.5 < time.monotonic() - start < 30
    assert first.error_code == 0
    # A call that was on its way when the client learns of it is answered, and
    # one that lasts goes on.
    assert not any(isinstance(event, h2.events.StreamEnded)
                   for event in client.events)
    client.close()


def test_calls_go_on_while_connections_come_and_go(serve):
    service = serve("--max-connection-age", "300ms")
    limiter = service.limiter()
    until = time.monotonic() + 3
    count = 0
    while time.monotonic() < until:
        assert not limiter.Authorize(request("huge", "x")).limited
        count += 1
    assert count > 100


def test_the_grace_ends(serve):
    service = serve("--max-connection-age", "200ms", "--max-connection-grace",
                    "300ms")
    client = Client(service)
    client.start(WATCH)
    start = time.monotonic()
    while client.read():
        assert time.monotonic() - start < 60


def test_an_idle_connection_is_drained(serve):
    service = serve("--max-connection-idle", "1s")
    client = Client(service)
    assert client.wait(h2.events.ConnectionTerminated).error_code == 0
    busy = Client(serve("--max-connection-idle", "2s"))
    watch = busy.start(WATCH)
    busy.send(watch, framed(b""), end=True)
    busy.socket.settimeout(4)
    with pytest.raises(TimeoutError):
        while busy.read():
            pass
    assert not any(isinstance(event, h2.events.ConnectionTerminated)
                   for event in busy.events)


def test_too_large_an_answer_is_no_problem(service):
    limiter = service.limiter(("grpc.max_receive_message_length", 10_000))
    code, _ = error_of(lambda: limiter.Authorize(pb.DecideRequest(
        paths=[pb.Path(segments=["user", str(i)]) for i in range(1000)])))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert still_serves(service)
