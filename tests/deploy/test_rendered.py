"""What helm and Kustomize make of deploy/, and the objects of the page.

helm, and a program that decodes objects, are built from their sources by
`./dev test rare`, in build/deploy.
"""

import base64
import pathlib
import re
import shlex
import shutil
import ssl
import subprocess

import grpc
import httpx
import pytest
import yaml
from authority import Authority
from manifests import (BUILT, CHART, KUSTOMIZE, PAGE, container_of,
                       deployment_of, load, of_kind, pod_of, yaml_of_page)
from servers import redis_server
from service import ROOT, eventually, pb, pb_grpc
from test_pods import ask, secret_of
from xds_server import XdsServer, config, rule

HERE = pathlib.Path(__file__).parent
EVERYTHING = HERE / "everything.yaml"
VARIANTS = [(), ("-f", EVERYTHING), *(("-f", path) for path in
                                      sorted(CHART.glob("values-*.yaml")))]
#: Envoy Gateway says with which versions it works.
KUBERNETES = "1.34.0"
OWN_TYPES = {"ServiceMonitor"}  # not of Kubernetes itself

pytestmark = pytest.mark.skipif(not (BUILT / "helm").exists(),
                                reason="./dev test rare builds helm")


def program(name, *words, code=0, **options):
    done = subprocess.run([BUILT / name, *map(str, words)], text=True,
                          capture_output=True, check=False, timeout=120,
                          **options)
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def helm(command, *words, **options):
    place = [CHART] if command == "lint" else ["limits", CHART]
    return program("helm", command, *place, "--kube-version", KUBERNETES,
                   *words, **options)


def render(*words):
    text = helm("template", "--namespace", "edge", *words)
    return list(filter(None, yaml.safe_load_all(text)))


def kustomize(place):
    return list(yaml.safe_load_all(program("objects", "kustomize",
                                           KUSTOMIZE / place)))


def data_of(objects, end):
    """The files of the ConfigMap or the Secret whose name has this end."""
    one, = (one for one in objects if one["kind"] in ("ConfigMap", "Secret")
            and one["metadata"]["name"].endswith(end))
    data = one.get("data", {})
    return data if one["kind"] == "ConfigMap" else {
        name: base64.b64decode(text).decode() for name, text in data.items()}


def decode(objects, **options):
    return program("objects", "check", input=yaml.safe_dump_all(objects),
                   **options)


def validate(folder, objects):
    """By the schemas of Kubernetes, and by the types of each project."""
    decode(objects)
    path = folder / "objects.yaml"
    path.write_text(yaml.safe_dump_all(
        one for one in objects if one["kind"] not in OWN_TYPES), "ascii")
    program("venv/bin/kubernetes-validate", "--strict", "-k", KUBERNETES, path)


# ---- The chart --------------------------------------------------------------

@pytest.mark.parametrize("words", VARIANTS)
def test_the_chart_is_valid(tmp_path, words):
    assert "0 chart(s) failed" in helm("lint", "--strict", *words)
    objects = render(*words)
    validate(tmp_path, objects)
    assert {one["metadata"]["namespace"] for one in objects} == {"edge"}


def test_everything_is_made():
    assert {one["kind"] for one in render("-f", EVERYTHING)} == {
        "ConfigMap", "Deployment", "HorizontalPodAutoscaler", "NetworkPolicy",
        "PodDisruptionBudget", "Secret", "Service", "ServiceAccount",
        "ServiceMonitor"}


def test_what_is_not_valid_is_found(tmp_path):
    objects = render("-f", EVERYTHING)
    deployment_of(objects)["spec"]["replica"] = 2
    assert 'unknown field "spec.replica"' in decode(objects, code=1)
    monitor, = of_kind(objects, "ServiceMonitor")
    monitor["spec"]["endpoints"][0]["intervals"] = "1s"
    assert "intervals" in decode([monitor], code=1)
    del deployment_of(objects)["spec"]["replica"]
    del deployment_of(objects)["spec"]["selector"]
    with pytest.raises(AssertionError, match="'selector' is a required"):
        validate(tmp_path, [deployment_of(objects)])
    weak = render()
    del container_of(weak)["securityContext"]["capabilities"]
    assert "unrestricted capabilities" in decode(weak, code=1)


@pytest.mark.parametrize(("words", "why"), [
    (["--set", "nonsense=1"], "'nonsense' not allowed"),
    (["--set", "settings.listen=:1"], "settings.listen is set by another"),
    (["--set", "settings.store=redis://x"], "settings.store is set by another"),
    (["--set", "settings.otlp-headers=a=b"], "settings.otlp-headers would be"),
    (["--set", "settings.xds-header={a:b}"], "settings.xds-header would be"),
    (["--set", "settings.set={prefix=a,password=b}"], "has a password"),
    (["--set", "settings.set=sentinel_password=b"], "has a password"),
    (["--set", "settings.set={per_second_store=redis://:a@b:1}"],
     "has a password"),
    (["--set", "tls.clientCertificates=true"], "needs tls.existingSecret")])
def test_helm_refuses(words, why):
    assert why in helm("template", *words, code=1)


def test_pods_are_replaced_only_for_what_is_read_at_the_start():
    def template(*words):
        return deployment_of(render(*words))["spec"]["template"]

    one = template()
    assert one == template("--set", "descriptors.files.a\\.yaml=x")
    assert one != template("--set", "limits=x")
    # Not even a checksum of a secret is in it.
    url = [template("--set", f"store.url=redis://:{word}@a") for word in "ab"]
    assert url[0] == url[1]


def test_names_may_look_like_numbers(tmp_path):
    words = ["--set-string", "fullnameOverride=12", "--set-string",
             "store.existingSecret=1000", "--set-string", "store.key=true",
             "--set-string", "adminToken.existingSecret=0x1", "--set-string",
             "tls.existingSecret=2", "--set-string", "nameOverride=3"]
    objects = render("--namespace", "7", *words)
    validate(tmp_path, objects)
    assert {one["metadata"]["namespace"] for one in objects} == {"7"}


def test_only_ports_of_the_service_are_admitted():
    for words, ports in (([], {"grpc", "http", "metrics"}), (
            ["--set", "tls.existingSecret=certs"],
            {"grpc", "https", "metrics"})):
        objects = render("--set", "networkPolicy.enabled=true", *words)
        policy, = of_kind(objects, "NetworkPolicy")
        assert {port["port"] for one in policy["spec"]["ingress"]
                for port in one["ports"]} == ports


def test_values_reach_the_objects():
    objects = render("-f", EVERYTHING)
    pod, container = pod_of(objects), container_of(objects)
    assert pod["terminationGracePeriodSeconds"] == 12
    assert {"--workers=3", "--set=prefix=a,b", "--max-message=67108864",
            "--drain-delay=3s", "--tls-client-name=site"} <= set(
                container["args"])
    assert not any("max-connection-age" in one for one in container["args"])
    monitor, = of_kind(objects, "ServiceMonitor")
    assert monitor["spec"]["endpoints"][0]["path"] == "/numbers"
    assert "secret" not in yaml.safe_dump(of_kind(objects, "Deployment")[0]
                                          ["spec"]["template"]["spec"]
                                          ["containers"][0]["args"])
    assert "replicas" not in deployment_of(objects)["spec"]
    assert data_of(objects, "-store") == {"url": "redis://:secret@redis:6379"}
    assert "# Comments" in data_of(objects, "-descriptors")["site.yaml"]
    service, = of_kind(objects, "Service")
    assert service["spec"]["clusterIP"] == "None"
    assert [one["name"] for one in service["spec"]["ports"]] == [
        "grpc", "https", "metrics"]


#: `helm template` does not print the notes: this gives them an object.
NOTES = """\
{{- define "notes" -}}
%s
{{- end -}}
kind: ConfigMap
data: {notes: {{ include "notes" . | toJson }}}
"""


@pytest.mark.parametrize(("words", "warned"), [
    ([], False), (["--set", "replicas=2"], True),
    (["--set", "autoscaling.enabled=true"], True),
    (["--set", "replicas=2", "--set", "store.url=redis://redis"], False),
    (["-f", CHART / "values-ratelimit.yaml"], False)])
def test_the_notes_warn_of_counts_that_are_not_shared(tmp_path, words, warned):
    chart = tmp_path / "limitree"
    shutil.copytree(CHART, chart)
    text = (chart / "templates" / "NOTES.txt").read_text("ascii")
    (chart / "templates" / "notes.yaml").write_text(NOTES % text)
    made = yaml.safe_load(program(
        "helm", "template", "limits", chart, "--kube-version", KUBERNETES,
        "-s", "templates/notes.yaml", *words))
    assert ("WARNING: without a store" in made["data"]["notes"]) == warned


# ---- Its pods ---------------------------------------------------------------

def test_pods_with_everything(run, tmp_path):
    objects = render("-f", EVERYTHING)
    authority = Authority(tmp_path / "authority")
    certs = secret_of(authority, "server", "IP:127.0.0.1,DNS:envoy")
    with redis_server() as (url, _):
        pod = run(deployment_of(objects), {
            "limits": data_of(objects, "-limits"),
            "descriptors": data_of(objects, "-descriptors"),
            "token": data_of(objects, "-token"), "tls": certs},
            secrets={"limits-limiter-store": data_of(objects, "-store")},
            elsewhere={"redis://:secret@redis:6379": url})
        pod.wait_until_ready()
        channel = pod.service.channel(
            credentials=grpc.ssl_channel_credentials(
                certs["ca.crt"], certs["tls.key"], certs["tls.crt"]))
        assert ask(channel, "site", "remote_address") == 3
        limiter = pb_grpc.LimiterStub(channel)
        asked = pb.DecideRequest(paths=[pb.Path(segments=["user", "x"])])
        assert [limiter.Authorize(asked).limited for _ in range(4)] == [
            False, False, False, True]
        assert "limitree_decisions_total" in pod.page("metrics",
                                                      "/numbers")[1]


def test_pods_with_tls(run, tmp_path):
    """Clients need no certificate, and the kubelet asks without TLS."""
    objects = render("--set", "tls.existingSecret=certs")
    authority = Authority(tmp_path / "authority")
    pod = run(deployment_of(objects),
              {"tls": secret_of(authority, "server", "IP:127.0.0.1")})
    pod.wait_until_ready()
    with httpx.Client(verify=ssl.create_default_context(
            cafile=authority.cert)) as client:
        url = f"https://127.0.0.1:{pod.port('https')}/healthcheck"
        assert client.get(url).text == "OK"
    service, = of_kind(objects, "Service")
    assert "http" not in [one["name"] for one in service["spec"]["ports"]]


def test_pods_that_are_not_ready_are_not_restarted(run):
    """Without its store, if that matters."""
    pod = run(deployment_of(render("--set", "settings.check-store=true",
                                   "--set", "store.url=redis://redis:6379")),
              secrets={"limits-limitree-store": {
                  "url": "redis://127.0.0.1:1"}})
    eventually(lambda: pod.probe("startupProbe"))
    assert not pod.probe("readinessProbe")
    assert pod.probe("livenessProbe")


def test_pods_for_ai_gateway(run):
    """The values are those that its controller expects."""
    variant = CHART / "values-ai-gateway.yaml"
    settings = load(variant)["settings"]
    objects = render("-f", variant)
    name = "envoy-ai-gateway-ratelimit"
    assert of_kind(objects, "Service")[0]["metadata"]["name"] == name
    server = XdsServer()
    try:
        with redis_server() as (url, _):
            pod = run(deployment_of(objects), {},
                      secrets={f"{name}-store": data_of(objects, "-store")},
                      elsewhere={settings["xds"]: server.place,
                                 load(variant)["store"]["url"]: url})
            # It is ready before there is a QuotaPolicy.
            pod.wait_until_ready()
            assert server.request().node.id == name
            server.publish("1", config("ai-gateway-quota", rule("model",
                                                                count=3)))
            pod.service.wait_for("the descriptors are reloaded")
            assert ask(pod.service.channel(), "ai-gateway-quota", "model") == 3
    finally:
        server.stop()


def test_pods_in_the_place_of_the_original(run):
    objects = render("-f", CHART / "values-ratelimit.yaml")
    descriptors = ("domain: apis\ndescriptors: [{key: user, rate_limit: "
                   "{unit: day, requests_per_unit: 3}}]\n")
    with redis_server() as (url, _):
        pod = run(deployment_of(objects),
                  {"descriptors": {"config.yaml": descriptors}},
                  elsewhere={"redis:6379": url})
        pod.wait_until_ready()
        assert not [line for line in pod.service.lines if "no effect" in line]
        assert ask(pod.service.channel(), "apis", "user") == 3


# ---- Kustomize --------------------------------------------------------------

@pytest.mark.parametrize("place", ["base", "overlays/redis"])
def test_kustomize_is_valid(tmp_path, place):
    validate(tmp_path, kustomize(place))


def test_the_base_has_the_pods_of_the_chart():
    def plain(objects):
        pod = pod_of(objects)
        for one in pod["topologySpreadConstraints"]:
            del one["labelSelector"]
        pod["volumes"][0]["configMap"]["name"] = "descriptors"
        pod["serviceAccountName"] = "limitree"
        return pod, deployment_of(objects)["spec"]["strategy"]

    assert plain(kustomize("base")) == plain(render())


def test_the_overlay_names_its_secret(run):
    objects = kustomize("overlays/redis")
    assert pod_of(objects)["containers"][0]["image"].startswith(
        "registry.example/limitree:")
    secret, = of_kind(objects, "Secret")
    env, = container_of(objects)["env"]
    assert (env["valueFrom"]["secretKeyRef"]["name"]
            == secret["metadata"]["name"])
    with redis_server() as (url, _):
        pod = run(deployment_of(objects),
                  {"descriptors": data_of(objects, "-descriptors")},
                  secrets={secret["metadata"]["name"]: {"url": url}})
        pod.wait_until_ready()
        assert ask(pod.service.channel(), "site", "remote_address") == 5


# ---- The page ---------------------------------------------------------------

def test_commands_of_the_page(tmp_path):
    """`helm install`, as far as that needs no cluster."""
    (tmp_path / "deploy").symlink_to(ROOT / "deploy")
    shutil.copy(ROOT / "examples" / "envoy" / "site.yaml", tmp_path)
    commands = re.findall(r"^helm install (.*?[^\\])$", PAGE, re.S | re.M)
    assert len(commands) == 2
    for command in commands:
        words = shlex.split(command.replace("\\\n", " "))
        objects = list(filter(None, yaml.safe_load_all(program(
            "helm", "template", "--kube-version", KUBERNETES,
            *(word for word in words if word != "--create-namespace"),
            cwd=tmp_path))))
        image = container_of(objects)["image"]
        assert image.startswith("registry.example/limitree:")
        assert len(data_of(objects, "-store")) == 1
    pod = render("--set-file", "descriptors.files.site\\.yaml="
                 f"{tmp_path / 'site.yaml'}")
    assert data_of(pod, "-descriptors") == {
        "site.yaml": (tmp_path / "site.yaml").read_text("ascii")}


@pytest.mark.parametrize("kind", ["EnvoyGateway", "EnvoyFilter",
                                  "ExtensionService"])
def test_objects_of_the_page_are_of_their_types(kind):
    objects = yaml_of_page(f"kind: {kind}\n")
    decode(objects)
    objects[0]["spek"] = {}
    assert "spek" in decode(objects, code=1)
