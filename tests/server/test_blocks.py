"""Callers that are blocked and let in again, by clients of both protocols."""

import grpc
import httpx
import pytest
from servers import redis_server
from service import error_of, pb
from service import request as asked

LIMITS = """\
schema:
  user:
    children:
      "*": {limits: [5/hour, {block: true}]}
  plain: {limits: 5/hour}
"""
ALEX = {"paths": [["user", "alex"]]}
HOUR_NS = 3600 * 10**9


@pytest.fixture(name="service", params=["memory", "redis"])
def make_service(request, serve, tmp_path):
    limits = tmp_path / "blocks.yaml"
    limits.write_text(LIMITS, encoding="utf-8")
    words = ("--http-listen", "127.0.0.1:0")
    if request.param == "memory":
        yield serve(*words, limits=limits)
        return
    with redis_server() as (url, _):
        yield serve(*words, "--store", url, limits=limits)


def test_http(service):
    with httpx.Client(base_url=service.http[0]) as client:
        blocked = client.post("/v1/block", json={**ALEX,
                                                 "duration_ns": HOUR_NS})
        assert (blocked.status_code, blocked.json()) == (200, {})
        denied = client.post("/v1/authorize", json=ALEX)
        assert denied.status_code == 429
        assert 3500 < int(denied.headers["Retry-After"]) <= 3600
        assert '"user:*#blocked";r=0' in denied.headers["RateLimit"]
        assert client.post("/v1/reset", json=ALEX).status_code == 200
        assert client.post("/v1/authorize", json=ALEX).status_code == 429
        assert client.post("/v1/unblock", json=ALEX).status_code == 200
        allowed = client.post("/v1/authorize", json=ALEX)
        assert allowed.status_code == 200
        assert "blocked" not in allowed.headers["RateLimit"]
        refused = client.post("/v1/block", json={"paths": [["plain"]],
                                                 "duration_ns": 1})
        assert refused.status_code == 400
        assert "block: true" in refused.text


def test_grpc(service):
    limiter = service.limiter()
    limiter.Block(pb.BlockRequest(segments=["user", "bea"],
                                  duration_ns=HOUR_NS))
    decision = limiter.Authorize(asked("user", "bea"))
    assert decision.limited
    assert 3500 * 10**9 < decision.retry_after_ns <= HOUR_NS
    limiter.Unblock(pb.UnblockRequest(segments=["user", "bea"]))
    assert not limiter.Authorize(asked("user", "bea")).limited
    code, message = error_of(lambda: limiter.Block(
        pb.BlockRequest(segments=["user", "bea"])))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "a block must last" in message
