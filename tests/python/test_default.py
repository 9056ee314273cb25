"""The default limiter of the process, under pytest and with frozen time."""

import datetime
import pathlib

import freezegun
import pytest
import time_machine

import limitree
from conftest import USERS
from limitree import default
from limitree.testing import ManualClock, wall_clock


@pytest.fixture(autouse=True)
def nothing_configured(monkeypatch):
    monkeypatch.setattr(default, "_limiter", None)
    monkeypatch.delenv("LIMITREE_LIMITS", raising=False)
    monkeypatch.delenv("LIMITREE_STORE", raising=False)


def test_nothing_configured():
    with pytest.raises(limitree.ConfigError, match="LIMITREE_LIMITS"):
        limitree.authorize_action_for_user("alex", "trade")


def test_configure():
    limiter = limitree.configure(USERS, max_buckets=99)
    assert limitree.default_limiter() is limiter
    assert limiter.stats().max_buckets == 99
    assert limitree.authorize_action_for_user("alex", "trade", 6) is None
    assert limitree.authorize_action_for_user("alex", "trade").limited


def test_a_mistake_leaves_the_one_before():
    limiter = limitree.configure(USERS)
    with pytest.raises(limitree.ConfigError):
        limitree.configure("schema: 1")
    assert limitree.default_limiter() is limiter


def test_environment(tmp_path, monkeypatch):
    path = tmp_path / "limits.yaml"
    path.write_text(USERS)
    monkeypatch.setenv("LIMITREE_LIMITS", str(path))
    assert limitree.authorize_action_for_user("alex", "trade") is None
    first = limitree.default_limiter()
    assert limitree.default_limiter() is first
    monkeypatch.setattr(default, "_limiter", None)
    monkeypatch.setenv("LIMITREE_STORE", "nonsense://")
    with pytest.raises(limitree.ConfigError, match="store"):
        limitree.default_limiter()


# ---- Time that stands still -------------------------------------------------


def test_fixture(limitree_clock):
    limiter = limitree.Limiter(USERS)
    assert limiter.clock is limitree_clock
    assert limiter.authorize("job").allowed
    limitree_clock.advance(59.999)
    assert limiter.authorize("job").limited
    limitree_clock.advance(0.001)
    assert limiter.authorize("job").allowed


def test_fixture_is_over():
    assert limitree.Limiter(USERS).clock is None


def test_manual_clock():
    clock = ManualClock(5)
    clock.advance(0.1)
    assert clock() == 100_000_005
    assert repr(clock) == "ManualClock(now_ns=100000005)"


def test_freezegun():
    limiter = limitree.Limiter(USERS, clock=wall_clock)
    with freezegun.freeze_time("2030-01-01") as frozen:
        assert limiter.authorize("job").allowed
        assert limiter.authorize("job").retry_after == 60.0
        frozen.tick(datetime.timedelta(seconds=60))
        assert limiter.authorize("job").allowed


def test_time_machine():
    limiter = limitree.Limiter(USERS, clock=wall_clock)
    with time_machine.travel("2030-01-01T00:00:00Z", tick=False) as traveller:
        assert limiter.authorize("job").allowed
        assert limiter.authorize("job").retry_after == 60.0
        traveller.shift(60)
        assert limiter.authorize("job").allowed


def test_plugin_is_declared():
    root = pathlib.Path(__file__).parents[2]
    declared = (root / "pyproject.toml").read_text()
    assert 'limitree = "limitree.pytest_plugin"' in declared
