"""The spans that `limitree serve` sends, as a collector gets them."""

import ssl
import subprocess
import time

import httpx
import pytest
from authority import Authority
from collector import attributes
from service import COMMAND, PATIENT, error_of, request

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
SPAN = "00f067aa0ba902b7"
METHOD = "limitree.v1.Limiter/Authorize"


def ask(service, **metadata):
    fields = [(name.replace("_", "-"), value)
              for name, value in metadata.items()]
    return service.limiter().Authorize(request("user", "alex"),
                                       metadata=fields)


def test_a_request_is_a_span(serve, collect):
    collector = collect()
    service = serve("--otlp", collector.url)
    before = time.time_ns()
    ask(service)
    handler, message = collector.get()
    assert handler.path == "/v1/traces"
    assert handler.headers["Content-Type"] == "application/x-protobuf"
    (each,) = message.resource_spans
    resource = attributes(each.resource)
    assert resource["service.name"] == "RateLimit"
    assert len(resource["service.instance.id"]) == 36
    (span,) = each.scope_spans[0].spans
    assert span.name == METHOD
    assert span.kind == 2
    assert len(span.trace_id) == 16
    assert len(span.span_id) == 8
    assert not span.parent_span_id
    assert not span.HasField("status")
    assert attributes(span) == {
        "rpc.system": "grpc", "rpc.service": "limitree.v1.Limiter",
        "rpc.method": "Authorize", "rpc.grpc.status_code": 0}
    # The clock may have been set a little in the meantime.
    second = 10**9
    assert before - second < span.start_time_unix_nano
    assert span.start_time_unix_nano < span.end_time_unix_nano
    assert span.end_time_unix_nano < time.time_ns() + second


def test_a_token_that_rotates(serve, collect, tmp_path):
    collector = collect()
    file = tmp_path / "headers"
    file.write_text("authorization=Bearer%20one\n", "ascii")
    service = serve("--otlp", collector.url, "--otlp-headers", "x=y",
                    "--otlp-headers-file", file)
    for token in ("one", "two"):
        file.write_text(f"authorization=Bearer%20{token}\n", "ascii")
        ask(service)
        handler, _ = collector.get()
        assert handler.headers["authorization"] == f"Bearer {token}"
        assert handler.headers["x"] == "y"


@pytest.mark.parametrize("metadata", [
    {"traceparent": f"00-{TRACE}-{SPAN}-01"},
    {"b3": f"{TRACE}-{SPAN}-1"},
    {"x_b3_traceid": TRACE, "x_b3_spanid": SPAN, "x_b3_sampled": "1"}])
def test_a_span_belongs_to_the_trace_of_the_client(serve, collect, metadata):
    collector = collect()
    ask(serve("--otlp", collector.url, "--sampling-rate", 0), **metadata)
    (span,) = collector.spans(1)
    assert span.trace_id.hex() == TRACE
    assert span.parent_span_id.hex() == SPAN
    assert span.span_id.hex() != SPAN


def test_the_client_decides_what_is_recorded(serve, collect):
    collector = collect()
    service = serve("--otlp", collector.url)
    ask(service, traceparent=f"00-{TRACE}-{SPAN}-00")
    ask(service, b3="0")
    ask(service, traceparent=f"00-{TRACE}-{SPAN}-01")
    service.terminate()
    assert service.wait() == 0
    assert [span.trace_id.hex() for span in collector.spans(1)] == [TRACE]
    assert collector.requests.empty()


def test_no_call_of_one_connection_leaves_its_trace_to_the_next(serve, collect):
    collector = collect()
    service = serve("--otlp", collector.url)
    limiter = service.limiter()
    limiter.Authorize(request("user", "alex"),
                      metadata=[("traceparent", f"00-{TRACE}-{SPAN}-01")])
    limiter.Authorize(request("user", "alex"))
    first, second = sorted(collector.spans(2),
                           key=lambda span: span.start_time_unix_nano)
    assert first.trace_id.hex() == TRACE
    assert second.trace_id.hex() != TRACE


@pytest.mark.parametrize("http2", [False, True], ids=["http1", "http2"])
def test_a_request_of_http_is_a_span(serve, collect, http2):
    collector = collect()
    service = serve("--otlp", collector.url, "--http-listen", "127.0.0.1:0",
                    "--sampling-rate", 0)
    before = time.time_ns()
    with httpx.Client(base_url=service.http[0], http1=not http2, http2=http2,
                      headers={"TraceParent": f"00-{TRACE}-{SPAN}-01"},
                      ) as client:
        asked = {"paths": [["user", "alex", "trade"]]}
        for status in (200, 200, 200, 429):
            answer = client.post("/v1/authorize", json=asked)
            assert answer.status_code == status
        client.request("REPORT", "/json")
        client.get("/healthcheck", headers={"traceparent": ""})  # not recorded
        client.get("/none")  # not a request of a handler
    *decided, other = sorted(collector.spans(5),
                              key=lambda span: span.start_time_unix_nano)
    for span, status in zip(decided, (200, 200, 200, 429)):
        assert span.name == "POST /v1/authorize"
        assert span.kind == 2
        assert span.trace_id.hex() == TRACE
        assert span.parent_span_id.hex() == SPAN
        assert not span.HasField("status")
        assert attributes(span) == {
            "http.request.method": "POST", "http.route": "/v1/authorize",
            "url.path": "/v1/authorize", "http.response.status_code": status}
        assert before - 10**9 < span.start_time_unix_nano
        assert span.start_time_unix_nano < span.end_time_unix_nano
    assert other.name == "HTTP /json"
    assert attributes(other)["http.request.method"] == "_OTHER"
    assert attributes(other)["http.response.status_code"] == 400
    assert collector.requests.empty()


def test_an_error_of_http_has_its_status(serve, collect):
    collector = collect()
    service = serve("--otlp", collector.url, "--http-listen", "127.0.0.1:0",
                    "--store", "redis://127.0.0.1:1", "--set",
                    "on_store_error=raise")
    answer = httpx.post(f"{service.http[0]}/v1/authorize",
                        json={"paths": [["user", "alex"]]})
    assert answer.status_code == 503
    (span,) = collector.spans(1)
    assert attributes(span)["http.response.status_code"] == 503
    assert span.status.code == 2


def test_an_error_has_its_status(serve, collect):
    collector = collect()
    service = serve("--otlp", collector.url)
    error_of(lambda: service.limiter().Authorize(request("nobody")))
    (span,) = collector.spans(1)
    assert attributes(span)["rpc.grpc.status_code"] == 5
    assert not span.HasField("status")  # the client's fault


def test_spans_of_all_workers_arrive(serve, collect):
    collector = collect()
    service = serve("--otlp", collector.url, "--workers", 2)
    for _ in range(6):
        limiter = service.limiter()
        for _ in range(200):
            limiter.Authorize(request("user", "alex"))
    spans = collector.spans(1200)
    assert len({span.span_id for span in spans}) == 1200


def test_a_collector_that_is_busy_gets_spans_later(serve, collect):
    collector = collect(503, 429)
    service = serve("--otlp", collector.url)
    ask(service)
    assert service.wait_for("cannot send spans").endswith(
        f": {collector.url}/v1/traces: status 503")
    collector.spans(1)
    service.wait_for("spans are sent again")


def test_what_a_collector_refuses_is_dropped(serve, collect):
    collector = collect(400)
    service = serve("--otlp", collector.url)
    ask(service)
    service.wait_for("status 400")
    ask(service, traceparent=f"00-{TRACE}-{SPAN}-01")
    (span,) = collector.spans(1)
    assert span.trace_id.hex() == TRACE


def test_the_last_spans_are_sent_at_the_end(serve, collect):
    collector = collect()
    service = serve("--otlp", collector.url)
    ask(service)
    service.terminate()
    assert service.wait() == 0
    collector.spans(1)


def test_no_collector_harms_nobody(serve):
    service = serve("--otlp", "http://nobody.invalid:4318")
    ask(service)
    service.wait_for("cannot send spans: http://nobody.invalid:4318/v1")
    ask(service)
    service.terminate()
    assert service.wait() == 0


def test_the_log_has_no_secret_of_the_collectors_address(serve, collect):
    collector = collect(503)
    service = serve("--otlp", collector.url.replace("://", "://me:secret@")
                    + "?key=hidden")
    ask(service)
    assert service.wait_for("cannot send spans").endswith(
        f": {collector.url}/v1/traces: status 503")
    collector.spans(1)
    assert not any(word in line for line in service.lines
                   for word in ("secret", "hidden"))


def test_wrong_settings(limits):
    done = subprocess.run(
        [COMMAND, "serve", limits, "--otlp", "localhost:4318"], text=True,
        capture_output=True, check=False, timeout=PATIENT)
    assert done.returncode != 0
    assert done.stderr == (
        "limitree: --otlp must begin with http:// or "
        "https://, is localhost:4318\n")


def test_spans_are_never_sent_by_grpc(serve):
    service = serve(env={"TRACING_ENABLED": "true",
                         "TRACING_EXPORTER_PROTOCOL": "grpc"})
    assert service.lines[0] == (
        "limitree: warning: TRACING_EXPORTER_PROTOCOL: spans are sent by OTLP "
        "over HTTP only; none are sent")


def test_a_collector_that_asks_for_a_certificate(serve, collect, tmp_path):
    authority = Authority(tmp_path / "authority")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH,
                                         cafile=authority.cert)
    context.load_cert_chain(*authority.sign("collector", "IP:127.0.0.1"))
    context.verify_mode = ssl.CERT_REQUIRED
    collector = collect()
    collector.socket = context.wrap_socket(collector.socket, server_side=True)
    cert, key = authority.sign("service", "DNS:service.example")
    url = collector.url.replace("http", "https")
    trusting = {"TRACING_ENABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": url,
                "OTEL_EXPORTER_OTLP_CERTIFICATE": str(authority.cert)}
    for env in (
            {"OTEL_EXPORTER_OTLP_CERTIFICATE": str(tmp_path / "none")}, {}):
        service = serve(env={**trusting, **env})
        service.limiter().Authorize(request("user", "alex"))
        service.wait_for(f"cannot send spans: {url}/v1/traces: ")
    service = serve(env={
        **trusting, "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": str(cert),
        "OTEL_EXPORTER_OTLP_CLIENT_KEY": str(key)})
    service.limiter().Authorize(request("user", "alex"))
    assert collector.spans(1)[0].name == METHOD
