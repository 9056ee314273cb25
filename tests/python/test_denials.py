"""The log of denials, and the date of a retry."""

import logging

import flask
import pytest
from werkzeug.http import parse_date

import limitree
from flask_requests import codes
from limitree import denials
from limitree.rate_limit import RateLimit
from limitree.wsgi import LimitreeMiddleware


@pytest.fixture
def second(monkeypatch):
    """The clock of the log, in whole seconds."""
    now = [100.0]
    monkeypatch.setattr(denials.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(denials.log_denial, "_second", 0)
    monkeypatch.setattr(denials.log_denial, "_left_out", 0)
    return now


def flask_client():
    from limitree.flask import Limiter
    app = flask.Flask("shop")
    Limiter(app=app, default_limits=["1/minute"], retry_after="http-date")
    app.get("/", endpoint="x")(lambda: "")
    return app.test_client()


def test_each_denial_is_logged_but_not_too_many(limitree_clock, caplog, second):
    caplog.set_level(logging.INFO, "limitree.denials")
    client = flask_client()
    assert codes(client, "/", 31) == [200] + [429] * 30
    assert len(caplog.messages) == denials.MOST == 10
    assert caplog.messages[0] == (
        "denied by view:x/*/1/1m: try again in 60.000 s")
    assert caplog.records[0].decision.limited
    second[0] += 1
    assert codes(client, "/", 1) == [429]
    assert caplog.messages[10:] == ["20 more requests were denied",
                                    caplog.messages[0]]


def test_nothing_is_told_unless_somebody_listens(limitree_clock, caplog):
    caplog.set_level(logging.WARNING, "limitree.denials")
    assert codes(flask_client(), "/", 3) == [200, 429, 429]
    assert caplog.messages == []


def test_a_middleware_logs_too(limitree_clock, caplog, second):
    import werkzeug.test

    caplog.set_level(logging.INFO, "limitree.denials")
    app = LimitreeMiddleware(flask.Flask("shop"), rules=[
        RateLimit("1/hour")], key=lambda environ: "all")
    client = werkzeug.test.Client(app)
    assert codes(client, "/", 2) == [404, 429]
    assert caplog.messages == [
        "denied by rule:app/*/1/1h: try again in 3600.000 s"]


def test_a_date_to_retry_at(limitree_clock):
    client = flask_client()
    client.get("/")
    told = parse_date(client.get("/").headers["Retry-After"])
    assert told.timestamp() == limitree_clock.now_ns / 1e9 + 60


def test_another_word_for_a_date():
    from limitree.flask import Limiter
    with pytest.raises(limitree.ConfigError, match="LIMITREE_RETRY_AFTER must"):
        Limiter(app=flask.Flask("shop"), retry_after="date")
