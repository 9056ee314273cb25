"""Limits of Flask views, with a test client and a clock that stands still."""

import flask
import pytest

import limitree
from flask_requests import as_, codes, who
from limitree.flask import ExemptionScope, Limiter


@pytest.fixture
def app(limitree_clock):
    app = flask.Flask("shop")
    app.testing = True
    return app


# ---- Plain limits -----------------------------------------------------------


def test_a_decorated_view(app, limitree_clock):
    limiter = Limiter(who, app=app)

    @app.get("/trade")
    @limiter.limit("2/second; 3/hour")
    def trade():
        return "traded"

    client = app.test_client()
    assert codes(client, "/trade", 3, **as_("alex")) == [200, 200, 429]
    assert codes(client, "/trade", 1, **as_("bob")) == [200]
    limitree_clock.advance(1)
    # Denied requests charged nothing, so the hour has one request left.
    assert codes(client, "/trade", 2, **as_("alex")) == [200, 429]
    answer = client.get("/trade", **as_("alex"))
    assert answer.headers["RateLimit-Policy"] == (
        '"view:trade/*/2/1s";q=2;w=1, "view:trade/*/3/1h";q=3;w=3600')
    assert answer.headers["Retry-After"] == "1199"
    assert answer.content_type == "application/problem+json"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.json == {
        "type": "https://iana.org/assignments/http-problem-types"
                "#quota-exceeded",
        "title": "Too Many Requests", "status": 429,
        "detail": "Try again in 1199 s.",
        "violated-policies": ["view:trade/*/3/1h"]}


def test_the_view_is_not_run(app):
    limiter, runs = Limiter(who, app=app), []

    @app.get("/")
    @limiter.limit("1/hour")
    def view():
        runs.append(1)
        return ""

    assert codes(app.test_client(), "/", 3) == [200, 429, 429]
    assert len(runs) == 1


def test_several_decorators_are_one_step(app):
    limiter = Limiter(who, app=app)

    @app.get("/")
    @limiter.limit("5/hour", key_func=lambda: "all")
    @limiter.limit("2/hour")
    def view():
        return ""

    client = app.test_client()
    assert codes(client, "/", 4, **as_("alex")) == [200, 200, 429, 429]
    assert codes(client, "/", 4, **as_("bob")) == [200, 200, 429, 429]
    # The denials of alex and bob charged nothing.
    assert codes(client, "/", 2, **as_("carol")) == [200, 429]


def test_default_and_application_limits(app):
    limiter = Limiter(who, app=app, default_limits=["2/hour"],
                      application_limits=["6/hour"])
    app.get("/a", endpoint="a")(lambda: "")
    app.get("/b", endpoint="b")(lambda: "")
    app.get("/c", endpoint="c")(limiter.limit("9/hour")(lambda: ""))
    app.get("/d", endpoint="d")(
        limiter.limit("9/hour", override_defaults=False)(lambda: ""))
    client = app.test_client()
    assert codes(client, "/a", 3) == [200, 200, 429]
    assert codes(client, "/b", 1) == [200]
    assert codes(client, "/d", 3, **as_("d")) == [200, 200, 429]
    assert codes(client, "/c", 4) == [200, 200, 200, 429]
    assert codes(client, "/c", 9, **as_("c")) == [200] * 6 + [429] * 3
    with app.app_context():
        assert limiter.limiter.peek(
            "view", "@application", "nobody", "6/1h", cost=0).remaining == 0


def test_limits_that_are_told_for_each_request(app):
    limiter = Limiter(who, app=app)
    texts = {"alex": "3/hour", "bob": "1/hour"}

    @app.get("/")
    @limiter.limit(lambda: texts[who()])
    def view():
        return ""

    client = app.test_client()
    assert codes(client, "/", 4, **as_("alex")) == [200, 200, 200, 429]
    assert codes(client, "/", 2, **as_("bob")) == [200, 429]
    texts["bob"] = "4/hour"  # of which bob has used all
    assert codes(client, "/", 2, **as_("bob")) == [429, 429]
    texts["carol"] = "4/hour"
    assert codes(client, "/", 2, **as_("carol")) == [200, 200]
    texts["carol"] = "2/hour"
    assert codes(client, "/", 2, **as_("carol")) == [200, 429]
    texts["bob"] = "4/mile"
    with pytest.raises(limitree.ConfigError, match='is "mile", in'):
        client.get("/", **as_("bob"))


def test_a_mistake_is_told_where_it_is_written(app):
    limiter = Limiter(who, app=app)
    with pytest.raises(limitree.ConfigError, match='is "5 trades"'):
        limiter.limit("5 trades")
    with pytest.raises(limitree.ConfigError, match="must be greater than 0"):
        Limiter(who, app=flask.Flask("x"), default_limits=["0/second"])
    with pytest.raises(TypeError, match="app="):
        Limiter(app)
    with pytest.raises(ValueError, match="need the name of their scope"):
        limiter.shared_limit("5/second", "")
    with pytest.raises(ValueError, match="must have a segment"):
        limiter.path()


def nobody():
    return None


def test_a_key_is_never_left_out(app):
    limiter = Limiter(nobody, app=app, limits="schema: {user: {}}")
    app.get("/", endpoint="shop")(limiter.limit("5/second")(lambda: ""))
    app.get("/x", endpoint="x")(limiter.path("user", nobody)(lambda: ""))
    with pytest.raises(TypeError, match=(
            "the key of view 'shop' must be str or bytes, not NoneType, as "
            "test_flask.nobody has returned")):
        app.test_client().get("/")
    with pytest.raises(TypeError, match=(
            "segment 1 of the path of view 'x' must be str or bytes, not "
            "NoneType, as test_flask.nobody has returned")):
        app.test_client().get("/x")


def test_limits_protect_the_key_functions_of_those_behind_them(app):
    limiter, checked = Limiter(who, app=app, default_limits=["3/hour"]), []

    def user_of_token():
        checked.append(1)
        flask.abort(401)

    app.get("/")(limiter.limit("9/hour", key_func=user_of_token,
                               override_defaults=False)(lambda: ""))
    assert codes(app.test_client(), "/", 5) == [401] * 3 + [429] * 2


@pytest.mark.parametrize("limits", ["default_limits", "application_limits"])
def test_limits_of_the_settings_count_what_the_path_refuses(app, limits):
    Limiter(who, app=app, path=lambda: flask.abort(401),
            **{limits: ["3/hour"]})
    app.get("/")(lambda: "")
    assert codes(app.test_client(), "/", 5) == [401] * 3 + [429] * 2


def test_paths_name_the_function_that_told_them(app):
    def path():
        return [("user", None)]

    Limiter(who, app=app, limits="schema: {user: {}}", path=path)
    app.get("/")(lambda: "")
    with pytest.raises(TypeError, match=(
            r"segment 1 of a path must be .* as test_flask.*path has")):
        app.test_client().get("/")


def test_costs(app):
    limiter = Limiter(who, app=app)

    @app.post("/")
    @limiter.limit("10/hour", cost=lambda: flask.request.json["items"])
    @limiter.limit("3/hour")
    def view():
        return ""

    client = app.test_client()

    def post(items):
        return client.post("/", json={"items": items}).status_code
    assert [post(6), post(5), post(4), post(0), post(0)] == [
        200, 429, 200, 200, 429]
    assert "Retry-After" not in client.post("/", json={"items": 11}).headers


def test_methods(app):
    limiter = Limiter(who, app=app, default_limits=["7/hour"])

    @app.route("/some", methods=["GET", "POST"])
    @limiter.limit("1/hour", methods=["post"])
    def some():
        return ""

    @app.route("/each", methods=["GET", "POST"])
    @limiter.limit("1/hour", per_method=True)
    def each():
        return ""

    client = app.test_client()
    assert [client.post("/some").status_code for _ in range(2)] == [200, 429]
    # The others fall back to the default limits.
    assert codes(client, "/some", 8) == [200] * 7 + [429]
    assert codes(client, "/each", 2) == [200, 429]
    assert [client.post("/each").status_code for _ in range(2)] == [200, 429]


def test_shared_limits(app):
    limiter = Limiter(who, app=app)
    mail = limiter.shared_limit("3/hour", scope="mail")
    app.get("/a", endpoint="a")(mail(lambda: ""))
    app.get("/b", endpoint="b")(mail(lambda: ""))
    by_path = limiter.shared_limit("2/hour", scope=lambda name: name[:1])
    app.get("/x1", endpoint="x1")(by_path(lambda: ""))
    app.get("/x2", endpoint="x2")(by_path(lambda: ""))
    app.get("/mail", endpoint="mail")(limiter.limit("3/hour")(lambda: ""))
    client = app.test_client()
    assert codes(client, "/a", 2) + codes(client, "/b", 2) == [
        200, 200, 200, 429]
    assert codes(client, "/x1", 1) + codes(client, "/x2", 2) == [200, 200, 429]
    assert codes(client, "/mail", 1) == [200]


def test_scopes_of_a_view(app):
    limiter = Limiter(who, app=app)

    @app.get("/<shop>")
    @limiter.limit("1/hour", scope=lambda _: flask.request.view_args["shop"])
    def view(shop):
        return ""

    client = app.test_client()
    assert codes(client, "/a", 2) == [200, 429]
    assert codes(client, "/b", 2) == [200, 429]
    assert codes(client, "/a", 1, **as_("alex")) == [200]
    # The tree has one node for all shops.
    tree = app.extensions["limitree"][limiter].plain
    for shop in range(20):
        assert client.get(f"/{shop}").status_code == 200
    assert len(tree) == 1


# ---- Mistakes that are reported at once -------------------------------------


def test_a_limit_of_an_application_that_is_not_limited(app):
    limiter = Limiter(who)
    app.get("/")(limiter.limit("1/minute")(lambda: "a"))
    with pytest.warns(RuntimeWarning, match="init_app was not called for"):
        assert codes(app.test_client(), "/", 2) == [200, 200]


def test_a_limit_that_is_turned_off(recwarn):
    app = flask.Flask("app")
    limiter = Limiter(who, app=app, enabled=False)
    app.get("/")(limiter.limit("1/minute")(lambda: "a"))
    assert codes(app.test_client(), "/", 2) == [200, 200]
    assert not recwarn.list


def test_a_limit_without_its_text(app):
    limiter = Limiter(who, app=app)
    with pytest.raises(TypeError, match="needs the limits in parentheses"):
        @app.get("/")
        @limiter.limit
        def view():
            return ""
    with pytest.raises(TypeError, match="function without arguments"):
        @limiter.limit
        def shop(name):
            return ""
    with pytest.raises(TypeError, match="on a function or a blueprint"):
        limiter.limit("1/hour")("view")
    with pytest.raises(TypeError):
        app.get("/other")(limiter.path(lambda: "user"))


ABOVE = "the limit of '.*view' stands above its route"


def test_a_limit_above_the_route(app):
    limiter = Limiter(who, app=app)
    with pytest.raises(RuntimeError, match=ABOVE):
        @limiter.limit("1/hour")
        @app.get("/")
        def view():
            return ""


def test_a_limit_above_the_route_before_init_app(app):
    limiter = Limiter(who)

    @limiter.limit("1/hour")
    @app.get("/")
    def view():
        return ""

    with pytest.raises(RuntimeError, match=ABOVE):
        limiter.init_app(app)


def test_a_limit_above_the_route_of_a_blueprint(app):
    limiter = Limiter(who, app=app)
    blueprint = flask.Blueprint("shop", "x")

    @limiter.limit("1/hour")
    @blueprint.get("/")
    def view():
        return ""

    app.register_blueprint(blueprint)
    with pytest.raises(RuntimeError, match=ABOVE):
        app.test_client().get("/")


def test_a_limit_below_the_route_and_on_what_it_calls(app):
    limiter = Limiter(who, app=app)

    @limiter.limit("2/hour")
    def helper():
        return ""

    @app.get("/")
    @limiter.limit("9/hour")
    @limiter.limit("9/minute")
    def view():
        return helper()

    assert codes(app.test_client(), "/", 3) == [200, 200, 429]


def test_exempt_when(app):
    limiter = Limiter(who, app=app)
    app.get("/", endpoint="x")(limiter.limit(
        "1/hour", exempt_when=lambda: who() == "admin")(lambda: ""))
    client = app.test_client()
    assert codes(client, "/", 3, **as_("admin")) == [200] * 3
    assert codes(client, "/", 2, **as_("bob")) == [200, 429]
    assert "RateLimit" not in client.get("/", **as_("admin")).headers


def test_exempt_views(app):
    limiter = Limiter(who, app=app, default_limits=["1/hour"],
                      application_limits=["2/hour"])

    @app.get("/all")
    @limiter.exempt
    def all_of_it():
        return ""

    @app.get("/default")
    @limiter.exempt(flags=ExemptionScope.DEFAULT)
    def default():
        return ""

    app.static_folder = "."
    client = app.test_client()
    assert codes(client, "/all", 4) == [200] * 4
    assert codes(client, "/default", 4) == [200, 200, 429, 429]
    assert codes(client, "/nothing", 4) == [404] * 4


def test_request_filter(app):
    limiter = Limiter(who, app=app, default_limits=["1/hour"])
    limiter.request_filter(lambda: who() == "admin")
    app.get("/", endpoint="x")(lambda: "")
    client = app.test_client()
    assert codes(client, "/", 3, **as_("admin")) == [200] * 3
    assert codes(client, "/", 2) == [200, 429]


# ---- Methods ----------------------------------------------------------------


@pytest.mark.parametrize("methods", ["get", "GET", ["GET"], ("get",)])
def test_a_limit_for_one_method(app, methods):
    limiter = Limiter(who, app=app)

    @app.route("/", methods=["GET", "POST"])
    @limiter.limit("2/hour", methods=methods)
    def view():
        return ""

    client = app.test_client()
    found = [client.open("/", method=method).status_code
             for method in ("GET", "POST", "HEAD", "GET", "HEAD", "POST")]
    # HEAD runs the view as GET does, and counts as it.
    assert found == [200, 200, 200, 429, 429, 200]


def test_head_counts_as_get(app):
    limiter = Limiter(who, app=app)

    @app.route("/apart", methods=["GET", "POST"])
    @limiter.limit("2/hour", per_method=True)
    def apart():
        return ""

    @app.get("/head")
    @limiter.limit("1/hour", methods="HEAD")
    def head():
        return ""

    client = app.test_client()
    found = [client.open("/apart", method=method).status_code
             for method in ("GET", "HEAD", "HEAD", "POST")]
    assert found == [200, 200, 429, 200]
    assert codes(client, "/head", 3) == [200] * 3
    assert [client.head("/head").status_code for _ in range(2)] == [200, 429]


@pytest.mark.parametrize("limit", [
    lambda limiter, methods: limiter.limit("1/hour", methods=methods),
    lambda limiter, methods: limiter.shared_limit("1/h", "x", methods=methods),
    lambda limiter, methods: limiter.path("user", methods=methods)])
def test_a_method_that_there_is_not(limit):
    with pytest.raises(ValueError, match="no method 'GTE': did you mean 'GET'"):
        limit(Limiter(who), "GTE")
    with pytest.raises(ValueError, match="must not be empty"):
        limit(Limiter(who), [])
