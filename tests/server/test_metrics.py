"""The statistics for Prometheus, by the parser of its client."""

import os
import re
import shutil
import subprocess
import urllib.request

import prometheus_client
import pytest
from prometheus_client.parser import text_string_to_metric_families

PREFIX = "ratelimit_service_"
LIMITS = PREFIX + "rate_limit_"


@pytest.fixture(name="text", scope="module")
def print_text():
    return subprocess.run([os.environ["LIMITREE_PRINT_METRICS"]], check=True,
                          capture_output=True).stdout.decode()


@pytest.fixture(name="samples", scope="module")
def parse(text):
    """Values by name and labels."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            # The parser gives all counters this end.
            name = sample.name.removesuffix("_total")
            key = name, *sorted(sample.labels.items())
            assert key not in found
            found[key] = sample.value
    return found


def limit(name, domain, *keys):
    labels = {f"key{i}": key for i, key in enumerate(keys, 1)}
    return (LIMITS + name, *sorted({"domain": domain, **labels}.items()))


def test_names_are_the_original_ones(text):
    assert ('\n' + LIMITS + 'total_hits{domain="web",key1="key_a"} 50\n'
            in text)
    assert "_total{" not in text


def test_each_family_is_described_once(text):
    types = [line.split()[2] for line in text.splitlines()
             if line.startswith("# TYPE")]
    helps = [line.split()[2] for line in text.splitlines()
             if line.startswith("# HELP")]
    assert types == helps
    assert len(set(types)) == len(types)


@pytest.mark.parametrize("name, value", [
    ("total_hits", 50), ("over_limit", 40), ("near_limit", 30),
    ("over_limit_with_local_cache", 20), ("within_limit", 10),
    ("shadow_mode", 1)])
def test_a_limit_has_its_counters(samples, name, value):
    assert samples[limit(name, "web", "key_a")] == value


def test_limits_below_the_second_key_are_one(samples):
    assert samples[limit("total_hits", "web", "key_a", "path_/x")] == 2
    assert samples[limit("total_negative_hits", "web", "key_a",
                         "path_/x")] == 7


def test_labels_are_escaped(samples):
    assert samples[limit("total_hits", "web", '"quoted\\__\u00e9__')] == 2
    assert samples[limit("within_limit", "web", "ip_10_0_0_1")] == 3


def test_a_domain_without_limits_has_one_counter(samples):
    assert samples[limit("domain_not_found", "nowhere")] == 9
    assert limit("total_hits", "nowhere") not in samples


def test_the_service(samples):
    error = PREFIX + "should_rate_limit_error"
    assert samples[error, ("err_type", "service_error")] == 12
    assert samples[error, ("err_type", "redis_error")] == 13
    assert samples[PREFIX + "config_load_success",] == 14
    assert samples[PREFIX + "config_load_error",] == 15
    assert samples[PREFIX + "global_shadow_mode",] == 11
    assert samples["ratelimit_localcache_hitCount",] == 4
    assert samples["limitree_spans_lost",] == 16  # less its _total


def test_requests(samples):
    requests = PREFIX + "total_requests"
    assert samples[requests, ("grpc_method", "ShouldRateLimit")] == 4
    assert samples[requests, ("grpc_method", "Check")] == 0


def test_the_histogram(samples):
    name = PREFIX + "response_time_seconds"
    method = "grpc_method", "ShouldRateLimit"
    buckets = sorted(
        (float(dict(key[1:])["le"]), value) for key, value in samples.items()
        if key[0] == name + "_bucket" and method in key)
    ends = [end for end, _ in buckets]
    assert len(buckets) == 23
    assert ends[:4] == [1e-6, 2e-6, 5e-6, 1e-5]
    assert ends[-2:] == [10, float("inf")]
    assert [count for _, count in buckets] == [1, *[3] * 21, 4]
    assert samples[name + "_count", method] == 4
    assert samples[name + "_sum", method] == pytest.approx(15.000003002)


# ---- The page of a service ---------------------------------------------------

@pytest.fixture(name="page")
def read_page(serve):
    """The service, and what its page says."""
    service = serve("--admin-listen", "127.0.0.1:0", "--otlp",
                    "http://127.0.0.1:9")
    with urllib.request.urlopen(service.admin[0] + "/metrics") as answer:
        return service, answer.read().decode()


def promtool(text):
    if shutil.which("promtool") is None:
        pytest.skip("no promtool")
    done = subprocess.run(["promtool", "check", "metrics"], input=text,
                          text=True, capture_output=True, check=False)
    return done.returncode, done.stderr.splitlines()


def test_the_tool_of_prometheus_finds_only_names_of_the_original(page, text):
    """It wants other names, which would break dashboards."""
    # The sum is of values that were made up; a service has no such limits.
    wishes = re.compile(
        r'ratelimit_[a-z_]+ counter metrics should have "_total" suffix|'
        r"ratelimit_localcache_[a-zA-Z]+ metric names should be written in "
        r"'snake_case' not 'camelCase'")
    for one in (page[1], text):
        code, lines = promtool(one)
        assert lines
        assert code == 3, lines
        assert not [line for line in lines if not wishes.fullmatch(line)]
    code, lines = promtool(text + "spare{} x\n")
    assert code == 1
    assert "error while linting" in lines[0]


def test_a_process_is_what_clients_of_prometheus_say(page):
    service, text = page
    registry = prometheus_client.CollectorRegistry()
    pid = service.process.pid
    client = prometheus_client.ProcessCollector(pid=lambda: pid,
                                                registry=registry)
    wanted = {family.name: family for family in client.collect()}
    found = {family.name: family
             for family in text_string_to_metric_families(text)
             if family.name.startswith("process_")}
    assert ({name: family.type for name, family in found.items()}
            == {name: family.type for name, family in wanted.items()})

    def values(name):
        return (family[name].samples[0].value for family in (found, wanted))

    for name in ("process_start_time_seconds", "process_max_fds"):
        here, there = values(name)
        assert here == pytest.approx(there, rel=1e-9), name
    # It has gone on meanwhile.
    for name in ("process_virtual_memory_bytes",
                 "process_resident_memory_bytes"):
        here, there = values(name)
        assert here == pytest.approx(there, rel=0.5), name
    here, there = values("process_cpu_seconds")
    assert 0 < here <= there + 0.02  # there, in hundredths
    here, there = values("process_open_fds")
    assert there <= here <= there + 1  # the connection that asked
