"""examples/service/client.py, as the documents say to run it."""

import re
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


def test_what_the_page_generates_does_not_hide_the_library(tmp_path):
    page = (ROOT / "docs" / "service.md").read_text("utf-8")
    words = re.search(r"python3 (-m grpc_tools.protoc (?:.*\\\n)*.*)\n"
                      r"python3 -c '(.*)'\n", page)
    subprocess.run(
        [sys.executable, *words[1].replace("\\\n", "").replace(
            "/usr/share/limitree/proto",
            str(ROOT / "server" / "proto")).split()],
        check=True, cwd=tmp_path)
    said = subprocess.run(
        [sys.executable, "-c", f"import limitree\n{words[2]}\n"
         "print(limitree.Limiter.__name__, limiter_pb2_grpc.LimiterStub)"],
        check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert said == ("Limiter <class 'limitree_rpc.v1.limiter_pb2_grpc."
                    "LimiterStub'>\n")
