"""Envoy Gateway's own configurations, from a server of its control plane.

A server with Envoy's xDS library serves the rate limit configurations that
Envoy Gateway's tests expect of it, over mutual TLS.  They are read from the
module of Envoy Gateway, and so are the actions of the routes, by which a real
Envoy asks for them.
"""

import json
import pathlib
import queue
import re
import subprocess
import threading

import pytest
from authority import Authority
from bootstrap import route
from service import PATIENT

GATEWAY = "github.com/envoyproxy/gateway@v1.9.1"
GOLDEN = "internal/xds/translator/testdata/out/ratelimit-config"
HERE = pathlib.Path(__file__).resolve().parent
COMMAND = {"check": True, "capture_output": True, "text": True}


@pytest.fixture(name="golden", scope="module")
def find_golden():
    """The folder of the configurations."""
    said = subprocess.run(["go", "mod", "download", "-json", GATEWAY],
                          cwd=HERE / "control_plane", **COMMAND)
    return pathlib.Path(json.loads(said.stdout)["Dir"]) / GOLDEN


@pytest.fixture(name="program", scope="module")
def build_program(tmp_path_factory):
    path = tmp_path_factory.mktemp("go") / "control_plane"
    subprocess.run(["go", "build", "-o", path, "."],
                   cwd=HERE / "control_plane", **COMMAND)
    return path


@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("xds") / "one")


class ControlPlane:
    def __init__(self, program, authority):
        cert, key = authority.sign("envoy-gateway", "DNS:envoy-gateway")
        self.process = subprocess.Popen(
            [program, cert, key, authority.cert], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.answers = queue.Queue()
        self.place = self.process.stdout.readline().strip()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.answers.put(line.rstrip("\n"))

    def serve(self, *files):
        """Returns what the service answers to these configurations."""
        self.process.stdin.write(" ".join(map(str, files)) + "\n")
        self.process.stdin.flush()
        return self.answers.get(timeout=PATIENT)

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()


@pytest.fixture(name="control")
def make_control(program, authority):
    control = ControlPlane(program, authority)
    yield control
    control.stop()


@pytest.fixture(name="follow")
def make_follow(serve, control, authority):
    """Starts a service with the variables that Envoy Gateway sets."""
    def start():
        cert, key = authority.sign("envoy-rate-limit", "DNS:envoy-rate-limit")
        return serve("--start-without", limits=None, env={
            "CONFIG_TYPE": "GRPC_XDS_SOTW",
            "CONFIG_GRPC_XDS_SERVER_URL": control.place,
            "CONFIG_GRPC_XDS_NODE_ID": "envoy-ratelimit",
            "CONFIG_GRPC_XDS_SERVER_USE_TLS": "true",
            "CONFIG_GRPC_XDS_CLIENT_TLS_CERT": str(cert),
            "CONFIG_GRPC_XDS_CLIENT_TLS_KEY": str(key),
            "CONFIG_GRPC_XDS_SERVER_TLS_CACERT": str(authority.cert),
            "CONFIG_GRPC_XDS_SERVER_TLS_SAN": "envoy-gateway"})
    return start


def configurations(golden):
    return sorted(file for file in golden.glob("*.yaml")
                  if not file.name.endswith(".routes.yaml"))


def test_every_configuration_is_accepted(golden, control, follow):
    follow()
    files = configurations(golden)
    assert len(files) >= 20
    answers = {file.name: control.serve(file) for file in files}
    assert answers == {file.name: f"ack {version}"
                       for version, file in enumerate(files, 1)}


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def as_envoy_reads(part):
    """Envoy's own form of a message that was written field by field of Go,
    where each oneof has the name of its type and of its choice."""
    if isinstance(part, list):
        return [as_envoy_reads(one) for one in part]
    if not isinstance(part, dict):
        return part
    if set(part) == {"value"}:  # of a wrapper
        return part["value"]
    made = {}
    for name, value in part.items():
        value = as_envoy_reads(value)
        if name in ("ActionSpecifier", "HeaderMatchSpecifier", "MatchPattern"):
            made.update(value)
        elif value is not None:
            made[snake(name)] = value
    return made


def routes_of(program, golden, name):
    """What Envoy Gateway configures in the routes of a domain: for each of
    them, by its name, the domain and the descriptors."""
    said = subprocess.run([program, golden / f"{name}.routes.yaml"], **COMMAND)
    routes = map(json.loads, said.stdout.splitlines())
    return {one["routeName"]: next(iter(as_envoy_reads(
        one["rateLimitsByDomain"]).items())) for one in routes}


def test_a_real_envoy_enforces_them(program, golden, control, follow, proxy):
    service = follow()
    assert control.serve(golden / "month-year-rule.yaml") == "ack 1"
    service.wait_for("the descriptors are reloaded: 1 file")
    (domain, first), (_, second) = routes_of(
        program, golden, "month-year-rule").values()
    envoy = proxy(service.target, route("/first", *first),
                  route("/second", *second), domain=domain,
                  failure_mode_deny=True)
    assert envoy.statuses("/first", 6, x_user_id="one") == [200] * 5 + [429]
    assert envoy.statuses("/second", 2, x_user_id="two") == [200, 429]
    # Whom no rule matches.
    assert envoy.statuses("/first", 7, x_user_id="two") == [200] * 7
    assert envoy.get("/second", x_user_id="two").headers[
        "x-ratelimit-limit"] == "1, 1;w=31536000"
