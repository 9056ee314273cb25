"""The chart, as far as that needs no helm."""

import re
import subprocess

import jsonschema
import pytest
from manifests import CHART, KUSTOMIZE, container_of, load
from service import COMMAND

SCHEMA = load(CHART / "values.schema.json")
VALUES = load(CHART / "values.yaml")
VARIANTS = sorted(CHART.glob("values-*.yaml"))
TEMPLATES = {path.name: path.read_text("ascii")
             for path in sorted((CHART / "templates").iterdir())}
OPENS = ("if", "with", "range", "define")


def merged(base, over):
    """Values as helm puts them together."""
    if not (isinstance(base, dict) and isinstance(over, dict)):
        return over
    both = {**base, **{key: merged(base.get(key), value)
                       for key, value in over.items()}}
    return {key: value for key, value in both.items() if value is not None}


def test_values_are_those_of_the_schema():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    jsonschema.validate(VALUES, SCHEMA)
    for variant in VARIANTS:
        jsonschema.validate(merged(VALUES, load(variant)), SCHEMA)


def test_clients_cannot_use_up_the_memory():
    """As docs/kubernetes.md counts it, with TLS and while a store hangs."""
    base = load(KUSTOMIZE / "base" / "deployment.yaml")
    container = container_of([base])
    for settings, resources in (
            (VALUES["settings"], VALUES["resources"]),
            (dict(word.lstrip("-").split("=") for word in container["args"]),
             container["resources"])):
        held = (14_000_000 + 2 * int(settings["max-buffered"])
                + 51_000 * int(settings["max-connections"])
                + 50_000_000 * int(settings["workers"]))
        limit = resources["limits"]["memory"]
        assert held < int(limit.removesuffix("Mi")) << 20


def keys(values, schema, place=""):
    """Yields where values and a schema have different keys."""
    names = schema.get("properties")
    if names is None:
        return
    if schema.get("additionalProperties") is not False:
        yield f"{place}: takes keys that do not exist"
    for name in sorted(names.keys() ^ values.keys()):
        # Parts of what Kubernetes defines.
        if place not in ("/resources", "/env", "/envFrom") and (
                not place.startswith("/probes/")):
            yield f"{place}/{name}"
    for name, value in values.items():
        if isinstance(value, dict) and name in names:
            yield from keys(value, names[name], f"{place}/{name}")


def test_the_schema_has_each_value():
    # Helm itself sets `global`.
    assert set(keys(VALUES, SCHEMA)) == {"/global"}


@pytest.mark.parametrize(("place", "value"), [
    ("nonsense", 1), ("replicas", "two"), ("ports/grpc", 0),
    ("service/type", "Ingress"), ("settings/workers", {"a": 1}),
    ("settings/Drain", "5s"), ("descriptors/files", {".hidden": ""}),
    ("descriptors/file", {}), ("adminToken/value", "short"),
    ("image/digest", "sha256:12"), ("podAnnotations/a", True),
    ("env", [{"value": "x"}]), ("store/url", "redis:6379"),
    ("service", {"headless": True, "type": "NodePort"})])
def test_the_schema_refuses(place, value):
    over = value
    for name in reversed(place.split("/")):
        over = {name: over}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(merged(VALUES, over), SCHEMA)


def test_templates_use_each_value_and_no_other():
    text = "".join(TEMPLATES.values())
    used = set(re.findall(r"\.Values\.([A-Za-z]+)", text))
    assert used == set(VALUES)
    # Of `with .Values.x`, whatever follows.
    for name, value in VALUES.items():
        if isinstance(value, dict) and name not in (
                "settings", "resources", "podSecurityContext", "strategy",
                "securityContext"):
            for key in value:
                assert re.search(rf"\.{key}\b", text), f"{name}.{key}"


@pytest.mark.parametrize("name", TEMPLATES)
def test_actions_are_balanced(name):
    text = TEMPLATES[name]
    actions = re.findall(r"\{\{-? *(.*?) *-?\}\}", text, re.S)
    assert text.count("{{") == text.count("}}") == len(actions)
    depth = 0
    for action in actions:
        word = action.split(None, 1)[0]
        depth += (word in OPENS) - (word == "end")
        assert depth >= 0
        assert action.count("(") == action.count(")"), action
    assert depth == 0


def test_options_are_those_of_the_command():
    known = subprocess.run([COMMAND, "serve", "--help"], check=True, text=True,
                           capture_output=True, timeout=60).stdout
    own = TEMPLATES["_helpers.tpl"].split('"limitree.options"')[1]
    own = re.findall(r"^([a-z-]+): ", own.split('"limitree.args"')[0], re.M)
    options = {*own, *VALUES["settings"]}
    for variant in VARIANTS:
        options |= set(load(variant).get("settings", {}))
    assert {"listen", "drain-delay", "tls-cert", "workers", "xds"} <= options
    for option in options:
        assert re.search(rf"--{option}\b", known), option
