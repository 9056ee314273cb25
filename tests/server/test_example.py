"""examples/service/client.py, as the documents say to run it."""

import subprocess
import sys

from service import ROOT


def test_the_example(service):
    said = [subprocess.run(
        [sys.executable, ROOT / "examples" / "service" / "client.py",
         service.target], check=True, capture_output=True, text=True).stdout
        for _ in range(4)]
    assert said[:2] == ["allowed, 2 of 3 left\n", "allowed, 1 of 3 left\n"]
    assert said[3].startswith("wait ")
