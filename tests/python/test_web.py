"""What a server answers to a denied request, and without a store."""

import json

import pytest

import limitree
from limitree.web import counted_as, denial, methods_of, unavailable


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


def test_methods():
    assert methods_of(None) is None
    assert methods_of("post") == {"POST"}  # not P, O, S and T
    assert methods_of(["Put", "PATCH"]) == {"PUT", "PATCH"}
    assert methods_of("GET") == methods_of(("get", "head")) == {"GET", "HEAD"}
    assert methods_of(iter(["HEAD"])) == {"HEAD"}
    assert counted_as("HEAD") == counted_as("GET") == "GET"
    assert counted_as("POST") == "POST"
    for kind in "WS", "RPC":
        assert counted_as(kind) == kind


@pytest.mark.parametrize("methods, error", [
    ("GTE", "no method 'GTE': did you mean 'GET'"),
    (["GET", "x"], "no method 'x'$"), ("", "no method ''$"),
    ([], "must not be empty"), ([None], "such as \"GET\", not NoneType"),
    (b"GET", "not int")])
def test_what_is_not_a_method(methods, error):
    with pytest.raises((TypeError, ValueError), match=error):
        methods_of(methods)
