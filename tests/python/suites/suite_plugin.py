"""What the suites of others get from here: stores, and clocks."""

import os
import sys
import time

import pytest

from limitree import limiter

SUITE = os.environ["SUITE"]

if SUITE == "flask_limiter":
    # The time of Python, which hiro replaces, and which has microseconds.
    limiter.default_clock = lambda: round(time.time() * 1e6) * 1000


@pytest.fixture(scope="session")
def docker_services():
    """Servers that this suite starts by Docker; they run already."""
    class Services:
        def start(self, name):
            if name == "mongodb":
                pytest.skip("limitree has no store in MongoDB")

        def wait_for_service(self, *service):
            pass

    return Services()


@pytest.fixture(autouse=SUITE != "flask_limiter")
def clock_of_its_own(limitree_clock, monkeypatch):
    """A new clock, and with it empty buckets, as after cache.clear()."""
    if SUITE != "rest_framework":
        yield
        return
    from django.test import override_settings

    suite = sys.modules["tests.test_throttling"]
    begin = limitree_clock.now_ns

    def set_timer(case, view, seconds):
        limitree_clock.now_ns = begin + round(seconds * 1e9)

    def increment(case, seconds=1):
        limitree_clock.advance(seconds)

    monkeypatch.setattr(suite.ThrottlingTests, "set_throttle_timer", set_timer)
    monkeypatch.setattr(suite.ScopedRateThrottleTests, "increment_timer",
                        increment)
    with override_settings(LIMITREE={"STRATEGY": "moving-window"}):
        yield
