"""Reads what is in deploy/ and in docs/kubernetes.md."""

import json
import re

import yaml
from service import ROOT

CHART = ROOT / "deploy" / "helm" / "limitree"
KUSTOMIZE = ROOT / "deploy" / "kustomize"
DASHBOARD = ROOT / "deploy" / "grafana" / "limitree.json"
#: Where `./dev test rare` builds helm, and what decodes objects.
BUILT = ROOT / "build" / "deploy"
PAGE = (ROOT / "docs" / "kubernetes.md").read_text("utf-8")


def load(path):
    """The one object of a file."""
    return yaml.safe_load(path.read_text("ascii"))


def of_kind(objects, kind):
    return [one for one in objects if one["kind"] == kind]


def deployment_of(objects):
    one, = of_kind(objects, "Deployment")
    return one


def pod_of(objects):
    return deployment_of(objects)["spec"]["template"]["spec"]


def container_of(objects):
    one, = pod_of(objects)["containers"]
    return one


def table(title):
    """The rows of a table of the page: lists of cells without quotes."""
    text = PAGE.split(f"<!-- {title} -->\n")[1].split("\n\n")[0]
    rows = [re.split(r" *\| *", line.strip("| ")) for line in text.split("\n")]
    return rows[2:]


def quoted(text):
    return re.findall(r"`([^`]+)`", text)


def yaml_of_page(word):
    """The objects of the blocks of the page that have a word."""
    blocks = re.findall(r"^```yaml\n(.*?)^```$", PAGE, re.S | re.M)
    found = [one for block in blocks if word in block
             for one in yaml.safe_load_all(block)]
    assert found
    return found


def queries():
    """The queries of the dashboard, by what they are for, and of the page."""
    found = []
    board = json.loads(DASHBOARD.read_text("ascii"))
    for panel in board["panels"]:
        found += [(panel["title"], one["expr"])
                  for one in panel.get("targets", [])]
    found += [(one["name"], one["query"]["query"])
              for one in board["templating"]["list"]
              if one["type"] == "query"]
    watch = PAGE.split("| query | means |\n|---|---|\n")[1].split("\n\n")[0]
    found += [("page", quoted(line)[0]) for line in watch.splitlines()]
    return found
