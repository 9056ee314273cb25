"""Pods of deploy/kustomize, and those that Envoy Gateway makes."""

import grpc
import pytest
from authority import Authority
from bootstrap import address_of, bootstrap, cluster, route
from manifests import KUSTOMIZE, PAGE, load, quoted, table, yaml_of_page
from proxy import Envoy, Upstream
from servers import redis_server
from service import ROOT, Service, eventually, rls
from xds_server import XdsServer, config, rule

DESCRIPTORS = """\
domain: apis
descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 3}}
"""
ENVIRONMENT = table("settings of Envoy Gateway")
WARNED = "with a warning"
UNREAD = "not read, as by"


@pytest.fixture(name="base", scope="module")
def load_base():
    return load(KUSTOMIZE / "base" / "deployment.yaml")


def ask(channel, domain="apis", key="user"):
    """How many requests are allowed of five."""
    one = rls.RateLimitRequest(domain=domain)
    one.descriptors.add().entries.add(key=key, value="alex")
    stub = rls.Stub(channel)
    return [stub.ShouldRateLimit(one).overall_code for _ in range(5)].count(
        rls.RateLimitResponse.OK)


def seconds(container, option):
    word, = (one for one in container["args"] if one.startswith(option))
    return int(word.removeprefix(option + "=").removesuffix("s"))


def test_a_pod_lives_as_its_manifest_says(run, base):
    pod = run(base, {"descriptors": {}})
    pod.wait_until_ready()
    assert ask(pod.service.channel()) == 5
    # A file that is brought later counts without a restart.
    pod.mounts["descriptors"].publish({"apis.yaml": DESCRIPTORS})
    pod.service.wait_for("the descriptors are reloaded: 1 file")
    assert ask(pod.service.channel()) == 3
    status, text = pod.page("metrics", "/metrics")
    assert status == 200 and 'domain="apis",key1="user"} 5' in text
    assert pod.page(6070, "/rlconfig")[0] == 200
    # Proxies learn that it ends, and nothing else happens until then.
    pod.service.terminate()
    eventually(lambda: not pod.probe("readinessProbe"))
    assert pod.probe("livenessProbe")
    assert ask(pod.service.channel()) == 0
    pod.service.terminate()
    assert pod.service.wait() == 0


def test_a_pod_has_the_time_that_its_end_takes(base):
    spec = base["spec"]["template"]["spec"]
    container, = spec["containers"]
    ends = (seconds(container, "--drain-delay")
            + seconds(container, "--drain-grace"))
    assert ends < spec["terminationGracePeriodSeconds"]


def test_a_pod_starts_what_the_image_has(base):
    image = (ROOT / "server" / "package" / "Dockerfile").read_text("ascii")
    container, = base["spec"]["template"]["spec"]["containers"]
    words = ", ".join(f'"{word}"' for word in container["command"])
    assert f"ENTRYPOINT [{words}]" in image


# ---- Envoy Gateway ----------------------------------------------------------

def envoy_gateway(value_of):
    """A Deployment with the settings of the page."""
    env = [{"name": quoted(name)[0],
            "value": value_of.get(quoted(name)[0], "".join(quoted(value)))}
           for name, value, _ in ENVIRONMENT]
    pod = dict(row[:2] for row in table("pods of Envoy Gateway"))
    port = {name: int(quoted(pod[f"port `{name}`"])[0])
            for name in ("grpc", "metrics")}
    path, http = quoted(
        pod["`startupProbe`, `readinessProbe`, `livenessProbe`"])
    probe = {"httpGet": {"path": path, "port": int(http)}}
    volumes = [quoted(name)[0] for name in pod if name.startswith("volume ")]
    container = {
        "command": quoted(pod["command"]), "env": env,
        "ports": [{"name": name, "containerPort": number}
                  for name, number in port.items()],
        "startupProbe": probe, "livenessProbe": probe, "readinessProbe": probe,
        "volumeMounts": [
            {"name": name, "mountPath": quoted(pod[f"volume `{name}`"])[0]}
            for name in volumes]}
    return {"spec": {"template": {"spec": {
        "containers": [container],
        "volumes": [{"name": name, "secret": {}} for name in volumes]}}}}


def secret_of(authority, name, subject):
    cert, key = authority.sign(name, subject)
    return {"tls.crt": cert.read_bytes(), "tls.key": key.read_bytes(),
            "ca.crt": authority.cert.read_bytes()}


@pytest.fixture(name="controller")
def make_controller(tmp_path):
    """Envoy Gateway's server of limits, by mutual TLS, and its authority."""
    authority = Authority(tmp_path / "authority")
    own = secret_of(authority, "controller", "IP:127.0.0.1")
    server = XdsServer(grpc.ssl_server_credentials(
        [(own["tls.key"], own["tls.crt"])], own["ca.crt"],
        require_client_auth=True))
    yield server, authority
    server.stop()


def test_what_envoy_gateway_sets(run, controller):
    """Its command, environment, probes and volumes, as the page has them."""
    server, authority = controller
    server.publish("1", config("apis", rule(count=3)))
    certs = secret_of(authority, "ratelimit", "IP:127.0.0.1")
    with redis_server() as (url, _):
        pod = run(
            envoy_gateway({
                # What would need a collector, and a Redis with TLS.
                "TRACING_ENABLED": "false", "REDIS_TLS": "false",
                "REDIS_TLS_CLIENT_CERT": "", "REDIS_TLS_CLIENT_KEY": "",
                "TRACING_SERVICE_INSTANCE_ID": "pod"}),
            {"certs": certs, "redis-certs": certs},
            elsewhere={"envoy-gateway:18001": server.place,
                       "redis.redis.svc:6379": url})
        pod.wait_until_ready()
        assert server.request().node.id == "envoy-ratelimit"
        pod.service.wait_for("the descriptors are reloaded")
        # Clients need no certificate.
        assert ask(pod.service.channel(
            credentials=grpc.ssl_channel_credentials(certs["ca.crt"]))) == 3
    said = "".join(line for line in pod.service.lines if "warning" in line)
    for name, _, what in ENVIRONMENT:
        assert (quoted(name)[0] in said) == (WARNED in what), name
    assert pod.page("metrics", "/metrics")[0] == 200


def test_every_variable_is_explained():
    """Those that are understood are on the page of the service, whose tables
    are those of the settings."""
    page = (ROOT / "docs" / "service.md").read_text("utf-8")
    for name, _, what in ENVIRONMENT:
        variable, = quoted(name)
        if what.startswith(UNREAD):
            assert f"`{variable}`" not in page
            assert f"`{quoted(what)[0]}`" in page
        else:
            assert f"`{variable}`" in page, variable
            assert what.startswith("understood") != (WARNED in what), what


def test_two_lines_are_two_lines():
    lines = PAGE.split("# these\n")[0].splitlines()
    assert lines[-1].split("#")[0].rstrip().endswith("container:")
    assert PAGE.count("# these\n") == PAGE.count("# two\n") == 1


# ---- Envoys of the page -----------------------------------------------------

def test_the_filter_and_the_cluster_of_the_page_limit(tmp_path):
    """What Istio adds to its Envoys, and the cluster of an Envoy of one's
    own, in a real one."""
    added, actions = (patch["patch"]["value"] for patch in yaml_of_page(
        "kind: EnvoyFilter")[0]["spec"]["configPatches"])
    limitree, = yaml_of_page("clusters:\n")[0]["clusters"]
    limitree["name"] = added["typed_config"]["rate_limit_service"][
        "grpc_service"]["envoy_grpc"]["cluster_name"]
    # A busy machine takes longer.
    added["typed_config"]["timeout"] = "10s"
    (tmp_path / "site.yaml").write_text("""\
domain: site
descriptors:
  - {key: remote_address, rate_limit: {unit: day, requests_per_unit: 3}}
""")
    service = Service(None, "--descriptors", tmp_path / "site.yaml")
    upstream, envoy = Upstream(), None
    try:
        endpoint = limitree["load_assignment"]["endpoints"][0]
        endpoint["lb_endpoints"][0]["endpoint"]["address"] = address_of(
            service.target)
        envoy = Envoy(bootstrap(
            [route("/", *actions["rate_limits"])], [added],
            [cluster("upstream", upstream.target), limitree]))
        assert envoy.statuses("/", 5) == [200, 200, 200, 429, 429]
        answer = envoy.get("/")
        assert answer.headers["x-ratelimit-limit"] == "3, 3;w=86400"
    finally:
        for one in filter(None, (envoy, upstream)):
            one.stop()
        service.kill()
