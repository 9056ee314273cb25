"""limitree.prometheus and limitree.otel, with the real libraries."""

import asyncio
import http.client
import threading

import prometheus_client
import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from prometheus_client.parser import text_string_to_metric_families

import limitree
from limitree import otel, prometheus
from servers import redis_server

USERS = """
schema:
  user:
    children:
      "*": {limits: [1, 30, 60], children: {trade: {limits: [0, 10, 15]}}}
  "odd\\"name\\\\": {limits: 5/minute}
"""


@pytest.fixture
def used(clock):
    with limitree.Limiter(USERS, clock=clock) as limiter:
        for _ in range(3):
            limiter.authorize("user", "ann", "trade")
        limiter.authorize(b'odd"name\\')
        yield limiter


def scrape(registry):
    """Returns the value of each series, as Prometheus would read it."""
    text = prometheus_client.generate_latest(registry).decode()
    return {(sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(text)
            for sample in family.samples}


def series_of(*args, **more):
    registry = prometheus_client.CollectorRegistry()
    registry.register(prometheus.Collector(*args, **more))
    return scrape(registry)


def plain(limiter):
    """The same for the text that the core writes."""
    return {(sample.name, *sorted(sample.labels.items())): sample.value
            for family in text_string_to_metric_families(limiter.prometheus())
            for sample in family.samples}


def test_prometheus_has_what_the_core_says(used):
    found = series_of(used)
    assert found == plain(used)
    assert found["limitree_decisions_total", ("answer", "limited"),
                 ("source", "store")] == 2
    assert found["limitree_limit_requests_total", ("answer", "allowed"),
                 ("policy", 'odd"name\\')] == 1


def test_prometheus_over_http(used):
    registry = prometheus_client.CollectorRegistry()
    registry.register(prometheus.Collector({"api": used}))
    server, thread = prometheus_client.start_http_server(
        0, "127.0.0.1", registry)
    try:
        connection = http.client.HTTPConnection(*server.server_address)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
    assert ('limitree_decisions_total{answer="allowed",limiter="api",'
            'source="store"} 2.0') in text
    assert "# TYPE limitree_store_round_trip_seconds histogram" in text


def test_several_limiters_have_names(used, clock):
    with limitree.Limiter(USERS, clock=clock) as other:
        found = series_of({"used": used, "other": other})
    assert found["limitree_limits", ("limiter", "used")] == 3
    assert found["limitree_limits", ("limiter", "other")] == 3
    assert found["limitree_decisions_total", ("answer", "allowed"),
                 ("limiter", "other"), ("source", "store")] == 0


@pytest.mark.parametrize("end", ["\u2028", "\x85", "\n"])
def test_names_with_ends_of_lines(clock, end):
    name = f"a{end}b"
    with limitree.Limiter({"schema": {name: {"limits": "1/h"}}},
                          clock=clock) as limiter:
        limiter.authorize(name)
        found = series_of(limiter)
        policy = limiter.limit_stats()[0].policy
        assert found["limitree_limit_requests_total", ("answer", "allowed"),
                     ("policy", policy)] == 1


def test_many_limits_are_summed_up(clock):
    children = {f"user{i}": {"limits": [0, 1, 60]} for i in range(500)}
    with limitree.Limiter({"schema": {"user": {"children": children}}},
                          clock=clock) as limiter:
        for i in range(500):
            for _ in range(2):
                limiter.authorize("user", f"user{i}")
        found = series_of(limiter, max_policies=10)
        policies = {dict(key[1:]).get("policy") for key in found}
        assert len(policies - {None}) == 11
        counts = {key: value for key, value in found.items()
                  if key[0] == "limitree_limit_requests_total"}
        assert sum(counts.values()) == 1000
        assert counts["limitree_limit_requests_total", ("answer", "limited"),
                      ("policy", "(other)")] == 490
        # The set of series does not change.
        assert series_of(limiter, max_policies=10).keys() == found.keys()
        assert len(series_of(limiter, max_policies=0)) < len(found)


def test_a_closed_limiter_has_nothing_to_say(used):
    used.close()
    assert series_of(used) == {}
    assert observe(used) == {}


def observe(*args, **more):
    return observed(*reader_of(*args, **more))


def reader_of(*args, **more):
    reader = InMemoryMetricReader()
    provider = MeterProvider([reader])
    otel.instrument(*args, meter_provider=provider, **more)
    return reader, provider


def observed(reader, provider):
    """Returns the value of each point that would be exported."""
    data = reader.get_metrics_data()
    if data is None:
        return {}
    return {(metric.name, *sorted(point.attributes.items())): point.value
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            if scope.scope.name == "limitree"  # the SDK may count, too
            for metric in scope.metrics
            for point in metric.data.data_points}


def test_otel_observes_what_the_core_says(used):
    reader, provider = reader_of(used)
    first = observed(reader, provider)
    assert first["limitree.decisions", ("answer", "limited"),
                 ("source", "store")] == 2
    assert first["limitree.limit.requests", ("answer", "limited"),
                 ("policy", "user:*/trade")] == 2
    assert first["limitree.limits",] == 3
    assert first["limitree.buckets",] == used.stats().buckets
    used.authorize("user", "bob")  # each export reads the counters again
    assert observed(reader, provider)["limitree.decisions",
                                      ("answer", "allowed"),
                                      ("source", "store")] == 3
    provider.shutdown()


def test_otel_has_every_counter_of_the_core(used):
    reader, _ = reader_of(used)
    (resource,) = reader.get_metrics_data().resource_metrics
    (scope,) = resource.scope_metrics
    assert scope.scope.version == limitree.__version__
    names = {metric.name for metric in scope.metrics}
    families = {line.split()[2] for line in used.prometheus().splitlines()
                if line.startswith("# TYPE")}
    told = {f"limitree_{one.family}" for one in otel._INSTRUMENTS}
    assert told == families
    # Failures of the store have no series before the first one.
    assert {f"limitree.{one.name}" for one in otel._INSTRUMENTS} - names == {
        "limitree.store.errors", "limitree.store.troubles"}
    assert all(metric.description and metric.unit for metric in scope.metrics)


def test_otel_is_bounded(clock):
    children = {f"user{i}": {"limits": [0, 1, 60]} for i in range(500)}
    with limitree.Limiter({"schema": {"user": {"children": children}}},
                          clock=clock) as limiter:
        for i in range(500):
            limiter.authorize("user", f"user{i}")
        found = observe({"api": limiter}, max_policies=3)
    assert found["limitree.limit.requests", ("answer", "allowed"),
                 ("limiter", "api"), ("policy", "(other)")] == 497
    assert len(found) < 60


def test_a_store_is_seen():
    async def ask(store):
        async with limitree.AsyncLimiter(USERS, store,
                                         timeout="5s") as limiter:
            for _ in range(4):
                await limiter.authorize("user", "ann", "trade")
            return series_of(limiter), observe(limiter)

    with redis_server() as (store, _):
        series, points = asyncio.run(ask(store))
    trips = series["limitree_store_round_trip_seconds_count",]
    assert trips >= 1 and points["limitree.store.round_trips",] == trips
    assert points["limitree.store.round_trip_time",] == (
        series["limitree_store_round_trip_seconds_sum",])
    assert series["limitree_store_connects_total",] >= 1


def test_threads_may_export_while_others_decide(used):
    reader, provider = reader_of(used)
    done = threading.Event()

    def decide():
        while not done.is_set():
            used.authorize("user", "ann", "trade")

    threads = [threading.Thread(target=decide) for _ in range(3)]
    for thread in threads:
        thread.start()
    counts = [observed(reader, provider)["limitree.decisions",
                                         ("answer", "limited"),
                                         ("source", "store")]
              for _ in range(20)]
    done.set()
    for thread in threads:
        thread.join()
    assert counts == sorted(counts)
