"""Retry-After as a date, in every integration that writes it."""

import pytest

import limitree
from limitree.testing import ManualClock
from test_scenarios import APPS, make

SCENARIO = {"name": "dates", "app": {"routes": {"GET /a": ["1/minute"]}}}
CALLER = {"X-Caller": "alex"}


@pytest.mark.parametrize("name", [name for name in APPS
                                  if "functions" not in name])
def test_a_date(name, monkeypatch):
    # The date is rounded up, also for a clock between two seconds.
    clock = ManualClock(1_700_000_000_500_000_000)
    monkeypatch.setattr(limitree.limiter, "default_clock", clock)
    app = make(name, {**SCENARIO, "app": {
        **SCENARIO["app"], "retry_after": "http-date"}}, clock)
    try:
        assert app.request("GET", "/a", CALLER).status == 200
        denied = app.request("GET", "/a", CALLER)
        assert denied.status == 429
        assert denied.headers["Retry-After"] == "Tue, 14 Nov 2023 22:14:21 GMT"
        clock.advance(60)
        assert app.request("GET", "/a", CALLER).status == 200
    finally:
        app.close()


@pytest.mark.parametrize("name", [name for name in APPS
                                  if "functions" not in name])
def test_another_word_is_an_error(name):
    with pytest.raises(Exception, match="(?i)retry_after.*http-date"):
        make(name, {**SCENARIO, "app": {**SCENARIO["app"],
                                        "retry_after": "date"}}, ManualClock()
             ).request("GET", "/a", CALLER)  # Django reads settings then
