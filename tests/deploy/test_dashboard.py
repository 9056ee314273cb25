"""The queries of the dashboard and of docs/kubernetes.md, on services that have
had requests of all kinds."""

import json
import re
import shutil
import subprocess

import grpc
import httpx
import pytest
from manifests import queries
from prometheus_client.parser import text_string_to_metric_families
from service import Service, rls

DESCRIPTORS = """\
domain: apis
descriptors:
  - key: user
    rate_limit: {unit: day, requests_per_unit: 4}
    descriptors:
      - {key: plan, rate_limit: {unit: day, requests_per_unit: 4}}
  - key: trial
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
"""
#: What Prometheus adds, and what Kubernetes itself counts.
TARGET = {"namespace", "pod"}
FROM_KUBERNETES = {
    "container_cpu_usage_seconds_total": {"container"},
    "container_memory_working_set_bytes": {"container"},
}
#: `name{labels}`, which each metric of a query is.
METRIC = re.compile(r"([a-z_][a-z0-9_]*)\{([^}]*)\}")
NAMED = re.compile(r'([a-z0-9_]+) *(=~|!~|!=|=) *"')
FUNCTIONS = {"by", "histogram_quantile", "increase", "label_values", "max",
             "rate", "sum", "topk"}


@pytest.fixture(name="samples", scope="module")
def ask_and_read(tmp_path_factory):
    """The labels of each metric after some traffic."""
    folder = tmp_path_factory.mktemp("descriptors")
    (folder / "apis.yaml").write_text(DESCRIPTORS)
    service = Service(None, "--descriptors", folder, "--metrics-listen",
                      "127.0.0.1:0", "--store", "redis://127.0.0.1:1")
    memory = Service(None, "--descriptors", folder, "--metrics-listen",
                     "127.0.0.1:0")
    try:
        for one in (service, memory):
            stub = rls.Stub(one.channel())
            for domain, keys in (("apis", ["user"]), ("apis", ["trial"]),
                                 ("apis", ["user", "plan"]), ("none", ["x"])):
                asked = rls.RateLimitRequest(domain=domain)
                entries = asked.descriptors.add().entries
                for key in keys:
                    entries.add(key=key, value="alex")
                for _ in range(6):
                    try:
                        stub.ShouldRateLimit(asked)
                    except grpc.RpcError as error:
                        assert error.code() == grpc.StatusCode.UNAVAILABLE
        found = {}
        for one in (service, memory):
            text = httpx.get(one.metrics[0] + "/metrics").text
            for family in text_string_to_metric_families(text):
                for sample in family.samples:
                    # The parser gives all counters this end.
                    for name in {sample.name,
                                 sample.name.removesuffix("_total")}:
                        if re.search(f"^{name}[{{ ]", text, re.M):
                            found.setdefault(name, set()).update(sample.labels)
        return found
    finally:
        service.kill()
        memory.kill()


def selectors(query):
    return [(name, {label for label, _ in NAMED.findall(labels)})
            for name, labels in METRIC.findall(query)]


def test_all_panels_are_read():
    assert len(queries()) > 30
    assert all(selectors(query) for _, query in queries())


@pytest.mark.skipif(shutil.which("promtool") is None,
                    reason="promtool is not here")
def test_prometheus_understands_each_query(tmp_path):
    rules = [{"record": f"query:{i}", "expr": query.replace("$__rate_interval",
                                                            "5m")}
             for i, (_, query) in enumerate(queries())
             if not query.startswith("label_values(")]
    path = tmp_path / "rules.json"  # which is YAML
    path.write_text(json.dumps({"groups": [{"name": "a", "rules": rules}]}))
    done = subprocess.run(["promtool", "check", "rules", path], text=True,
                          capture_output=True, check=False, timeout=60)
    assert f"SUCCESS: {len(rules)} rules found" in done.stdout, done.stderr


@pytest.mark.parametrize(("what", "query"), queries())
def test_a_query_finds_something(samples, what, query):
    known = {**samples, **FROM_KUBERNETES}
    labels = set()
    for name, named in selectors(query):
        assert name in known, f"{what}: there is no {name}"
        assert named <= known[name] | TARGET, f"{what}: {name}"
        labels |= known[name] | TARGET
    for group in re.findall(r"by \(([^)]*)\)", query):
        assert set(re.split(", *", group)) <= labels, f"{what}: {group}"
    if query.startswith("label_values("):
        assert query.rpartition(", ")[2].rstrip(")") in labels
    # Nothing else is a metric.
    rest = re.sub(r"by \([^)]*\)|\[[^]]*\]", "", METRIC.sub("", query))
    words = set(re.findall(r"[a-z_]+", rest)) - FUNCTIONS
    assert words <= (TARGET | labels if "label_values" in query else set())
