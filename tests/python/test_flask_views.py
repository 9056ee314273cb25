"""Where decorators may stand in a Flask application."""

import flask
import flask.views
import pytest

from flask_requests import as_, codes, who
from limitree.flask import ExemptionScope, Limiter, RateLimitExceeded


@pytest.fixture
def app(limitree_clock):
    app = flask.Flask("shop")
    app.testing = True
    return app


# ---- Where decorators may stand ---------------------------------------------


def test_blueprints(app):
    limiter = Limiter(who, default_limits=["1/hour"])
    shop, admin = flask.Blueprint("shop", "x"), flask.Blueprint("admin", "x")
    inner = flask.Blueprint("inner", "x")
    for blueprint in (shop, admin, inner):
        blueprint.get("/plain", endpoint="plain")(lambda: "")
        blueprint.get("/own", endpoint="own")(
            limiter.limit("3/hour")(lambda: ""))
    assert limiter.limit("2/hour")(shop) is None
    limiter.exempt(admin)
    shop.register_blueprint(inner, url_prefix="/inner")
    app.register_blueprint(shop, url_prefix="/shop")
    app.register_blueprint(admin, url_prefix="/admin")
    limiter.init_app(app)
    client = app.test_client()
    assert codes(client, "/shop/plain", 3) == [200, 200, 429]
    assert codes(client, "/shop/own", 4) == [200, 200, 200, 429]
    assert codes(client, "/shop/inner/plain", 3) == [200, 200, 429]
    assert codes(client, "/admin/plain", 3) == [200] * 3
    assert codes(client, "/admin/own", 4) == [200, 200, 200, 429]


def test_blueprints_by_other_names(app):
    limiter = Limiter(who, app=app, default_limits=["3/hour"])
    shop, first, second = [flask.Blueprint(name, "x")
                           for name in ("shop", "items", "items")]
    for blueprint in (shop, first, second):
        blueprint.get("/", endpoint="x")(lambda: "")
    limiter.limit("1/hour")(shop)
    limiter.limit("2/hour")(first)
    limiter.exempt(second)
    for name, inner in (("v1", first), ("v2", second)):
        outer = flask.Blueprint(name, "x")
        outer.register_blueprint(inner)
        app.register_blueprint(outer, url_prefix=f"/{name}")
    app.register_blueprint(shop, name="other", url_prefix="/other")
    client = app.test_client()
    assert codes(client, "/other/", 2) == [200, 429]
    assert codes(client, "/v1/", 3) == [200, 200, 429]
    assert codes(client, "/v2/", 4) == [200] * 4


def test_nested_blueprints(app):
    limiter = Limiter(who, default_limits=["1/hour"])
    outer, inner = flask.Blueprint("outer", "x"), flask.Blueprint("inner", "x")
    free, own = flask.Blueprint("free", "x"), flask.Blueprint("own", "x")
    for blueprint in (outer, inner, free, own):
        blueprint.get("/", endpoint="x")(lambda: "")
    limiter.limit("4/hour")(outer)
    limiter.limit("2/hour", override_defaults=False)(inner)
    limiter.limit("3/hour")(own)
    limiter.exempt(free, flags=ExemptionScope.ANCESTORS
                   | ExemptionScope.DEFAULT)
    for blueprint in (inner, free, own):
        outer.register_blueprint(blueprint, url_prefix=f"/{blueprint.name}")
    app.register_blueprint(outer, url_prefix="/outer")
    limiter.init_app(app)
    client = app.test_client()
    assert codes(client, "/outer/", 5) == [200] * 4 + [429]
    assert codes(client, "/outer/inner/", 3) == [200, 200, 429]
    assert codes(client, "/outer/own/", 4) == [200] * 3 + [429]
    assert codes(client, "/outer/free/", 6) == [200] * 6


def test_an_exempt_blueprint_and_what_is_in_it(app):
    limiter = Limiter(who, default_limits=["1/hour"])
    outer, inner = flask.Blueprint("outer", "x"), flask.Blueprint("inner", "x")
    for blueprint in (outer, inner):
        blueprint.get("/", endpoint="x")(lambda: "")
    outer.register_blueprint(inner, url_prefix="/inner")
    app.register_blueprint(outer, url_prefix="/outer")
    limiter.exempt(outer, flags=ExemptionScope.DEFAULT)
    limiter.init_app(app)
    client = app.test_client()
    assert codes(client, "/outer/", 2) == [200, 200]
    assert codes(client, "/outer/inner/", 2) == [200, 429]
    limiter.exempt(outer, flags=ExemptionScope.DEFAULT
                   | ExemptionScope.DESCENDENTS)
    assert codes(client, "/outer/inner/", 2) == [200, 200]


def test_class_based_views(app):
    limiter = Limiter(who, app=app, default_limits=["9/hour"])

    class Trades(flask.views.MethodView):
        decorators = [limiter.limit("4/hour", per_method=True)]

        def get(self):
            return "got"

        @limiter.limit("2/hour")
        def post(self):
            return "posted"

    @limiter.exempt
    class Free(flask.views.View):
        def dispatch_request(self):
            return ""

    app.add_url_rule("/trades", view_func=Trades.as_view("trades"))
    app.add_url_rule("/free", view_func=Free.as_view("free"))
    client = app.test_client()
    assert codes(client, "/trades", 5) == [200] * 4 + [429]
    answers = [client.post("/trades") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["RateLimit-Policy"] == (
        '"view:trades@POST/*/4/1h";q=4;w=3600, "view:trades/*/2/1h";q=2;w=3600')
    assert codes(client, "/free", 10) == [200] * 10


def test_decorators_that_hide_the_view(app):
    limiter = Limiter(who, app=app)

    def hidden(function):
        return lambda: function()  # without functools.wraps

    app.get("/", endpoint="x")(hidden(limiter.limit("2/hour")(lambda: "")))
    client = app.test_client()
    answers = [client.get("/") for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[0].headers["RateLimit"].startswith('"view:x/*/2/1h";r=1')


def test_functions_that_a_view_calls(app):
    limiter = Limiter(who, app=app)

    @limiter.limit("3/hour")
    def send():
        return "sent"

    @app.get("/twice")
    @limiter.limit("9/hour")
    def twice():
        return send() + send()  # one request charges it once

    client = app.test_client()
    assert codes(client, "/twice", 4) == [200, 200, 200, 429]


def test_blocks_of_code(app):
    limiter = Limiter(who, app=app)

    @app.get("/")
    def view():
        done = 0
        try:
            for _ in range(5):
                with limiter.limit("3/hour"):
                    done += 1
        except RateLimitExceeded as denied:
            assert denied.decision.limited
        return str(done)

    assert app.test_client().get("/").text == "3"


def test_async_views(app):
    pytest.importorskip("asgiref")
    limiter = Limiter(who, app=app)

    @app.get("/")
    @limiter.limit("2/hour")
    async def view():
        return "done"

    client = app.test_client()
    assert codes(client, "/", 3) == [200, 200, 429]
    assert client.get("/", **as_("b")).text == "done"
