"""What the tests of deploy/ share, also with those of the service."""

import pathlib
import sys

import pytest

TESTS = pathlib.Path(__file__).parents[1]
sys.path[:0] = [str(TESTS / "server"), str(TESTS / "python")]
from pods import Pod  # noqa: E402


@pytest.fixture(name="run")
def make_run(tmp_path):
    """Starts pods, and ends those that a test has left."""
    pods = []

    def start(deployment, volumes=None, **options):
        pods.append(Pod(deployment, volumes or {},
                        tmp_path / f"pod{len(pods)}", **options))
        return pods[-1]

    yield start
    for pod in pods:
        pod.kill()
