"""Every scenario of tests/web/scenarios.json, in every integration; and the
table of docs/features.md, which says what each of them can do."""

import importlib
import pathlib
import re

import pytest

import limitree
from limitree.testing import ManualClock
from scenario_apps import LIST, Impossible

#: The columns of the table, and the application of each.
APPS = {"Flask": "scenario_apps:Flask", "Django": "scenario_django:Django",
        "DRF": "scenario_django:Drf", "FastAPI": "scenario_apps:FastApi",
        "Starlette": "scenario_apps:Starlette", "ASGI": "scenario_apps:Asgi",
        "Litestar": "scenario_homes:Litestar", "Quart": "scenario_homes:Quart",
        "Sanic": "scenario_homes:Sanic", "aiohttp": "scenario_homes:Aiohttp",
        "WSGI": "scenario_apps:Wsgi", "functions": "scenario_apps:Plain",
        "async functions": "scenario_apps:PlainAsync"}
PAGE = pathlib.Path(__file__).parents[2] / "docs" / "features.md"
HEADERS = {"caller": "X-Caller", "tier": "X-Tier", "account": "X-Account",
           "cost": "X-Cost", "fails": "X-Status", "staff": "X-Staff"}
#: What was found: (feature, integration) -> the reasons why not, by scenario.
found = {}


def make(name, scenario, clock):
    module, _, kind = APPS[name].partition(":")
    return getattr(importlib.import_module(module), kind)(scenario, clock)


def headers_of(step):
    return {header: str(step[name]) for name, header in HEADERS.items()
            if name in step}


def play(app, clock, step):
    if "advance" in step:
        clock.advance(step["advance"])
    elif "breaches" in step:
        assert app.functions.breaches == step["breaches"]
    elif "reset" in step:
        app.reset(step["caller"])
    elif "get" in step:
        levels = app.levels(step["caller"])
        assert [level.remaining for level in levels] == [step["left"]]
    else:
        request(app, step)


def request(app, step):
    method, path = step["request"].split(" ")
    headers = headers_of(step)
    if method == "WS":
        statuses = [app.connect(path, headers) for _ in step["answers"]]
        assert statuses == step["answers"]
        return
    answers = [app.request(method, path, headers) for _ in step["answers"]]
    assert [one.status for one in answers] == step["answers"]
    check(answers[-1], step)


def check(answer, step):
    assert step.get("body", "") in answer.text
    if "tells" in step:
        assert answer.text.strip('"') == step["tells"]  # it may be JSON
    told = answer.headers
    if told is None:  # a function has no headers
        return
    if "left" in step:
        numbers = re.findall(r";r=(\d+)", told["RateLimit"])
        assert sorted(map(int, numbers)) == sorted(step["left"])
    if "retry_after" in step:
        assert told["Retry-After"] == str(step["retry_after"])
    if "type" in step:
        assert told["Content-Type"].startswith(step["type"])


@pytest.mark.parametrize("scenario", LIST["scenarios"],
                         ids=lambda one: one["name"])
@pytest.mark.parametrize("name", APPS)
def test_scenario(name, scenario, monkeypatch):
    clock = ManualClock()
    # Of limiters that the integration makes, whatever its options.
    monkeypatch.setattr(limitree.limiter, "default_clock", clock)
    reasons = found.setdefault((scenario["feature"], name), [])
    try:
        app = make(name, scenario, clock)
    except Impossible as reason:
        reasons.append(str(reason))
        return
    reasons.append(None)
    try:
        for step in scenario["steps"]:
            play(app, clock, step)
    finally:
        app.close()


# ---- The table --------------------------------------------------------------


def cells():
    """Yields feature, integration, cell of the table in the page."""
    lines = PAGE.read_text().splitlines()
    start = next(place for place, line in enumerate(lines)
                 if line.startswith("| | Flask |"))
    names = [name.strip() for name in lines[start].split("|")[2:-1]]
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        feature, *row = [cell.strip() for cell in line.split("|")[1:-1]]
        yield from ((feature.split(":")[0], name, cell)
                    for name, cell in zip(names, row))


def cell_of(reasons):
    if None not in reasons:
        return "no"
    return "yes" if set(reasons) == {None} else "partly"


def test_the_table_says_what_was_found():
    if len(found) < len(APPS) * len(LIST["features"]):
        pytest.skip("it needs the results of all scenarios")
    listed = {(feature, name): cell for feature, name, cell in cells()}
    assert listed == {key: cell_of(reasons) for key, reasons in found.items()}


def test_the_page_has_every_reason():
    page = " ".join(PAGE.read_text().split()).lower()
    for (feature, name), reasons in found.items():
        for reason in filter(None, reasons):
            assert reason.lower() in page, (feature, name)
