"""The words for the algorithms of other libraries, and their exact counts."""

import datetime
import random

import flask
import limits
import limits.strategies
import pytest
import time_machine

import limitree
from flask_requests import codes
from limitree.limits import NO_LIMITS
from limitree.plain import PlainLimits, STRATEGIES, algorithm_of, parse
from limitree.testing import ManualClock

THEIRS = {
    "fixed-window": limits.strategies.FixedWindowRateLimiter,
    "moving-window": limits.strategies.MovingWindowRateLimiter,
    "sliding-window-counter":
        limits.strategies.SlidingWindowCounterRateLimiter,
}
MIDNIGHT = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)


class Both:
    """The library `limits` and limitree, asked at the same times."""

    def __init__(self, strategy, text, traveller):
        self._item = limits.parse(text)
        self._theirs = THEIRS[strategy](limits.storage.MemoryStorage())
        self._traveller = traveller
        self._clock = ManualClock()
        self._limiter = limitree.Limiter(NO_LIMITS, clock=self._clock)
        plain = PlainLimits(strategy=strategy)
        self._paths = plain.rule(text, "test").paths("alex")
        plain.update(self._limiter)

    def at(self, seconds, count=1):
        """Returns how many of `count` requests are allowed at that time."""
        at = MIDNIGHT + datetime.timedelta(seconds=seconds)
        self._traveller.move_to(at, tick=False)
        self._clock.now_ns = round(at.timestamp() * 1e6) * 1000
        theirs = [self._theirs.hit(self._item, "alex") for _ in range(count)]
        ours = [self._limiter.authorize_all(self._paths).allowed
                for _ in range(count)]
        assert ours == theirs, f"at {seconds} s"
        return sum(ours)


@pytest.fixture
def traveller():
    with time_machine.travel(MIDNIGHT, tick=False) as found:
        yield found


def test_a_strategy_for_each_of_theirs():
    assert set(STRATEGIES) == set(limits.strategies.STRATEGIES)


# ---- The examples in the documents of `limits` ------------------------------


def test_a_fixed_window_begins_with_the_first_request(traveller):
    both = Both("fixed-window", "10/minute", traveller)
    assert both.at(45) == 1  # the window is from 00:00:45 to 00:01:45
    assert both.at(70, 12) == 9
    assert both.at(104, 3) == 0
    assert both.at(105.001, 12) == 10  # a new one, until 00:02:45
    assert both.at(164, 1) == 0


def test_a_moving_window_ends_now(traveller):
    both = Both("moving-window", "10/minute", traveller)
    assert both.at(10) == 1
    assert both.at(20, 9) == 9
    assert both.at(69.999) == 0
    assert both.at(70.001, 5) == 1  # the first one has left
    assert both.at(79.999) == 0
    assert both.at(80.001, 12) == 9


def test_a_sliding_window_counts_a_share_of_the_last_one(traveller):
    both = Both("sliding-window-counter", "100/minute", traveller)
    assert both.at(30, 80) == 80
    # 15 s into the next window, 80 x 75 % are left of the last one.
    assert both.at(75.001, 60) == 41
    assert both.at(90.001, 60) == 20


@pytest.mark.parametrize("strategy", THEIRS)
@pytest.mark.parametrize("text", ["3/second", "10/minute", "7 per 2 hours"])
def test_any_requests(strategy, text, traveller):
    both = Both(strategy, text, traveller)
    rng = random.Random(f"{strategy} {text}")
    period = limits.parse(text).get_expiry()
    now, allowed = 0.0, 0
    for _ in range(400):
        now += round(rng.expovariate(8 / period), 6)
        allowed += both.at(now, rng.choice((1, 1, 2, 5)))
    assert 100 < allowed < 800


# ---- What a strategy is -----------------------------------------------------


@pytest.mark.parametrize("strategy, name", [
    (None, "5/1m"), ("gcra", "5/1m"), ("token_bucket", "5/1m"),
    ("fixed-window", "5/1m-fixed_window-first"),
    ("fixed_window", "5/1m-fixed_window"),
    ("moving-window", "5/1m-sliding_log"),
    ("sliding-window-counter", "5/1m-sliding_tail"),
    ("sliding_window", "5/1m-sliding_window"),
])
def test_its_words(strategy, name):
    algorithm = algorithm_of(strategy)
    assert [one.name for one in parse("5/minute", algorithm)] == [name]
    # A text goes first, and only a token bucket has a burst.
    own = parse("5/m gcra; 5/m sliding_tail; 5/m burst 2", algorithm)
    assert [one.name for one in own] == ["5/1m", "5/1m-sliding_tail",
                                         "5/1m-burst2"]


def test_a_long_moving_window_is_a_sliding_window():
    algorithm = algorithm_of("moving-window")
    assert [one.name for one in parse("10000/h; 10001/h", algorithm)] == [
        "10000/1h-sliding_log", "10001/1h-sliding_window"]


@pytest.mark.parametrize("strategy", [
    "", "fixed window", "fixed-window-elastic-expiry", "5/m", "burst 7",
    "gcra burst 2", "fixed_window; 5/m", "first"])
def test_no_strategy(strategy):
    with pytest.raises(limitree.ConfigError, match="there is no strategy .*: "
                       "known are fixed-window, moving-window, "):
        algorithm_of(strategy)


def test_a_strategy_is_a_text():
    with pytest.raises(TypeError, match="strategy must be a str"):
        algorithm_of(5)


# ---- In the integrations ----------------------------------------------------


def windows(ask, clock):
    """Returns how many of 3 requests pass at 0, 35, 59 and 60 s."""
    found = []
    for seconds in (0, 35, 24, 1):
        clock.advance(seconds)
        found.append(sum(ask() for _ in range(3)))
    return found


EXPECTED = {  # of 2/minute, from 20 s after a minute of the epoch on
    None: [2, 1, 0, 1],
    "fixed-window": [2, 0, 0, 2],
    "moving-window": [2, 0, 0, 2],
    "sliding-window-counter": [2, 0, 1, 0],
}


@pytest.mark.parametrize("strategy", EXPECTED)
def test_flask(strategy, limitree_clock):
    from limitree.flask import Limiter

    for options, config in (({"strategy": strategy}, {}),
                            ({}, {"RATELIMIT_STRATEGY": strategy}),
                            ({}, {"LIMITREE_STRATEGY": strategy})):
        app = flask.Flask(__name__)
        app.config.update(config)
        limiter = Limiter(app=app, default_limits=["2/minute"], **options)
        app.get("/", endpoint="x")(lambda: "")
        app.get("/own", endpoint="own")(limiter.limit("2/minute")(lambda: ""))
        limitree_clock.now_ns = 1_700_000_000_000_000_000
        client = app.test_client()
        assert windows(lambda: codes(client, "/", 1) == [200]
                       and codes(client, "/own", 1) == [200],
                       limitree_clock) == EXPECTED[strategy]


@pytest.mark.parametrize("strategy", EXPECTED)
def test_fastapi(strategy, limitree_clock):
    import fastapi
    import fastapi.testclient

    from limitree.fastapi import Limiter

    app = fastapi.FastAPI()
    limiter = Limiter(app=app, strategy=strategy)

    @app.get("/")
    @limiter.limit("2/minute")
    def root():
        return ""

    client = fastapi.testclient.TestClient(app, client=("192.0.2.1", 1))
    assert windows(lambda: client.get("/").status_code == 200,
                   limitree_clock) == EXPECTED[strategy]


@pytest.mark.parametrize("strategy", EXPECTED)
def test_django(strategy, limitree_clock):
    import django_site
    from django.test import Client, override_settings

    with override_settings(LIMITREE={"LIMITS": django_site.LIMITS,
                                     "DEFAULT": "2/m", "STRATEGY": strategy}):
        assert windows(lambda: Client().get("/plain").status_code == 200,
                       limitree_clock) == EXPECTED[strategy]


def test_the_counts_of_rest_framework(limitree_clock):
    import django_site  # noqa: F401  its settings come first
    from rest_framework.test import APIRequestFactory
    from rest_framework.throttling import AnonRateThrottle
    from rest_framework.views import APIView

    from limitree import drf

    class Theirs(AnonRateThrottle):
        rate = "7/min"
        scope = "compared"
        timer = staticmethod(lambda: limitree_clock.now_ns / 1e9)

    class Ours(drf.AnonRateThrottle):
        rate = "7/min sliding_log"
        scope = "compared"

    class View(APIView):
        pass

    def ask(throttle):
        view = View()
        request = view.initialize_request(APIRequestFactory().get("/"))
        return throttle().allow_request(request, view)

    rng = random.Random(7)
    allowed = 0
    for _ in range(200):
        limitree_clock.advance(round(rng.expovariate(0.2), 6))
        ours = ask(Ours)
        assert ours == ask(Theirs)
        allowed += ours
    assert 80 < allowed < 190
