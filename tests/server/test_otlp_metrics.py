"""The metrics that `limitree serve` sends to a collector."""

import re
import time
import urllib.request

import pytest
from collector import attributes
from prometheus_client.parser import text_string_to_metric_families
from service import error_of, fails, request

OFTEN = "--otlp-metrics-interval", "50ms"
CUMULATIVE = 2


def ask(service, times=1):
    for _ in range(times):
        service.limiter().Authorize(request("user", "alex", "trade"))


def value_of(point):
    return getattr(point, point.WhichOneof("value"))


def points_of(metric):
    """By labels, without those of the time."""
    kind = metric.WhichOneof("data")
    return {tuple(sorted(attributes(point).items())): point
            for point in getattr(metric, kind).data_points}


def test_all_of_the_page_for_prometheus_is_sent(serve, collect):
    """By the same names, with the same values."""
    collector = collect()
    before = time.time_ns()
    service = serve("--otlp-metrics", collector.url, "--admin-listen",
                    "127.0.0.1:0", "--otlp-attributes",
                    "k8s.pod.name=pod%201,service.name=x", "--set",
                    "on_store_error=raise")
    ask(service, times=4)
    error_of(lambda: service.limiter().Authorize(request("nobody")))
    with urllib.request.urlopen(service.admin[0] + "/metrics") as answer:
        page = answer.read().decode()
    service.terminate()  # sends them, long before a minute is over
    assert service.wait() == 0
    handler, message = collector.requests.queue[0]
    assert handler.path == "/v1/metrics"
    assert handler.headers["Content-Type"] == "application/x-protobuf"
    resource = attributes(message.resource_metrics[0].resource)
    assert resource.pop("service.instance.id")
    assert resource == {"service.name": "RateLimit", "k8s.pod.name": "pod 1"}
    metrics = collector.metrics()
    # Of a family without values, which one may be in the page, nothing is sent.
    families = dict(re.findall(r"^# TYPE (\w+) (\w+)\n[^#]", page, re.M))
    assert {name: metric.WhichOneof("data")
            for name, metric in metrics.items()} == {
        name: {"counter": "sum"}.get(kind, kind)
        for name, kind in families.items()}
    seen = 0
    for family in text_string_to_metric_families(page):
        for sample in family.samples:
            name = sample.name
            if name not in metrics:
                name = name.removesuffix("_total")
            if name not in metrics or name.startswith("process_"):
                continue  # of a histogram; or it has gone on
            assert metrics[name].description == family.documentation
            point = points_of(metrics[name])[
                tuple(sorted(sample.labels.items()))]
            assert value_of(point) == sample.value, sample
            assert before <= point.time_unix_nano <= time.time_ns()
            seen += 1
    assert seen > 30
    decided = metrics["limitree_limit_requests_total"].sum
    assert decided.is_monotonic
    assert decided.aggregation_temporality == CUMULATIVE
    point = points_of(metrics["limitree_limit_requests_total"])[
        ("answer", "limited"), ("policy", "user:*/trade")]
    assert value_of(point) == 1
    assert before <= point.start_time_unix_nano <= point.time_unix_nano
    assert metrics["process_cpu_seconds_total"].sum.data_points[0].as_double > 0


def test_times_are_a_histogram(serve, collect):
    collector = collect()
    service = serve("--otlp-metrics", collector.url)
    ask(service, times=3)
    service.terminate()
    assert service.wait() == 0
    metric = collector.metrics()["ratelimit_service_response_time_seconds"]
    assert metric.histogram.aggregation_temporality == CUMULATIVE
    point = points_of(metric)[("grpc_method", "Authorize"),]
    assert point.count == sum(point.bucket_counts) == 3
    assert 0 < point.sum < 60
    assert list(point.explicit_bounds) == sorted(point.explicit_bounds)
    assert point.explicit_bounds[0] == 1e-6
    assert len(point.bucket_counts) == len(point.explicit_bounds) + 1
    # Each bucket has its own, not those below it.
    assert max(point.bucket_counts) <= 3
    other = points_of(metric)[("grpc_method", "Peek"),]
    assert not other.count
    assert not any(other.bucket_counts)


def test_sums_go_on_also_after_a_message_is_lost(serve, collect):
    collector = collect(503)
    service = serve("--otlp-metrics", collector.url, *OFTEN)
    ask(service)
    assert service.wait_for("cannot send metrics").endswith(
        f": {collector.url}/v1/metrics: status 503")
    service.wait_for("metrics are sent again")
    ask(service)

    def sent():
        points = points_of(collector.metrics()["limitree_decisions_total"])
        return value_of(points[("answer", "allowed"), ("source", "store")])

    until = time.monotonic() + 60
    while (now := sent()) < 2:
        assert time.monotonic() < until
    assert now == 2


def test_variables_of_opentelemetry_count(serve, collect):
    collector = collect()
    service = serve(env={
        "OTEL_METRICS_EXPORTER": "otlp", "OTEL_METRIC_EXPORT_INTERVAL": "50",
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "OTEL_EXPORTER_OTLP_METRICS_HEADERS": "x-key=a%20b",
        "OTEL_SERVICE_NAME": "limits"})
    handler, message = collector.get()
    assert handler.headers["x-key"] == "a b"
    assert attributes(message.resource_metrics[0].resource)[
        "service.name"] == "limits"
    service.terminate()
    assert service.wait() == 0


def test_no_collector_harms_nobody(serve):
    service = serve("--otlp-metrics", "http://nobody.invalid:4318", *OFTEN)
    service.wait_for("cannot send metrics: http://nobody.invalid:4318/v1")
    ask(service)
    service.terminate()
    assert service.wait() == 0


@pytest.mark.parametrize(("code", "words", "message"), [
    (2, ["--otlp-metrics", "localhost:4318"],
     "limitree: --otlp-metrics must begin with http:// or "
     "https://, is localhost:4318"),
    (1, ["--otlp-metrics", "http://x", "--otlp-attributes", "x"],
     "limitree: OTEL_RESOURCE_ATTRIBUTES: field 1 is not NAME=VALUE"),
])
def test_wrong_settings(limits, code, words, message):
    assert fails(limits, *words, code=code) == [message]
