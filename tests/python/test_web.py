"""What a server answers to a denied request, and without a store."""

import json

import pytest

import limitree
from limitree.web import denial, unavailable


def denied(limiter, *path):
    while True:
        decision = limiter.authorize(*path, levels=True)
        if decision.limited:
            return decision


def test_denial(limiter):
    answer = denial(denied(limiter, "user", "alex", "trade"))
    assert answer.status_line == "429 Too Many Requests"
    headers = dict(answer.headers)
    assert headers.pop("RateLimit-Policy") == (
        '"user:*";q=16;w=32, "user:*/trade";q=6;w=9')
    assert headers.pop("RateLimit").startswith('"user:*";r=10;t=2, ')
    assert headers == {
        "Content-Type": "application/problem+json",
        "Content-Length": str(len(answer.body)),
        "Cache-Control": "no-store", "Retry-After": "2"}
    assert json.loads(answer.body) == {
        "type": "https://iana.org/assignments/http-problem-types"
                "#quota-exceeded",
        "title": "Too Many Requests", "status": 429,
        "detail": "Try again in 2 s.", "violated-policies": ["user:*/trade"]}


def test_denial_in_another_style(limiter):
    decision = denied(limiter, "job")
    legacy = dict(denial(decision, "legacy").headers)
    assert legacy["X-RateLimit-Limit"] == "1"
    assert legacy["Retry-After"] == "60"
    none = dict(denial(decision, "none").headers)
    assert set(none) == {"Content-Type", "Content-Length", "Cache-Control"}


def test_denial_that_no_wait_helps(limiter):
    answer = denial(limiter.authorize("job", cost=2, levels=True))
    assert "Retry-After" not in dict(answer.headers)


def test_denial_of_what_was_allowed(limiter):
    with pytest.raises(ValueError, match="was allowed"):
        denial(limiter.authorize("job", levels=True))


def test_unavailable():
    answer = unavailable(limitree.StoreError("redis at 10.0.0.1 is down", "x"))
    assert answer.status_line == "503 Service Unavailable"
    assert dict(answer.headers)["Retry-After"] == "1"
    assert b"10.0.0.1" not in answer.body
