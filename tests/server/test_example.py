"""examples/service/client.py, as the documents say to run it."""

import json
import re
import shlex
import subprocess
import sys

import pytest
from service import ROOT

PAGE = (ROOT / "docs" / "service.md").read_text("utf-8")


def test_the_example(service):
    said = [subprocess.run(
        [sys.executable, ROOT / "examples" / "service" / "client.py",
         service.target], check=True, capture_output=True, text=True).stdout
        for _ in range(4)]
    assert said[:2] == ["allowed, 2 of 3 left\n", "allowed, 1 of 3 left\n"]
    assert said[3].startswith("wait ")


def test_what_the_page_generates_does_not_hide_the_library(tmp_path):
    words = re.search(r"python3 (-m grpc_tools.protoc (?:.*\\\n)*.*)\n"
                      r"python3 -c '(.*)'\n", PAGE)
    subprocess.run(
        [sys.executable, *words[1].replace("\\\n", "").replace(
            "/usr/share/limitree/proto",
            str(ROOT / "server" / "proto")).split()],
        check=True, cwd=tmp_path)
    # A folder `limitree` here would come before the library of that name.
    assert [made.name for made in tmp_path.iterdir()] == ["limitree_rpc"]
    said = subprocess.run(
        [sys.executable, "-c",
         f"{words[2]}\nprint(limiter_pb2_grpc.LimiterStub)"],
        check=True, cwd=tmp_path, capture_output=True, text=True).stdout
    assert said == "<class 'limitree_rpc.v1.limiter_pb2_grpc.LimiterStub'>\n"


def commands(name):
    """The commands of the page that begin so, as lists of words."""
    found = re.findall(rf"^{name} (?:.*\\\n)*.*$", PAGE, re.M)
    return [shlex.split(one.replace("\\\n", " ")) for one in found]


def as_shown(shown, said):
    """Whether `said` is what the page shows, where "..." stands for more."""
    if isinstance(shown, dict):
        return ("..." in shown or shown.keys() == said.keys()) and all(
            as_shown(value, said[key])
            for key, value in shown.items() if key != "...")
    if isinstance(shown, list):
        return len(shown) == len(said) and all(map(as_shown, shown, said))
    return shown == said


@pytest.fixture(name="followed")
def make_followed(serve, tmp_path):
    """The service as a newcomer has started it, and where it is now."""
    for name in ("limits.yaml", "apis.yaml"):
        text = re.search(rf"```yaml\n(# {name}\n.*?)```", PAGE, re.S)[1]
        (tmp_path / name).write_text(text, "utf-8")

    def follow(number):
        words = [word for word in commands("limitree serve")[number][2:]
                 if word != "&"]
        places = {"127.0.0.1:8081": "127.0.0.1:0",
                  "127.0.0.1:8080": "127.0.0.1:0", "limits.yaml":
                  tmp_path / "limits.yaml", "apis.yaml":
                  tmp_path / "apis.yaml"}
        service = serve(*(places.get(word, word) for word in words),
                        limits=None, listen=None)
        return lambda words: json.loads(subprocess.run(
            [*(word.replace("http://127.0.0.1:8080", service.http[0])
               for word in words), "-s"],
            check=True, capture_output=True, text=True).stdout)
    return follow


def test_the_first_steps_of_the_page_work_together(followed):
    ask = followed(0)
    first, second = [words for words in commands("curl")
                     if words[-1].endswith("/v1/authorize")]
    shown = re.search(r"```json\n(\{\"limited\".*?)```", PAGE, re.S)[1]
    said = ask(first)
    assert as_shown(json.loads(shown), said), said
    assert ask(second)["remaining"] == 4


def test_descriptors_of_the_page_answer_as_it_shows(followed):
    number, = [i for i, words in enumerate(commands("limitree serve"))
               if "apis.yaml" in words]
    words, = [words for words in commands("curl")
              if words[-1].endswith("/json")]
    shown = json.loads(re.search(
        r"```json\n(\{\"overallCode\".*?)```", PAGE, re.S)[1])
    said = followed(number)(words)
    for status in (shown["statuses"][0], said["statuses"][0]):
        assert 0 < int(status.pop("durationUntilReset")[:-1]) <= 3600
    assert said == shown
