"""Types: the package is strictly typed, its stubs are right, users see them."""

import os
import pathlib
import subprocess
import sys

import pytest

HERE = pathlib.Path(__file__).parent
PACKAGE = pathlib.Path(__import__("limitree").__file__).parent

USER = """
from __future__ import annotations

from fastapi import FastAPI

import limitree
from limitree.slowapi import _rate_limit_exceeded_handler
from limitree.slowapi.errors import RateLimitExceeded

FastAPI().add_exception_handler(RateLimitExceeded, _rate_limit_exceeded_handler)
limiter = limitree.Limiter("schema: {job: {}}", max_buckets=7)
decision = limiter.authorize("job", b"x", cost=2)
wait: float | None = decision.retry_after
pairs: list[tuple[str, str]] = decision.headers("legacy", reset="epoch")
denied: limitree.Decision | None = limitree.authorize_action_for_user("a", "b")

with limiter.reserve("job", cost={"tokens": 9}, hold="10m") as held:
    text: str = held.receipt
    left: int = held.remaining + held.settle(tokens=3) + limiter.cancel(text)

async def reserve(limiter: limitree.AsyncLimiter) -> limitree.Decision:
    async with limiter.reserve("job", hold=60) as held:
        await held.extend(1.5)
    other: limitree.AsyncReservation = await limiter.reserve_all([["job"]])
    settled: int = await limiter.settle(other.receipt, {"tokens": 1})
    return other.decision

@limiter.limit("job", lambda who: who)
def job(who: str) -> int:
    return 1

number: int = job("x")
"""
WRONG = ['limiter.authorize("job", None)', 'limiter.authorize("job", cost="1")',
         'decision.headers("ietf-draft")', 'decision.limit = 1',
         'limitree.Limiter(None)', 'limiter.authorize_all([1])', 'job(1)',
         'held.settle(tokens="3")', 'held.limited = True',
         'limiter.reserve("job", hold=None, part="check")']

DJANGO = """
from django.http import HttpRequest, HttpResponse

from limitree.django import is_ratelimited, ratelimit

@ratelimit(key="ip", rate="5/m", method=ratelimit.UNSAFE)
def view(request: HttpRequest, pk: int) -> HttpResponse:
    return HttpResponse(str(pk))

answer: HttpResponse = view(HttpRequest(), 7)
@ratelimit("model", reserve="30s", deduct_when=lambda answer: {"tokens": 1})
def reserving(request: HttpRequest) -> HttpResponse:
    return view(request, 7)

limited: bool = is_ratelimited(HttpRequest(), "group", rate="5/m",
                               method=is_ratelimited.ALL)
"""
WRONG_DJANGO = ['view(HttpRequest(), "7")', 'ratelimit.UNSAVE',
                'ratelimit(rate=5.0)', 'ratelimit("model", reserve=[])',
                'is_ratelimited("group")']


def run(*command, cwd):
    return subprocess.run([sys.executable, *command], cwd=cwd, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "MYPYPATH": str(PACKAGE.parent),
                               # REST framework needs it when imported.
                               "DJANGO_SETTINGS_MODULE":
                                   "django.conf.global_settings"})


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What mypy has read of other packages, for all of these tests."""
    return str(tmp_path_factory.mktemp("mypy"))


def test_strict(cache):
    done = run("-m", "mypy", "--strict", "--cache-dir", cache, "-p",
               "limitree", cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stdout


@pytest.mark.skipif(sys.version_info < (3, 10), reason="the last mypy for 3.9 "
                    "takes what a module imports for its names")
def test_stubs():
    done = run("-m", "mypy.stubtest", "limitree._native", "--allowlist",
               str(HERE / "stubtest_allow.txt"), cwd=PACKAGE.parent)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("right, wrong", [(USER, WRONG),
                                          (DJANGO, WRONG_DJANGO)])
def test_users_are_told(tmp_path, cache, right, wrong):
    (tmp_path / "user.py").write_text(right + "\n".join(wrong))
    done = run("-m", "mypy", "--strict", "--cache-dir", cache, "user.py",
               cwd=tmp_path)
    first = right.count("\n") + 1
    lines = {int(line.split(":")[1]) for line in done.stdout.splitlines()
             if ": error:" in line}
    assert lines == set(range(first, first + len(wrong))), done.stdout
