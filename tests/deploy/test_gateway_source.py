"""docs/kubernetes.md and limitree, compared with Envoy Gateway's own source.

Its module is one of those that `./dev test rare` downloads.
"""

import pathlib
import re
import subprocess

import pytest
from manifests import (BUILT, PAGE, container_of, load, pod_of, quoted,
                       table)

HERE = pathlib.Path(__file__).parent
OF_A_USER = {"REDIS_AUTH"}

pytestmark = pytest.mark.skipif(not (BUILT / "helm").exists(),
                                reason="./dev test rare downloads it")


@pytest.fixture(name="gateway", scope="module")
def find_gateway():
    """The folder of its rate limit service, in the module that is decoded."""
    done = subprocess.run(
        ["go", "list", "-m", "-f", "{{.Dir}}", "github.com/envoyproxy/gateway"],
        cwd=HERE, check=True, capture_output=True, text=True)
    return (pathlib.Path(done.stdout.strip()) / "internal" / "infrastructure"
            / "kubernetes" / "ratelimit")


@pytest.fixture(name="made", scope="module")
def load_deployments(gateway):
    """Deployments that its tests expect, the one of most of a user's own values
    second."""
    names = ("default", "redis-tls-settings", "disable-prometheus",
             "enable-tracing", "redis-url-secret-ref", "with-hpa")
    return [load(gateway / "testdata" / "deployments" / f"{name}.yaml")
            for name in names]


def test_the_page_has_each_variable_of_its_source(gateway, made):
    source = (gateway / "resource.go").read_text("utf-8")
    constants = dict(re.findall(r'^\t(\w+)\s+= "([A-Z_]+)"$', source, re.M))
    written = {constants.get(name.strip('"'), name.strip('"'))
               for name in re.findall(r'\bName: +("?\w+"?),', source)
               if name.strip('"') in constants or name.isupper()}
    expected = {one["name"] for deployment in made
                for one in container_of([deployment])["env"]}
    named = {quoted(row[0])[0] for row in table("settings of Envoy Gateway")}
    assert expected - OF_A_USER <= written | {"REDIS_URL"}
    assert named == written | {"REDIS_URL"}


def test_the_page_has_its_values(made):
    """Those that are not of a user."""
    rows = {quoted(row[0])[0]: row[1]
            for row in table("settings of Envoy Gateway")}
    seen = {}
    for deployment in made:
        for one in container_of([deployment])["env"]:
            seen.setdefault(one["name"], set()).add(one.get("value"))
    for name in seen.keys() - OF_A_USER:
        values = seen[name]
        if name == "TRACING_SAMPLING_RATE":
            assert values == {"1.0"}
        elif name == "TRACING_SERVICE_INSTANCE_ID":
            assert values == {None}  # from the pod
        else:
            assert quoted(rows[name])[0] in values, name


def test_the_page_has_its_pods(made):
    rows = dict(row[:2] for row in table("pods of Envoy Gateway"))
    path, port = quoted(
        rows["`startupProbe`, `readinessProbe`, `livenessProbe`"])
    mounts, ports = {}, {}
    for deployment in made:
        pod, container = pod_of([deployment]), container_of([deployment])
        assert container["command"] == quoted(rows["command"])
        assert "args" not in container
        for kind in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container[kind]["httpGet"]
            assert (asked["path"], str(asked["port"])) == (path, port)
        mounts |= {one["name"]: one["mountPath"]
                   for one in container["volumeMounts"]}
        ports |= {one["name"]: str(one["containerPort"])
                  for one in container["ports"]}
        if deployment is made[1]:  # of a user
            continue
        context = container["securityContext"]
        assert str(context["runAsUser"]) == quoted(rows["user and group"])[0]
        assert context["runAsUser"] == context["runAsGroup"]
        assert context["readOnlyRootFilesystem"] is True
        assert context["capabilities"] == {"drop": ["ALL"]}
        assert str(pod["terminationGracePeriodSeconds"]) == quoted(
            rows["`terminationGracePeriodSeconds`"])[0]
    assert mounts == {quoted(name)[0]: quoted(value)[0]
                      for name, value in rows.items()
                      if name.startswith("volume ")}
    assert ports == {quoted(name)[0]: quoted(value)[0]
                     for name, value in rows.items()
                     if name.startswith("port ")}


def test_the_page_names_its_version(gateway):
    version = re.search(r"gateway@v(\d+\.\d+)\.", str(gateway))[1]
    assert f"Envoy Gateway {version} makes these settings" in PAGE
