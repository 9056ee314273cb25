"""limitree.wsgi and limitree.flask that hold until a response has ended,
without a server."""

import contextlib
import datetime

import flask
import pytest

import limitree
from holding import LIMITS, left
from limitree.flask import Limiter
from limitree.wsgi import LimitreeMiddleware
from reserving import AS_HELD, COST, FREE, HELD, warned  # noqa: F401
from reserving import run_wsgi as run


@pytest.fixture
def limiter(clock):
    with limitree.Limiter(LIMITS, clock=clock) as made:
        yield made


def behind(limiter, app, **options):
    return LimitreeMiddleware(app, limiter, lambda environ: ("key", "k"),
                              **{"cost": COST, "reserve": True, **options})


def answering(*headers, parts=(b"a", b"b")):
    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain"), *headers])
        return iter(parts)
    return app


# ---- WSGI -------------------------------------------------------------------


def test_it_is_held_until_the_body_is_closed(limiter):
    seen = []

    def looks(body):
        for _ in body:
            seen.append(left(limiter))
        seen.append(left(limiter))

    assert run(behind(limiter, answering()), looks) == 200
    assert seen == [HELD] * 3 and left(limiter) == AS_HELD


def test_a_client_that_goes_away_in_a_stream(limiter):
    app = behind(limiter, answering(("X-Usage", "tokens=81")))
    assert run(app, next) == 200
    assert left(limiter) == [59, 919, 2]


def test_the_application_may_settle(limiter):
    def app(environ, start_response):
        held = environ["limitree.decision"]
        assert isinstance(held, limitree.Reservation)
        assert held.settle(tokens=7) == 2
        return answering(("x-usage", "tokens=9"))(environ, start_response)

    run(behind(limiter, app))
    assert left(limiter) == [59, 993, 2]


def broken_at_once(environ, start_response):
    raise KeyError


def broken_before_headers(environ, start_response):
    raise KeyError
    yield


def broken_stream(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    yield b"a"
    raise KeyError


@pytest.mark.parametrize("app, expected", [
    (broken_at_once, FREE), (broken_before_headers, FREE),
    (broken_stream, AS_HELD)])
def test_an_application_that_throws(limiter, app, expected):
    with pytest.raises(KeyError):
        run(behind(limiter, app))
    assert left(limiter) == expected


def test_a_body_whose_close_throws(limiter):
    class Body(list):
        def close(self):
            raise KeyError

    def app(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return Body([b"a"])

    with pytest.raises(KeyError):
        run(behind(limiter, app))
    assert left(limiter) == AS_HELD


def test_a_later_gate_cancels(limiter):
    inner = LimitreeMiddleware(answering(), "schema: {a: {limits: 1/d}}",
                               lambda environ: ("a",))
    app = behind(limiter, inner)
    assert [run(app) for _ in range(2)] == [200, 429]
    assert left(limiter) == [58, 600, 2]


def test_at_most_two_at_once(limiter):
    statuses = []

    def app(environ, start_response):
        statuses.append(run(site))  # the third is denied, and not here
        return answering()(environ, start_response)

    site = behind(limiter, app, cost={"tokens": 1})
    assert run(site) == 200
    assert statuses == [429, 200] and left(limiter)[2] == 2


def test_without_reserve_there_is_an_error(limiter):
    with pytest.raises(ValueError, match="key:[*]#slots limits what is held at "
                       "once: reserve its units"):
        run(behind(limiter, answering(), reserve=False))


def test_what_is_not_limited_holds_nothing(limiter):
    app = LimitreeMiddleware(answering(), limiter, lambda environ: None,
                             reserve=True)
    assert run(app) == 200
    app = LimitreeMiddleware(answering(), limiter, lambda environ: ("plain",),
                             reserve=True)
    assert run(app) == 200 and left(limiter, "plain") == [4]


def test_a_mistake_in_the_option(limiter):
    with pytest.raises(TypeError, match="reserve must be True, False or"):
        behind(limiter, answering(), reserve={})


def test_a_store_that_fails_when_it_is_settled(limiter, monkeypatch):
    def fail(*_):
        raise limitree.StoreTimeout("no answer", "timeout")
    monkeypatch.setattr(limiter, "_settle_hold", fail)
    monkeypatch.setattr(limiter, "_extend_hold", fail)

    def app(environ, start_response):
        limiter.clock.advance(20)
        return answering()(environ, start_response)

    assert run(behind(limiter, app, reserve=30)) == 200
    assert left(limiter)[2] == 1
    limiter.clock.advance(10)
    assert left(limiter)[2] == 2  # it has ended by itself


def test_a_greenlet_that_is_killed_while_it_settles(limiter, monkeypatch):
    class Killed(BaseException):
        pass

    real = limiter._settle_hold
    monkeypatch.setattr(limiter, "_settle_hold", lambda *args: real(*args) and
                        (_ for _ in ()).throw(Killed))
    with pytest.raises(Killed):
        run(behind(limiter, behind(limiter, answering())))
    assert left(limiter)[2] == 2


@pytest.mark.parametrize("reserve", ["30s", 30,
                                     datetime.timedelta(seconds=30)])
def test_a_stream_renews(limiter, clock, reserve):
    def parts():
        for _ in range(5):
            assert left(limiter) == HELD
            clock.advance(16)
            yield b"a"

    run(behind(limiter, answering(parts=parts()), reserve=reserve))
    assert left(limiter) == AS_HELD


def test_a_stream_that_is_too_slow_for_its_hold(limiter, clock):
    def parts():
        clock.advance(30)
        yield b"a"

    run(behind(limiter, answering(parts=parts()), reserve="30s"))
    assert left(limiter) == AS_HELD


# ---- Flask ------------------------------------------------------------------


def used(response):
    flask.g.asked = flask.g.get("asked", 0) + 1
    return {"tokens": flask.g.tokens}


@pytest.fixture
def site(clock):
    app = flask.Flask("site")
    limiter = Limiter(app=app, limits=LIMITS, storage_options={"clock": clock})
    app.extensions["used"] = limiter
    core = app.extensions["limitree"][limiter].core
    app.core = core

    def of_key(**options):
        return limiter.path("key", "k", cost=COST,
                            **{"reserve": True, **options})

    @app.get("/plain")
    @of_key()
    def plain():
        assert left(core)[1:] == HELD[1:]
        return "plain"

    @app.get("/settles")
    @of_key(deduct_when=lambda response: True)
    def settles():
        assert limiter.reservation is limiter.decision
        assert limiter.reservation.settle(tokens=7) == 2
        return "settled"

    @app.get("/header")
    @of_key()
    def header():
        return "x", {"X-Usage": "tokens=81"}

    @app.get("/garbage")
    @of_key()
    def garbage():
        return "x", {"X-Usage": "many"}

    @app.get("/function")
    @of_key(deduct_when=used)
    def function():
        flask.g.tokens = 81
        return "x", {"X-Usage": "tokens=9"}

    @app.get("/cancels")
    @of_key(deduct_when=lambda response: response.status_code != 404)
    def cancels():
        flask.abort(404)

    @app.get("/function/fails")
    @of_key(deduct_when=lambda response: 1 / 0)
    def function_fails():
        return "x"

    @app.get("/mistake")
    @of_key(deduct_when=lambda response: {"cents": 1})
    def mistake():
        return "x"

    @app.get("/stream")
    @of_key(deduct_when=used)
    def stream():
        g = flask.g._get_current_object()
        g.tokens = 0

        def parts():
            for _ in range(3):
                assert left(core) == HELD
                g.tokens += 27
                yield "x"
        return flask.Response(parts())

    @app.get("/fails")
    @of_key()
    def fails():
        raise KeyError

    @app.get("/breaks")
    @of_key()
    def breaks():
        def parts():
            yield "x"
            raise KeyError
        return flask.Response(parts())

    @app.get("/denied")
    @of_key()
    def denied():
        with limiter.path("plain", cost=6):
            return "allowed"

    @app.get("/mixed")
    @limiter.path("plain", deduct_when=lambda response: False)
    @of_key(deduct_when=lambda response: {"tokens": 81})
    def mixed():
        assert left(core, "plain") == [5]
        return "x"

    @app.get("/mixed/charged")
    @limiter.path("plain", cost=2, deduct_when=lambda response: True)
    @of_key()
    def mixed_charged():
        assert left(core, "plain") == [5]
        return "x"

    @app.get("/late")
    def late():
        @flask.stream_with_context
        def parts():
            with pytest.raises(RuntimeError, match="reserve before it is sent"):
                with of_key():
                    pass
            yield "x"
        return flask.Response(parts())

    @app.get("/file")
    @of_key()
    def file():
        return flask.send_file(__file__)

    return app


@pytest.mark.parametrize("path, status, expected", [
    ("/plain", 200, AS_HELD), ("/settles", 200, [59, 993, 2]),
    ("/header", 200, [59, 919, 2]), ("/garbage", 200, AS_HELD),
    ("/function", 200, [59, 919, 2]), ("/cancels", 404, FREE),
    ("/function/fails", 200, AS_HELD), ("/mistake", 200, AS_HELD),
    ("/stream", 200, [59, 919, 2]), ("/fails", 500, FREE),
    ("/denied", 429, FREE), ("/mixed", 200, [59, 919, 2]),
    ("/late", 200, [60, 1000, 2]), ("/file", 200, AS_HELD)])
def test_flask(site, path, status, expected):
    assert run(site, PATH_INFO=path) == status
    assert left(site.core) == expected
    assert left(site.core, "plain") == [5]


def test_flask_a_charge_beside_a_reservation(site):
    assert run(site, PATH_INFO="/mixed/charged") == 200
    assert left(site.core) == AS_HELD and left(site.core, "plain") == [3]


def test_flask_streams_that_break(site):
    with pytest.raises(KeyError):
        run(site, PATH_INFO="/breaks")
    assert left(site.core) == AS_HELD


def test_flask_errors_that_are_propagated(site):
    site.testing = True
    with pytest.raises(KeyError):
        run(site, PATH_INFO="/fails")
    assert left(site.core) == FREE


def test_flask_views_that_are_exempt(site):
    site.extensions["used"].exempt(site.view_functions["header"])
    assert run(site, PATH_INFO="/header") == 200
    assert left(site.core) == [60, 1000, 2]


def test_flask_outside_of_a_server(site):
    with site.test_request_context("/plain"):
        with pytest.raises(RuntimeError, match="nobody would see when the res"):
            site.preprocess_request()
    assert left(site.core) == [60, 1000, 2]


def test_flask_paths_of_every_request(clock):
    app = flask.Flask("every")
    app.config.update(LIMITREE_LIMITS="schema: {all: {limits: "
                      "{concurrent: 1, hold: 30s}}}", LIMITREE_RESERVE=True,
                      LIMITREE_PATH=lambda: ("all",))
    limiter = Limiter(app=app)

    @app.get("/")
    def inside():
        assert limiter.reservation.held == 1
        return str(run(app))

    bodies = []
    assert run(app, lambda body: bodies.extend(body)) == 200
    assert bodies == [b"429"] and run(app) == 200


@pytest.mark.parametrize("reserve, message", [
    ("soon", "LIMITREE_RESERVE: reserve must be a duration"),
    ([1], "LIMITREE_RESERVE: reserve must be True, False or a duration")])
def test_flask_settings_that_are_wrong(reserve, message):
    app = flask.Flask("wrong")
    app.config["LIMITREE_RESERVE"] = reserve
    with pytest.raises(limitree.ConfigError, match=message):
        Limiter(app=app)


def test_flask_options_that_are_wrong():
    with pytest.raises(ValueError, match="reserve must be more than 0"):
        Limiter().path("key", "k", reserve=0)


def test_flask_without_reserve_there_is_an_error(site):
    @site.get("/forgotten")
    @site.extensions["used"].path("key", "k", cost=COST)
    def forgotten():
        return "x"

    site.testing = True
    with pytest.raises(ValueError, match="reserve its units"):
        run(site, PATH_INFO="/forgotten")


def test_a_flask_denial_cancels_what_an_outer_gate_holds(site, limiter):
    app = behind(limiter, site)
    assert run(app, PATH_INFO="/denied") == 429
    assert left(limiter) == FREE
    assert run(app, PATH_INFO="/plain") == 200
    with contextlib.suppress(KeyError):
        run(app, PATH_INFO="/fails")
    assert left(limiter) == [57, 600, 2]
