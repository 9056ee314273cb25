"""The tests of envoyproxy/ratelimit with memcached, as it publishes them, and
`limitree serve` in the place of its service."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest
from go_modules import go_module

ORIGINAL = ("github.com/envoyproxy/ratelimit@"
            "v1.4.1-0.20260122083618-3fb702589d36")
HERE = pathlib.Path(__file__).parent
#: Without the network of the machine: the tests have fixed ports.
OWN_NETWORK = ["unshare", "--net", "sh", "-c",
               'ip link set lo up && exec "$0" "$@"']

if os.geteuid() != 0 or not shutil.which("ip"):
    pytest.skip("only root can make a network", allow_module_level=True)
if go_module(ORIGINAL) is None:
    pytest.skip("no go", allow_module_level=True)


@pytest.fixture(name="original", scope="session")
def build_original(tmp_path_factory):
    """The folder of its integration tests, compiled with another runner."""
    copy = tmp_path_factory.mktemp("original") / "ratelimit"
    shutil.copytree(go_module(ORIGINAL), copy, copy_function=shutil.copy)
    subprocess.run(["chmod", "-R", "u+w", copy], check=True)
    shutil.copy(HERE / "original" / "runner.go",
                copy / "src/service_cmd/runner/runner.go")
    folder = copy / "test/integration"
    subprocess.run(["go", "test", "-c", "-tags", "integration",
                    "-buildvcs=false", "-o", "tests", "."], cwd=folder,
                   check=True)
    return folder


@pytest.mark.parametrize("name", [
    "TestBasicConfigMemcache", "TestConfigMemcacheWithMaxIdleConns",
    "TestMultiNodeMemcache"])
def test_it_answers_as_the_original(original, name):
    done = subprocess.run(
        [*OWN_NETWORK, "./tests", "-test.v", "-test.run", f"^{name}$"],
        cwd=original, check=False, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    assert done.returncode == 0, done.stdout[-20000:]
    assert re.findall(r"^--- (PASS|SKIP): (\w+)", done.stdout, re.M) == [
        ("PASS", name)], done.stdout
