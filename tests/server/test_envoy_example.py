"""examples/envoy, and the demonstration that runs it."""

import os
import pathlib
import subprocess
import time

import pytest
from proxy import ENVOY, Envoy
from service import COMMAND, ROOT

EXAMPLE = ROOT / "examples" / "envoy"


@pytest.fixture(name="hour", autouse=True)
def make_hour():
    """The limit is by the hour: this test sees one of them only."""
    left = 3600 - time.time() % 3600
    if left < 30:
        time.sleep(left)


def test_the_example(serve, upstream):
    service = serve("--descriptors", EXAMPLE / "site.yaml", limits=None)
    text = (EXAMPLE / "envoy.yaml").read_text("utf-8")
    for port, target in (("9901", "0"), ("10000", "0"),
                         ("8081", service.port),
                         ("8000", upstream.target.rpartition(":")[2])):
        before, after = f"port_value: {port}}}", f"port_value: {target}}}"
        assert text.count(before) == 1
        text = text.replace(before, after)
    proxy = Envoy(text)
    try:
        assert proxy.statuses("/login", 7) == [200] * 5 + [429] * 2
        denied = proxy.get("/login")
        assert denied.headers["x-ratelimit-limit"] == (
            "5, 1000;w=60, 5;w=3600")
        # Nobody gets around it by a header.
        forged = proxy.get("/login", x_forwarded_for="192.0.2.1")
        assert forged.status == 429
        other = proxy.get("/")
        assert other.status == 200
        assert other.headers["x-ratelimit-limit"] == "1000, 1000;w=60"
        assert upstream.requests == ["/login"] * 5 + ["/"]
    finally:
        proxy.stop()


def test_the_demonstration():
    path = f"{pathlib.Path(COMMAND).parent}:{os.environ['PATH']}"
    said = subprocess.run(
        [ROOT / "scripts" / "demo_envoy.sh"], cwd=ROOT, check=True, text=True,
        capture_output=True, timeout=120,
        env={**os.environ, "PATH": path}).stdout
    assert [line.split()[0] for line in said.splitlines()
            if line.startswith(("  200 ", "  429 "))] == [
        *["200"] * 5, "429", "200", "200"]
    assert said.count("x-envoy-ratelimited: true") == 1
