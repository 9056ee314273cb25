"""The edges of gRPC: what calls may be like, and how they end."""

import concurrent.futures
import gzip
import random
import socket
import threading
import time
import zlib

import grpc
import h2.events
import h2.exceptions
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from raw import AUTHORIZE, REFLECTION, WATCH, Client, framed
from service import error_of, eventually, pb, pb_grpc, request

OK = request("huge", "x").SerializeToString()


@pytest.fixture(name="client")
def make_client(service):
    client = Client(service)
    yield client
    client.close()


def call(client, data, path=AUTHORIZE, **options):
    """The status of a call with these bytes of messages."""
    stream = client.start(path, **options)
    client.send(stream, data, end=True)
    return client.status(stream)


def test_ten_thousand_calls_on_one_connection(service):
    limiter = service.limiter()
    calls = [limiter.Authorize.future(request("huge", str(i % 100)))
             for i in range(10_000)]
    assert not any(call.result(60).limited for call in calls)


def test_thousands_of_streams_at_a_time(serve):
    service = serve("--max-streams", 5_000)
    client = Client(service)
    client.wait(h2.events.RemoteSettingsChanged)
    # Python takes seconds for them, and the service waits for a minute.
    streams = [client.start(AUTHORIZE) for _ in range(5_000)]
    assert not service.limiter().Authorize(request("huge", "x")).limited
    for stream in streams:
        client.send(stream, framed(OK), end=True)
    for stream in streams[::1000] + streams[-1:]:
        assert client.status(stream) == ("0", "")
    client.close()


def test_calls_that_last_are_few_for_each_connection(service):
    channel = service.channel()
    health = health_pb2_grpc.HealthStub(channel)
    watches = [health.Watch(health_pb2.HealthCheckRequest())
               for _ in range(100)]
    for watch in watches:
        assert next(watch).status == 1
    code, message = error_of(
        lambda: next(health.Watch(health_pb2.HealthCheckRequest())))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert message == "the connection has too many calls that last"
    # Others are not concerned, and an end makes room.
    assert not pb_grpc.LimiterStub(channel).Authorize(
        request("huge", "x")).limited
    watches[7].cancel()
    eventually(lambda: watch_again(health) == 1)
    for watch in watches:
        watch.cancel()


def watch_again(health):
    try:
        return next(health.Watch(health_pb2.HealthCheckRequest())).status
    except grpc.RpcError:
        return 0


def test_more_streams_than_allowed_are_refused(serve):
    # Before it has read the settings; later it would break the rules.
    client = Client(serve("--max-streams", 5))
    streams = [client.start(WATCH) for _ in range(6)]
    reset = client.wait(h2.events.StreamReset)
    assert (reset.stream_id, reset.error_code) == (streams[5], 7)


def test_many_clients_at_once(serve):
    service = serve("--workers", 2)

    def work(number):
        limiter = service.limiter()
        return sum(not limiter.Authorize(request("user", "all")).limited
                   for _ in range(number))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        allowed = sum(pool.map(work, [50] * 8))
    assert allowed == 100


@pytest.mark.parametrize("name", [
    "/limitree.v1.Limiter/Nothing", "/Nobody/Authorize", "/",
    "/limitree.v1.Limiter/Authorize/", "/limitree.v1.limiter/Authorize"])
def test_an_unknown_method_is_unimplemented(client, name):
    assert call(client, framed(OK), path=name) == (
        "12", "there is no such method")


@pytest.mark.parametrize("content_type", [
    "application/json", "application/grpc-web", "application/grpcx", ""])
def test_what_is_no_grpc_gets_415(client, content_type):
    stream = client.start(AUTHORIZE, end=True,
                          headers={"content-type": content_type})
    answer = client.answer(stream)
    assert answer["header"][":status"] == "415"
    assert not answer["body"]


def test_no_content_type_gets_415(client):
    stream = client.start(AUTHORIZE, end=True, without=["content-type"])
    assert client.answer(stream)["header"][":status"] == "415"


@pytest.mark.parametrize("content_type", [
    "application/grpc", "application/grpc+proto", "application/grpc;x=y"])
def test_types_of_grpc_are_known(client, content_type):
    assert call(client, framed(OK),
                headers={"content-type": content_type}) == ("0", "")


def test_another_method_of_http_gets_405(client):
    stream = client.start("/", end=True, headers={":method": "GET"})
    assert client.answer(stream)["header"][":status"] == "405"


def test_the_answer_is_as_the_protocol_says(client):
    stream = client.start(AUTHORIZE)
    client.send(stream, framed(OK), end=True)
    answer = client.answer(stream)
    assert answer["header"][":status"] == "200"
    assert answer["header"]["content-type"] == "application/grpc"
    assert answer["body"][0] == 0
    assert int.from_bytes(answer["body"][1:5], "big") == (
        len(answer["body"]) - 5)
    assert answer["trailers"] == {"grpc-status": "0"}


@pytest.mark.parametrize("message", [
    b"\x0a\x05x", b"\x0a", b"\x00\x01", b"\x0b", b"\xff" * 20])
def test_a_malformed_message_is_an_invalid_argument(client, message):
    for path in (AUTHORIZE, "/limitree.v1.Limiter/Reset",
                 "/grpc.health.v1.Health/Check", WATCH, REFLECTION):
        assert call(client, framed(message), path=path) == (
            "3", "the request is not a valid protobuf message")


def test_unknown_fields_are_ignored(client):
    assert call(client, framed(OK + b"\xf8\x7f\x01")) == ("0", "")


def noise(size):
    return random.Random(1).randbytes(size)


def zipped(message):
    return framed(gzip.compress(message), flag=1)


@pytest.mark.parametrize("compression", [
    grpc.Compression.Gzip, grpc.Compression.NoCompression])
def test_a_client_may_compress(service, compression):
    limiter = pb_grpc.LimiterStub(service.channel(
        ("grpc.default_compression_algorithm", compression)))
    for text in ("x", "x" * 10_000, noise(500_000).hex()):
        assert not limiter.Authorize(request("huge", text)).limited
    decision = limiter.Authorize(pb.DecideRequest(paths=[
        pb.Path(segments=["user", f"{i}" * 100]) for i in range(900)]))
    assert decision.level_count == 900 and len(decision.levels) == 900
    with grpc.insecure_channel(service.target,
                               compression=compression) as channel:
        assert not pb_grpc.LimiterStub(channel).Authorize(
            request("huge", "x" * 1000)).limited


MANY = pb.DecideRequest(paths=[
    pb.Path(segments=["user", f"{i}"]) for i in range(100)]).SerializeToString()


@pytest.mark.parametrize("fields, packed", [
    ({"grpc-encoding": "gzip", "grpc-accept-encoding": "identity, gzip"}, True),
    ({"grpc-encoding": "gzip", "grpc-accept-encoding": "deflate"}, False),
    ({"grpc-encoding": "gzip"}, False),
    ({"grpc-accept-encoding": "gzip"}, False)],
    ids=["both", "takes-deflate", "takes-none", "does-not-compress"])
def test_answers_are_compressed_for_clients_that_compress(client, fields,
                                                          packed):
    message = zipped(MANY) if "grpc-encoding" in fields else framed(MANY)
    stream = client.start(AUTHORIZE, headers=fields)
    client.send(stream, message, end=True)
    answer = client.answer(stream)
    assert answer["trailers"] == {"grpc-status": "0"}
    assert answer["header"].get("grpc-encoding") == ("gzip" if packed else None)
    assert answer["body"][0] == packed
    assert int.from_bytes(answer["body"][1:5], "big") == (
        len(answer["body"]) - 5)
    body = answer["body"][5:]
    decision = pb.Decision.FromString(gzip.decompress(body) if packed else body)
    assert decision.level_count == 100
    # A short one is not worth it.
    stream = client.start(AUTHORIZE, headers=fields)
    client.send(stream, framed(OK), end=True)
    assert client.answer(stream)["body"][0] == 0


def test_messages_that_cannot_be_unpacked(client):
    fields = {"grpc-encoding": "gzip"}
    assert call(client, framed(OK, flag=1)) == (
        "13", "a message is compressed, but grpc-encoding does not say how")
    assert call(client, framed(OK, flag=1), headers=fields) == (
        "13", "the message is not valid gzip")
    assert call(client, zipped(OK)[:-1] + b"x", headers=fields) == (
        "13", "the message is not valid gzip")
    assert call(client, framed(OK), headers=fields) == ("0", "")
    stream = client.start(AUTHORIZE, headers={"grpc-encoding": "deflate"})
    client.send(stream, framed(zlib.compress(OK), flag=1), end=True)
    answer = client.answer(stream)
    assert answer["header"]["grpc-status"] == "12"
    assert answer["header"]["grpc-accept-encoding"] == "identity,gzip"
    assert call(client, zipped(OK), headers=fields,
                path="/grpc.health.v1.Health/Check")[0] in ("0", "5", "3")


def test_a_bomb_costs_as_much_as_the_largest_message(service, client):
    before = service.memory()
    bomb = zipped(bytes(200_000_000))
    for _ in range(20):
        stream = client.start(AUTHORIZE, headers={"grpc-encoding": "gzip"})
        client.send_all(stream, bomb)
        assert client.status(stream) == (
            "8", "the message has more than 4194304 bytes when it is unpacked")
    assert service.memory() - before < 20_000_000
    # Many of them are a flood.
    large = zipped(noise(50_000) + bytes(4_000_000))
    with pytest.raises((AssertionError, OSError,
                        h2.exceptions.ProtocolError)):
        for _ in range(100):
            stream = client.start(AUTHORIZE, headers={"grpc-encoding": "gzip"})
            client.send_all(stream, large)
            assert client.status(stream)[0] == "3"
    assert client.wait(h2.events.ConnectionTerminated).error_code == 11


def test_a_small_bomb_costs_little(service, client):
    """Each would take 10 ms if it were unpacked as far as 4 MiB."""
    bomb = zipped(bytes(4_000_000))
    assert len(bomb) < 4096
    before = service.cpu()
    for _ in range(100):
        code, message = call(client, bomb, headers={"grpc-encoding": "gzip"})
        assert code == "8" and message.endswith("bytes when it is unpacked")
    assert service.cpu() - before < 0.5


def test_another_flag_is_an_error(client):
    assert call(client, framed(OK, flag=2)) == (
        "13", "the flag of a message must be 0 or 1")


def test_a_huge_message_is_refused(serve):
    service = serve("--max-message", 100_000)
    limiter = service.limiter()
    code, message = error_of(lambda: limiter.Authorize(
        request("user", "x" * 200_000)))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED
    assert message.endswith("bytes, more than 100000")
    # It need not even be sent.
    client = Client(service)
    stream = client.start(AUTHORIZE)
    client.send(stream, b"\0\xff\xff\xff\xff")
    assert client.status(stream) == (
        "8", "the message has 4294967295 bytes, more than 100000")


def test_a_large_message_is_read(service):
    limiter = service.limiter()
    decision = limiter.Authorize(pb.DecideRequest(paths=[
        pb.Path(segments=["user", f"{i}" * 1000]) for i in range(900)]))
    assert decision.level_count == 900


def test_messages_that_are_not_complete_share_their_memory(service):
    client = Client(service)
    begun = b"\0" + (4_000_000).to_bytes(4, "big") + b"x" * 3_900_000
    streams = [client.start(AUTHORIZE) for _ in range(4)]
    for stream in streams:
        assert client.send_all(stream, begun)
    late = client.start(AUTHORIZE)
    assert not client.send_all(late, begun)
    assert client.status(late) == (
        "8", "too many messages of the connection are not complete")
    client.close()


def test_a_call_without_a_message_is_an_error(client):
    stream = client.start(AUTHORIZE, end=True)
    assert client.status(stream) == ("12", "this method takes one message")


def test_a_call_with_two_messages_is_an_error(client):
    assert call(client, framed(OK) * 2) == (
        "12", "this method takes one message")


@pytest.mark.parametrize("size", [1, 4, 5, len(OK) + 4])
def test_a_message_that_ends_early_is_an_error(client, size):
    assert call(client, framed(OK)[:size]) == (
        "13", "the message is not complete")


def test_a_message_byte_by_byte(client):
    stream = client.start(AUTHORIZE)
    for byte in framed(OK):
        client.send(stream, bytes([byte]))
    client.send(stream, b"", end=True)
    assert client.status(stream) == ("0", "")


def test_a_client_that_does_not_end_its_side_is_answered(client):
    stream = client.start(AUTHORIZE)
    client.send(stream, framed(OK))
    assert client.status(stream) == ("0", "")
    # It need not go on.
    assert client.wait(h2.events.StreamReset, stream).error_code == 0


def test_a_client_that_closes_its_half_is_answered(client):
    client.wait(h2.events.RemoteSettingsChanged)
    stream = client.start(AUTHORIZE)
    client.send(stream, framed(OK), end=True)
    client.socket.shutdown(socket.SHUT_WR)
    assert client.status(stream) == ("0", "")


def test_a_message_of_a_status_is_short(service):
    health = health_pb2_grpc.HealthStub(service.channel())
    code, message = error_of(lambda: health.Check(
        health_pb2.HealthCheckRequest(service="\u00e4" * 100_000)))
    assert code == grpc.StatusCode.NOT_FOUND
    assert message.startswith("unknown service \u00e4")
    assert message.endswith("\u00e4...") and len(message.encode()) <= 2003


def test_fields_that_are_too_large_are_refused(client):
    stream = client.start(AUTHORIZE, headers={"x-large": "x" * 17_000})
    assert client.wait(h2.events.StreamReset, stream).error_code == 11
    assert call(client, framed(OK)) == ("0", "")


def test_a_client_learns_that_its_fields_are_too_large(service):
    limiter = service.limiter(("grpc.max_metadata_size", 100_000))
    code, _ = error_of(lambda: limiter.Authorize(
        request("huge", "x"), metadata=[("x-large", "x" * 17_000)]))
    assert code == grpc.StatusCode.RESOURCE_EXHAUSTED


def test_the_deadline_of_the_client_holds_here_too(client):
    start = time.monotonic()
    stream = client.start(WATCH, headers={"grpc-timeout": "200m"})
    client.send(stream, framed(b""), end=True)
    assert client.status(stream) == ("4", "the deadline has passed")
    assert 0.2 <= time.monotonic() - start < 30
    # Also while a request is not complete.
    stream = client.start(AUTHORIZE, headers={"grpc-timeout": "1m"})
    assert client.status(stream) == ("4", "the deadline has passed")
    stream = client.start(AUTHORIZE, headers={"grpc-timeout": "0n"})
    assert client.status(stream) == ("4", "the deadline has passed")


def test_deadlines_of_grpcio(service):
    health = health_pb2_grpc.HealthStub(service.channel())
    watches = [health.Watch(health_pb2.HealthCheckRequest(), timeout=5)
               for _ in range(100)]
    start = time.monotonic()
    for watch in watches:
        code, _ = error_of(lambda watch=watch: list(watch))
        assert code == grpc.StatusCode.DEADLINE_EXCEEDED
    assert time.monotonic() - start < 30
    assert health.Check(health_pb2.HealthCheckRequest(), timeout=60).status == 1


@pytest.mark.parametrize("timeout", ["1", "S", "1x", "-1S", "123456789S"])
def test_a_malformed_deadline_is_an_error(client, timeout):
    assert call(client, framed(OK), headers={"grpc-timeout": timeout}) == (
        "13", "grpc-timeout is malformed")


def test_a_client_that_cancels_leaves_nothing(service):
    health = health_pb2_grpc.HealthStub(service.channel())
    before = service.memory()
    for _ in range(200):
        watches = [health.Watch(health_pb2.HealthCheckRequest())
                   for _ in range(50)]
        for watch in watches:
            next(watch)
            watch.cancel()
    assert service.memory() - before < 20_000_000
    assert health.Check(health_pb2.HealthCheckRequest()).status == 1


def test_connections_end_with_their_clients(service):
    before = service.descriptors()
    for _ in range(100):
        client = Client(service)
        client.start(WATCH)
        client.close()
    eventually(lambda: service.descriptors() <= before)


def test_calls_of_many_threads_on_one_channel(service):
    limiter = service.limiter()
    wrong = []

    def work():
        for _ in range(200):
            try:
                limiter.Authorize(request("huge", "x"))
            except grpc.RpcError as error:
                wrong.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_unix_socket(serve, tmp_path):
    service = serve(listen=f"unix:{tmp_path}/s")
    assert service.target == f"unix:{tmp_path}/s"
    assert not service.limiter().Authorize(request("huge", "x")).limited
    service.terminate()
    assert service.wait() == 0
    assert not (tmp_path / "s").exists()
