"""Limits that count other units than requests, by clients of both protocols."""

import grpc
import httpx
import pytest
from servers import redis_server
from service import error_of, path, pb
from service import request as asked

UNITS = """\
schema:
  key:
    children:
      "*":
        limits:
          - {name: rpm, count: 3, period: 1h}
          - {name: tpm, count: 100, period: 1h, unit: tokens}
  ip: {children: {"*": {limits: 5/hour}}}
"""
KEY = {"paths": [["key", "k1"]]}
NONE_NAMED = "key:*#tpm counts tokens, and the request names none"


@pytest.fixture(name="service", params=["memory", "redis"])
def make_service(request, serve, tmp_path):
    limits = tmp_path / "units.yaml"
    limits.write_text(UNITS, encoding="utf-8")
    words = ("--http-listen", "127.0.0.1:0")
    if request.param == "memory":
        yield serve(*words, limits=limits)
        return
    with redis_server() as (url, _):
        yield serve(*words, "--store", url, limits=limits)


@pytest.fixture(name="limiter")
def make_limiter(service):
    return service.limiter()


@pytest.fixture(name="client")
def make_client(service):
    with httpx.Client(base_url=service.http[0]) as client:
        yield client


# ---- gRPC -------------------------------------------------------------------

def test_grpc(limiter):
    ask = asked("key", "k1", costs={"tokens": 60})
    decision = limiter.Authorize(ask)
    assert not decision.limited
    assert [(level.unit, level.cost, level.remaining)
            for level in decision.levels] == [
                ("request", 1, 2), ("tokens", 60, 40)]
    decision = limiter.Authorize(ask)
    assert decision.limited
    assert not any(level.charged for level in decision.levels)
    ask.cost = 0
    assert limiter.Spend(ask).levels[1].remaining == 0
    ask.costs["tokens"] = 25
    assert limiter.Refund(ask).levels[1].remaining == 25
    assert not limiter.Peek(ask).limited
    ask.costs["tokens"] = 27
    assert limiter.Peek(ask).limited


def test_grpc_several_paths_share_the_costs(limiter):
    decision = limiter.Authorize(pb.DecideRequest(
        paths=[path("key", "k1"), path("ip", "a"), path("key", "k2", cost=2)],
        costs={"tokens": 7}))
    assert [(level.unit, level.cost) for level in decision.levels] == [
        ("request", 1), ("tokens", 7), ("request", 1), ("request", 2),
        ("tokens", 7)]


@pytest.mark.parametrize("costs, message", [
    ({}, NONE_NAMED),
    ({"tokens": 1, "euro": 1},
     'no limit counts "euro", they count tokens'),
    ({"tokens": -1}, "cost in tokens must not be negative, is -1"),
    ({"tokens": 1, "request": 1},
     "the cost in request is that of each path"),
    ({f"u{i}": 1 for i in range(65)}, "the request has more than 64 costs"),
])
def test_grpc_mistakes(limiter, costs, message):
    for ask in (limiter.Authorize, limiter.Peek):
        assert error_of(lambda: ask(asked("key", "k1", costs=costs))) == (
            grpc.StatusCode.INVALID_ARGUMENT, message)
    # Without any cost, a request only looks.
    decision = limiter.Peek(asked("key", "k1", cost=0))
    assert [level.remaining for level in decision.levels] == [3, 100]


# ---- JSON -------------------------------------------------------------------

def test_json(client):
    body = {**KEY, "cost": {"request": 1, "tokens": 60}}
    answer = client.post("/v1/authorize", json=body)
    assert answer.status_code == 200
    assert [(level["unit"], level["cost"], level["remaining"])
            for level in answer.json()["levels"]] == [
                ("request", 1, 2), ("tokens", 60, 40)]
    assert answer.headers["ratelimit-policy"] == (
        '"key:*#rpm";q=3;w=3600, "key:*#tpm";q=100;qu="tokens";w=3600')
    body["cost"] = {"tokens": "60"}
    assert client.post("/v1/authorize", json=body).status_code == 429
    body["paths"] = [{"segments": ["key", "k1"], "cost": {"request": 0}}]
    assert client.post("/v1/spend", json=body).json()["levels"][1][
        "remaining"] == 0
    answer = client.post("/v1/peek", json={**KEY, "cost": 0}).json()
    assert [level["remaining"] for level in answer["levels"]] == [2, 0]
    assert client.post("/v1/reset", json=KEY).json() == {}


@pytest.mark.parametrize("cost, detail", [
    (1, NONE_NAMED),
    ({"request": 1}, NONE_NAMED),
    ({"tokens": 1, "euro": 1}, 'no limit counts "euro", they count tokens'),
    ({"tokens": 0.5}, "cost.tokens: must be a whole number from 0 to "
                      "9223372036854775807"),
    ({f"u{i}": 1 for i in range(65)}, "cost: has more than 64 units"),
])
def test_json_mistakes(client, cost, detail):
    answer = client.post("/v1/authorize", json={**KEY, "cost": cost})
    assert (answer.status_code, answer.json()["detail"]) == (400, detail)


def test_the_cost_of_a_path(client):
    own = {"segments": ["key", "k1"], "cost": {"tokens": 3}}
    answer = client.post("/v1/authorize", json={"paths": [own]})
    assert answer.json()["detail"] == (
        "paths[0].cost.tokens: must be in the cost of the request, for all "
        "paths")


# ---- What is too much -------------------------------------------------------

@pytest.mark.parametrize("service", ["memory"], indirect=True)
def test_thousands_of_costs_cost_nothing(service, limiter, client):
    """Comparing them in pairs would take seconds."""
    costs = {f"u{i}": 1 for i in range(50_000)}
    begin = service.cpu()
    for _ in range(10):
        code, _ = error_of(lambda: limiter.Authorize(
            asked("key", "k1", costs=costs)))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        answer = client.post("/v1/authorize", json={**KEY, "cost": costs})
        assert answer.json()["detail"] == "cost: has more than 64 units"
    assert service.cpu() - begin < 3
    assert limiter.Peek(asked("key", "k1", cost=0)).levels[0].remaining == 3
