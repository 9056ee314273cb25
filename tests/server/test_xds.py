"""Descriptors that a server sends while the service runs."""

import pathlib
import queue
import signal
import socket

import grpc
import pytest
from authority import Authority
from grpc_health.v1 import health_pb2, health_pb2_grpc
from service import error_of, eventually, limit_of, request
from xds_server import TYPE, XdsServer, conf, config, rule, xds

RELOADED = "the descriptors are reloaded: "
FAST = {"CONFIG_TYPE": "GRPC_XDS_SOTW",
        "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL": "10ms",
        "XDS_CLIENT_BACKOFF_MAX_INTERVAL": "50ms"}


@pytest.fixture(name="xds_server")
def make_xds_server():
    server = XdsServer()
    yield server
    server.stop()


@pytest.fixture(name="follow")
def make_follow(serve, xds_server):
    """Starts a service that follows the server."""
    def start(*words, **env):
        waits = env.pop("waits", False)
        return serve(*words, waits=waits, env={
            **FAST, "CONFIG_GRPC_XDS_SERVER_URL": xds_server.place, **env})
    return start


def health(service):
    stub = health_pb2_grpc.HealthStub(service.channel())
    answer = stub.Check(health_pb2.HealthCheckRequest(service="ratelimit"))
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


def test_the_first_question(xds_server, follow):
    follow(waits=True, CONFIG_GRPC_XDS_NODE_ID="node-1",
           CONFIG_GRPC_XDS_NODE_METADATA="zone=a,tier:b",
           CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS="X-Token: t, x-b:2")
    first = xds_server.request()
    assert first.node.id == "node-1"
    assert dict(first.node.metadata) == {"zone": "a", "tier": "b"}
    assert first.node.user_agent_name == "limitree"
    assert first.type_url == TYPE
    assert (first.version_info, first.response_nonce) == ("", "")
    assert not first.HasField("error_detail")
    assert xds_server.metadata[0]["x-token"] == "t"
    assert xds_server.metadata[0]["x-b"] == "2"


def test_it_waits_for_the_first_configuration(xds_server, follow):
    service = follow(waits=True)
    service.wait_for(f"waiting for descriptors of {xds_server.place}")
    xds_server.request()
    xds_server.publish("1", config(""))
    xds_server.request()
    assert not any("listening" in line for line in service.lines)
    xds_server.publish("2", config())
    service.wait_until_listening()
    assert not service.limiter().Authorize(request("huge", "x")).limited


def test_it_ends_while_it_waits(follow):
    service = follow(waits=True)
    service.wait_for("waiting for descriptors")
    service.terminate()
    assert service.wait() == 0


def test_what_is_loaded_is_acknowledged(xds_server, follow):
    xds_server.publish("1", config("one"), config("two", name="other"))
    service = follow(waits=True)
    assert service.wait_for(RELOADED).endswith(": 2 files")
    xds_server.request()
    ack = xds_server.request()
    assert (ack.version_info, ack.response_nonce) == ("1", "nonce-1")
    assert not ack.HasField("error_detail")
    xds_server.publish("2")
    assert service.wait_for(RELOADED).endswith(": 0 files")
    assert xds_server.request().version_info == "2"


def test_what_was_loaded_last_decides(xds_server, follow):
    service = follow("--start-without")
    assert error_of(lambda: limit_of(service)) == (
        grpc.StatusCode.UNAVAILABLE, "no rate limit configuration loaded")
    for count in 3, 5:
        xds_server.publish(str(count), config("apis", rule(count=count)))
        service.wait_for(RELOADED)
        assert limit_of(service).requests_per_unit == count


def test_a_mistake_is_refused_with_its_place(xds_server, follow):
    xds_server.publish("1", config())
    service = follow()
    xds_server.request(), xds_server.request()
    xds_server.publish("2", config(
        "apis", rule(), rule("plan", unit=conf.UNKNOWN)))
    nack = xds_server.request()
    assert (nack.version_info, nack.response_nonce) == ("1", "nonce-2")
    assert nack.error_detail.code == 3
    assert nack.error_detail.message.startswith("the-config:3:")
    assert nack.error_detail.message.endswith(
        ": invalid rate limit unit 'UNKNOWN'")
    assert service.wait_for("error").endswith(nack.error_detail.message)
    service.wait_for("the descriptors are as before")
    xds_server.publish("3", config("apis", rule("plan")))
    assert xds_server.request().version_info == "3"


@pytest.fixture(name="insisting")
def make_insisting():
    server = XdsServer(insists=True)
    yield server
    server.stop()


BAD = config("apis", rule("plan", unit=conf.UNKNOWN))


def test_what_is_sent_again_at_once_is_refused_once(serve, insisting):
    insisting.publish("1", config())
    service = serve(env={**FAST, "XDS_CLIENT_BACKOFF_INITIAL_INTERVAL": "1h",
                         "XDS_CLIENT_BACKOFF_MAX_INTERVAL": "1h",
                         "CONFIG_GRPC_XDS_SERVER_URL": insisting.place})
    insisting.request(), insisting.request()
    insisting.publish("2", BAD)
    assert insisting.request().response_nonce == "nonce-2"
    with pytest.raises(queue.Empty):
        insisting.requests.get(timeout=1)
    # A new version need not wait.
    insisting.publish("3", BAD)
    assert insisting.request().response_nonce == "nonce-3"
    insisting.publish("4", config())
    assert insisting.request().version_info == "4"
    assert sum("invalid rate limit unit" in line
               for line in service.lines) == 1


def test_what_is_refused_again_and_again_is_told_by_its_number(
        serve, insisting):
    insisting.publish("1", config())
    service = serve(env={**FAST, "CONFIG_GRPC_XDS_SERVER_URL":
                         insisting.place})
    insisting.request(), insisting.request()
    insisting.publish("2", BAD)
    for _ in range(8):
        nack = insisting.request()
        assert nack.response_nonce == "nonce-2"
        assert nack.error_detail.message.endswith(
            ": invalid rate limit unit 'UNKNOWN'")
    service.wait_for("the descriptors have the same mistakes, 8 times in a "
                     "row")
    # The version counts from 1 again, with what is right.
    insisting.publish("2", config())
    while insisting.request().HasField("error_detail"):
        pass
    service.wait_for(RELOADED)
    errors = [line for line in service.lines if "error" in line]
    assert len(errors) < 12
    assert sum("invalid rate limit unit" in line for line in errors) == 1


@pytest.mark.parametrize(("raw", "message"), [
    (b"\xff\xff", "no valid protobuf message"),
    (xds.DiscoveryResponse(nonce="n", resources=[
        {"type_url": "type.googleapis.com/a.B"}]).SerializeToString(),
     "resource 1: has the type 'type.googleapis.com/a.B'"),
    (xds.DiscoveryResponse(nonce="n", resources=[
        {"type_url": TYPE, "value": b"\x0a\x05"}]).SerializeToString(),
     "resource 1: no valid protobuf message"),
])
def test_what_is_no_configuration_is_refused(xds_server, follow, raw, message):
    xds_server.publish("1", config())
    service = follow()
    xds_server.request(), xds_server.request()
    xds_server.send(raw)
    nack = xds_server.request()
    assert nack.version_info == "1"
    assert nack.error_detail.message == message
    service.wait_for(f"error: {xds_server.place}: {message}")


def test_the_whole_message_is_understood(xds_server, follow):
    deep = rule("a", "b", shadow_mode=True, detailed_metric=True)
    deep.rate_limit.name = "na\"me\\\n"
    deep.rate_limit.replaces.add(name="other")
    deep.metadata.update({"n": 1.5, "s": "t", "b": True, "l": [1, None],
                          "m": {"x": "y"}})
    free = conf.RateLimitDescriptor(key="free", quota_mode=True)
    free.rate_limit.unlimited = True
    free.descriptors.append(deep)
    weekly = rule("w*", "x*", unit=conf.WEEK, count=4294967295)
    xds_server.publish("1", config("apis", free, weekly, rule("zero", count=0)))
    service = follow()
    assert xds_server.request().version_info == ""
    ack = xds_server.request()
    assert ack.version_info == "1", ack


def test_it_connects_again(xds_server, follow):
    xds_server.publish("1", config())
    service = follow()
    xds_server.request(), xds_server.request()
    xds_server.end_streams()
    service.wait_for(f"{xds_server.place}: the server has ended the stream")
    assert xds_server.request().version_info == "1"
    eventually(lambda: xds_server.streams)
    xds_server.end_streams(grpc.StatusCode.RESOURCE_EXHAUSTED)
    service.wait_for(f"{xds_server.place}: status 8: not now, 100%")
    assert not service.limiter().Authorize(request("huge", "x")).limited


def test_a_token_that_rotates(xds_server, follow, tmp_path):
    file = tmp_path / "headers"
    file.write_text("authorization:Bearer one,x-b:2\n", "ascii")
    xds_server.publish("1", config())
    service = follow(CONFIG_GRPC_XDS_CLIENT_ADDITIONAL_HEADERS_FILE=str(file))
    assert xds_server.metadata[0]["authorization"] == "Bearer one"
    assert xds_server.metadata[0]["x-b"] == "2"
    file.write_text("authorization:Bearer two", "ascii")
    xds_server.end_streams()
    eventually(lambda: len(xds_server.metadata) > 1)
    assert xds_server.metadata[1]["authorization"] == "Bearer two"
    # What is no header is not shown.
    file.write_text("two-secrets", "ascii")
    eventually(lambda: xds_server.streams)
    xds_server.end_streams()
    service.wait_for(f"{file}: one is not NAME:VALUE")
    assert not any("two" in line for line in service.lines)


def test_the_server_goes_and_comes_back(xds_server, follow, serve):
    xds_server.publish("1", config())
    service = follow()
    port = xds_server.port
    xds_server.stop()
    service.wait_for(f"127.0.0.1:{port}: connection refused")
    assert not service.limiter().Authorize(request("huge", "x")).limited
    again = XdsServer(port=port)
    try:
        assert again.request().version_info == "1"
        again.publish("2", config("two"))
        assert again.request().version_info == "2"
    finally:
        again.stop()
        service.kill()


def timers_to(port):
    """The kinds of timers that connections to a local port have."""
    lines = pathlib.Path("/proc/net/tcp").read_text("ascii").splitlines()[1:]
    return [line.split()[5].split(":")[0] for line in lines
            if line.split()[2] == f"0100007F:{port:04X}"]


def test_a_machine_that_has_gone_is_noticed(xds_server, follow):
    xds_server.publish("1", config())
    follow()
    # The system will ask whether the other side is still there.
    eventually(lambda: timers_to(xds_server.port) == ["02"])


def test_a_server_that_is_silent_is_given_up(follow, serve):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        service = follow("--xds", place, "--start-without")
        service.wait_for(f"{place}: the server does not answer")


def test_it_may_start_without(follow):
    service = follow("--healthy-with",
                     FORCE_START_WITHOUT_INITIAL_CONFIG="true")
    assert health(service) == "NOT_SERVING"


def test_health_follows_the_descriptors(xds_server, follow):
    service = follow("--healthy-with", "--start-without")
    xds_server.publish("1", config())
    eventually(lambda: health(service) == "SERVING")
    xds_server.publish("2")
    eventually(lambda: health(service) == "NOT_SERVING")


def test_sighup_keeps_the_descriptors(xds_server, follow):
    xds_server.publish("1", config())
    service = follow("--healthy-with")
    service.signal(signal.SIGHUP)
    service.wait_for("the limits are reloaded")
    assert health(service) == "SERVING"


def test_a_message_that_is_too_large(xds_server, follow):
    xds_server.publish("1", config())
    service = follow(XDS_CLIENT_MAX_MSG_SIZE_IN_BYTES="10000")
    xds_server.publish("2", config(
        "apis", *[rule(value=f"value-{i}") for i in range(1000)]))
    service.wait_for("bytes is too large, or compressed")
    xds_server.publish("3", config("three"))
    service.wait_for(RELOADED)


def test_many_descriptors(xds_server, follow):
    xds_server.publish("1", config())
    service = follow()
    xds_server.publish("2", config(
        "apis", *[rule(value=f"value-{i}") for i in range(10_000)]))
    service.wait_for(RELOADED)


@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("xds") / "one")


@pytest.fixture(name="secure")
def make_secure(authority):
    """A server whose name is control.example, and which wants certificates."""
    cert, key = authority.sign("control", "DNS:control.example")
    server = XdsServer(grpc.ssl_server_credentials(
        [(key.read_bytes(), cert.read_bytes())],
        root_certificates=authority.cert.read_bytes(),
        require_client_auth=True))
    yield server
    server.stop()


def test_tls_with_certificates_of_both(secure, authority, serve):
    secure.publish("1", config())
    cert, key = authority.sign("service", "DNS:service.example")
    service = serve(env={
        **FAST, "CONFIG_GRPC_XDS_SERVER_URL": secure.place,
        "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true",
        "CONFIG_GRPC_XDS_SERVER_TLS_CACERT": str(authority.cert),
        "CONFIG_GRPC_XDS_CLIENT_TLS_CERT": str(cert),
        "CONFIG_GRPC_XDS_CLIENT_TLS_KEY": str(key),
        "CONFIG_GRPC_XDS_SERVER_TLS_SAN": "control.example"})
    # Its records arrive in parts.
    secure.publish("2", config(
        "apis", *[rule(value=f"value-{i}") for i in range(10_000)]))
    service.wait_for(RELOADED)


def test_tls_refuses_another_name(secure, authority, serve):
    cert, key = authority.sign("service", "DNS:service.example")
    words = ["--xds", secure.place, "--xds-tls", "--xds-ca", authority.cert,
             "--xds-cert", cert, "--xds-key", key]
    service = serve(*words, waits=True)
    service.wait_for("TLS: IP address mismatch")
    service = serve(*words, "--xds-name", "other.example", waits=True)
    service.wait_for("TLS: hostname mismatch")


def test_tls_refuses_another_authority(secure, authority, serve,
                                       tmp_path_factory):
    other = Authority(tmp_path_factory.mktemp("xds") / "other")
    service = serve("--xds", secure.place, "--xds-tls", "--xds-ca", other.cert,
                    "--xds-name", "control.example", waits=True)
    service.wait_for("TLS: ")
    assert "listening" not in str(service.lines)
