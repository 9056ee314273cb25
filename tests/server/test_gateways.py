"""limitree in the place of envoyproxy/ratelimit in Kubernetes.

What the containers have comes from Envoy Gateway and Envoy AI Gateway, as they
publish it: command, arguments, environment, probes, mounts, rights.  Only the
program is another one, that of the image.
"""

import contextlib
import json
import re
import subprocess
import time
import types
import urllib.error
import urllib.request

import container
import pytest
from go_modules import go_module

GATEWAY = "github.com/envoyproxy/gateway@v1.9.1"
AI_GATEWAY = "github.com/envoyproxy/ai-gateway@v1.0.0"

if not container.is_possible():
    pytest.skip("only root can make a container", allow_module_level=True)
for module in (GATEWAY, AI_GATEWAY):  # while there is a network
    if go_module(module) is None:
        pytest.skip("no go", allow_module_level=True)
# The ports are those that the others chose.
container.own_network()

import grpc  # noqa: E402
import yaml  # noqa: E402
from authority import Authority  # noqa: E402
from service import PATIENT, Service, eventually, rls  # noqa: E402
from test_image import IMAGE, make  # noqa: E402
from xds_server import XdsServer, config, rule  # noqa: E402

DEPLOYMENTS = "internal/infrastructure/kubernetes/ratelimit"
#: With REDIS_TYPE=sentinel and no name of a primary, which the original refuses
#: too: Envoy Gateway tests there that a patch is merged.
NOT_MEANT_TO_RUN = {"patch-deployment-containers"}
MAPPER = ("limitree: warning: PROMETHEUS_MAPPER_YAML: this file is not read; "
          "metrics have the names and labels of envoyproxy/ratelimit's own "
          "mapper")
REDIS = "redis.redis.svc:6379"
OF_THE_IMAGE = dict(re.findall(r"^ENV (\w+)=(.*)$", IMAGE, re.M))


@pytest.fixture(name="root", scope="module")
def make_root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image") / "root"
    assert make(folder).returncode == 0
    return folder


@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    """With all certificates in folders as Kubernetes mounts a secret."""
    made = Authority(tmp_path_factory.mktemp("authority") / "ca")
    made.secrets = {}
    for name in ("envoy-gateway", "envoy-ratelimit", "redis.redis.svc"):
        folder = made.folder / f"secret-{name}"
        folder.mkdir()
        cert, key = made.sign(name, f"DNS:{name}")
        for path, key_of_secret in ((cert, "tls.crt"), (key, "tls.key"),
                                    (made.cert, "ca.crt")):
            (folder / key_of_secret).write_bytes(path.read_bytes())
            (folder / key_of_secret).chmod(0o644)
        made.secrets[name] = folder
    return made


@pytest.fixture(name="stack")
def make_stack():
    with contextlib.ExitStack() as stack:
        yield stack


def deployments():
    folder = go_module(GATEWAY) / DEPLOYMENTS / "testdata" / "deployments"
    names = {path.stem for path in folder.glob("*.yaml")}
    assert names > NOT_MEANT_TO_RUN
    return sorted(names - NOT_MEANT_TO_RUN)


def value_of(one):
    """A variable's value: Kubernetes looks some up."""
    if "value" in one:
        return one["value"]
    source = one["valueFrom"]
    if "fieldRef" in source:
        return "pod-1"
    return {"REDIS_ENDPOINT": REDIS}[source["secretKeyRef"]["key"]]


def container_of(pod):
    """The one container of a pod, with its environment as a dict."""
    (one,) = pod["containers"]
    return {**one, "env": {each["name"]: value_of(each)
                           for each in one.get("env", [])}}


def start_redis(stack, folder, env, authority):
    """One that is as the environment says."""
    words = ["redis-server", "--save", "", "--dir", str(folder)]
    if env.get("REDIS_TLS") == "true":
        secret = authority.secrets["redis.redis.svc"]
        words += ["--port", "0", "--tls-port", "6379", "--tls-cert-file",
                  f"{secret}/tls.crt", "--tls-key-file", f"{secret}/tls.key",
                  "--tls-ca-cert-file", f"{secret}/ca.crt", "--requirepass",
                  env["REDIS_AUTH"]]
    process = stack.enter_context(subprocess.Popen(
        words, stdout=subprocess.DEVNULL))
    stack.callback(process.kill)


def start_xds(stack, port, authority):
    secret = authority and authority.secrets["envoy-gateway"]
    server = XdsServer(
        authority and grpc.ssl_server_credentials(
            [((secret / "tls.key").read_bytes(),
              (secret / "tls.crt").read_bytes())],
            (secret / "ca.crt").read_bytes(), require_client_auth=True),
        port=port)
    stack.callback(server.stop)
    server.publish("1", config("shop", rule(key="user", count=3)))
    return server


def start(stack, root, folder, one, mounts, **options):
    """Runs a container, which finds all hosts of its environment here."""
    env = {**OF_THE_IMAGE, **one["env"]}
    hosts = set(re.findall(r"([a-z][a-z.-]+):\d+", " ".join(env.values())))
    (folder / "hosts").write_text(
        "127.0.0.1 localhost " + " ".join(sorted(hosts)) + "\n")
    service = Service(
        None, listen=None, **options, command=container.words_of(
            root, [*one["command"], *one.get("args", [])], env=env,
            mounts=[(folder / "hosts", "/etc/hosts"), *mounts]))
    stack.callback(service.kill)
    return service


def warnings_of(service):
    return [line for line in service.lines if "warning" in line]


def answers_probe(probe):
    """Asks as often as the probe says, and sees whether that was in time."""
    http = probe["httpGet"]
    url = (f"{http['scheme'].lower()}://127.0.0.1:{http['port']}"
           f"{http['path']}")
    for _ in range(probe["failureThreshold"]):
        with contextlib.suppress(urllib.error.URLError):
            with urllib.request.urlopen(url, timeout=PATIENT) as answer:
                return 200 <= answer.status < 400
        time.sleep(probe["periodSeconds"])
    return False


def is_limited(channel):
    """Of four requests at once, whether only the last one is."""
    request = rls.RateLimitRequest(domain="shop")
    request.descriptors.add().entries.add(key="user", value="alex")
    codes = [rls.Stub(channel).ShouldRateLimit(request).overall_code
             for _ in range(4)]
    ok, over = 1, 2
    return codes == [ok, ok, ok, over]


def end(service):
    """Without the wait for others, who could still have sent something."""
    service.terminate()
    service.wait_for("draining")
    service.terminate()
    assert service.wait() == 0


def page(url):
    with urllib.request.urlopen(url, timeout=PATIENT) as answer:
        return answer.read().decode()


@pytest.fixture(name="envoy_gateway")
def make_envoy_gateway(stack, root, authority, tmp_path):
    """Starts what Envoy Gateway deploys, with all that it talks to."""
    def run(name):
        module = go_module(GATEWAY) / DEPLOYMENTS
        mapper = tmp_path / "mapper"
        mapper.mkdir(mode=0o755)
        (mapper / "conf.yaml").write_bytes(
            (module / "statsd_conf.yaml").read_bytes())
        told = yaml.safe_load((module / "testdata" / "deployments" /
                               f"{name}.yaml").read_text("utf-8"))
        template = told["spec"]["template"]
        one = container_of(template["spec"])
        places = {"/certs": authority.secrets["envoy-ratelimit"],
                  "/redis-certs": authority.secrets["envoy-ratelimit"],
                  "/etc/statsd-exporter": mapper}
        mounts = [(places[each["mountPath"]], each["mountPath"])
                  for each in one["volumeMounts"]]
        # Redis's certificate is not of a public authority.
        mounts.append((authority.cert, OF_THE_IMAGE["SSL_CERT_FILE"]))
        start_redis(stack, tmp_path, one["env"], authority)
        xds_server = start_xds(stack, 18001, authority)
        service = start(stack, root, tmp_path, one, mounts)
        return types.SimpleNamespace(
            service=service, one=one, xds=xds_server,
            annotations=template["metadata"].get("annotations", {}))
    return run


@pytest.mark.parametrize("name", deployments())
def test_what_envoy_gateway_deploys(envoy_gateway, authority, stack, name):
    made = envoy_gateway(name)
    env, one = made.one["env"], made.one
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert answers_probe(one[probe]), made.service.lines
    first = made.xds.request()
    assert first.node.id == env["CONFIG_GRPC_XDS_NODE_ID"]
    second = made.xds.request()
    assert second.version_info == "1"
    assert not second.HasField("error_detail")
    credentials = grpc.ssl_channel_credentials(authority.cert.read_bytes())
    channel = stack.enter_context(grpc.secure_channel(
        "127.0.0.1:8081", credentials, options=[
            ("grpc.ssl_target_name_override", "envoy-ratelimit")]))
    eventually(lambda: any("reloaded" in line for line in made.service.lines))
    assert is_limited(channel)
    if "USE_PROMETHEUS" in env:
        where = made.annotations
        text = page(f"http://127.0.0.1:{where['prometheus.io/port']}"
                    f"{where['prometheus.io/path']}")
        assert ('\nratelimit_service_rate_limit_over_limit'
                '{domain="shop",key1="user"} 1\n' in text)
    told = [line for line in warnings_of(made.service)
            if "statistics" not in line and "spans" not in line]
    assert told == [MAPPER] * ("PROMETHEUS_MAPPER_YAML" in env)
    end(made.service)


def test_the_container_has_the_rights_that_envoy_gateway_gives(envoy_gateway):
    """container.py gives these: no more, and no less."""
    made = envoy_gateway("default")
    assert made.one["securityContext"] == {
        "allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]},
        "privileged": False, "readOnlyRootFilesystem": True,
        "runAsGroup": container.USER, "runAsNonRoot": True,
        "runAsUser": container.USER,
        "seccompProfile": {"type": "RuntimeDefault"}}
    assert f"USER {container.USER}:{container.USER}\n" in IMAGE


def test_the_dashboard_of_envoy_gateway_is_not_empty(envoy_gateway, authority,
                                                     stack):
    made = envoy_gateway("default")
    eventually(lambda: any("reloaded" in line for line in made.service.lines))
    channel = stack.enter_context(grpc.secure_channel(
        "127.0.0.1:8081",
        grpc.ssl_channel_credentials(authority.cert.read_bytes()), options=[
            ("grpc.ssl_target_name_override", "envoy-ratelimit")]))
    assert is_limited(channel)
    dashboard = json.loads((
        go_module(GATEWAY) / "charts" / "gateway-addons-helm" / "dashboards" /
        "global-ratelimit.json").read_text("utf-8"))
    queries = re.findall(r'"expr": "((?:[^"\\]|\\.)*)"', json.dumps(dashboard))
    wanted = {name for query in queries
              for name in re.findall(r"[a-z_]+_[a-z_]+(?=[{)])", query)}
    assert len(wanted) >= 6
    text = page("http://127.0.0.1:19001/metrics")
    missing = {name for name in wanted
               if not re.search(rf"^{name}[{{ ]", text, re.M)}
    # Garbage of Go.
    assert missing == {"go_memstats_gc_cpu_fraction"}


def test_what_envoy_ai_gateway_deploys(stack, root, tmp_path):
    told = (go_module(AI_GATEWAY) / "tests" / "e2e" / "testdata" /
            "backend_quota_ratelimit.yaml").read_text("utf-8")
    (pod,) = (each["spec"]["template"]["spec"]
              for each in yaml.safe_load_all(told)
              if each["kind"] == "Deployment"
              and each["metadata"]["name"] == "envoy-ai-gateway-ratelimit")
    one = container_of(pod)
    start_redis(stack, tmp_path, one["env"], None)
    server = start_xds(stack, 18002, None)
    service = start(stack, root, tmp_path, one, [])
    assert server.request().node.id == "envoy-ai-gateway-ratelimit"
    (port,) = (each["containerPort"] for each in one["ports"])
    assert is_limited(stack.enter_context(
        grpc.insecure_channel(f"127.0.0.1:{port}")))
    (argument,) = one["args"]
    assert warnings_of(service) == [
        f"limitree: warning: the argument '{argument}' has no effect"]
    end(service)
