"""Paths of the tree in Flask, denials, headers and settings."""

import pathlib
import re
import time

import flask
import pytest

import limitree
from conftest import USERS
from flask_requests import as_, codes, who
from limitree.flask import Limiter, RateLimitExceeded, get_remote_address


@pytest.fixture
def app(limitree_clock):
    app = flask.Flask("shop")
    app.testing = True
    return app


# ---- The tree ---------------------------------------------------------------


def test_paths_of_the_tree(app):
    limiter = Limiter(who, app=app, limits=USERS)

    @app.get("/trade")
    @limiter.path("user", who, "trade")
    @limiter.limit("4/hour")
    def trade():
        return ""

    client = app.test_client()
    answers = [client.get("/trade", **as_("alex")) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 4 + [429]
    assert answers[0].headers["RateLimit-Policy"] == (
        '"view:trade/*/4/1h";q=4;w=3600, '
        '"user:*";q=16;w=32, "user:*/trade";q=6;w=9')
    with app.app_context():
        # The fifth was denied by the plain limit alone, and charged nothing.
        assert limiter.limiter.peek("user", "alex", "trade",
                                    cost=0).remaining == 2


def test_a_path_for_every_request(app):
    paths = {"alex": ("user", "alex"), "all": [("user", "bob"), ("job",)],
             "free": None}
    limiter = Limiter(who, app=app, limits=USERS,
                      path=lambda: paths[who()])
    app.get("/", endpoint="x")(limiter.limit("9/hour")(lambda: ""))
    client = app.test_client()
    policies = {name: client.get("/", **as_(name)).headers["RateLimit-Policy"]
                for name in paths}
    assert policies == {
        "alex": '"user:*";q=16;w=32, "view:x/*/9/1h";q=9;w=3600',
        "all": '"user:*";q=16;w=32, "job";q=1;w=60, '
               '"view:x/*/9/1h";q=9;w=3600',
        "free": '"view:x/*/9/1h";q=9;w=3600'}
    assert client.get("/", **as_("all")).status_code == 429


def test_a_path_that_the_tree_does_not_have(app):
    limiter = Limiter(who, app=app, limits=USERS)
    app.get("/", endpoint="x")(limiter.path(lambda: "usr", who)(lambda: ""))
    with pytest.raises(ValueError, match="usr"):
        app.test_client().get("/")


# ---- After the response -----------------------------------------------------


def test_deduct_when(app):
    limiter = Limiter(who, app=app)

    @app.get("/login")
    @limiter.limit("3/hour", deduct_when=lambda answer:
                   answer.status_code == 401)
    @limiter.limit("9/hour")
    def login():
        return "", int(flask.request.args["code"])

    client = app.test_client()
    assert codes(client, "/login?code=200", 4) == [200] * 4
    answers = [client.get("/login?code=401") for _ in range(4)]
    assert [answer.status_code for answer in answers] == [401] * 3 + [429]
    # The four requests with code 200 charged only the limit of 9, and the
    # denied request charged nothing.
    assert [answer.headers["RateLimit"] for answer in answers] == [
        f'"view:login/*/9/1h";r={left};t=400, '
        f'"view:login/*/3/1h";r={left_to_fail};t=1200'
        for left, left_to_fail in ((4, 2), (3, 1), (2, 0), (2, 0))]


@pytest.mark.parametrize("late, left", [(50, [99, 48]), (1, [99, 97])])
def test_a_bucket_is_charged_now_and_later(app, late, left):
    limiter = Limiter(app=app, limits={"schema": {"user": {"children": {"*": {
        "limits": [99, 1, 36000], "children": {"trade": {}, "export": {}}}}}}})

    @app.get("/<int:code>")
    @limiter.path("user", lambda: "alex", "trade")
    @limiter.path("user", lambda: "alex", "export", cost=late,
                  deduct_when=lambda answer: answer.status_code == 200)
    def view(code):
        return "", code

    client = app.test_client()
    for code, expected in zip((500, 200), left):
        assert client.get(f"/{code}").status_code == code
        with app.app_context():
            seen = limiter.limiter.peek("user", "alex", cost=0)
        assert seen.remaining == expected


class Statuses(set):
    """A callable that is false while it is empty."""

    def __call__(self, answer):
        return answer.status_code in self


def test_deduct_when_is_a_callable_that_is_false(app):
    limiter = Limiter(who, app=app)
    app.get("/", endpoint="x")(
        limiter.limit("3/hour", deduct_when=Statuses())(lambda: ""))
    assert codes(app.test_client(), "/", 5) == [200] * 5


def test_deduct_when_the_view_fails(app):
    app.testing = False
    limiter = Limiter(who, app=app, default_limits=["1/hour"],
                      default_limits_deduct_when=lambda answer:
                      answer.status_code == 500)
    app.get("/", endpoint="x")(lambda: 1 / 0)
    assert codes(app.test_client(), "/", 2) == [500, 429]


# ---- Denials ----------------------------------------------------------------


def test_an_error_handler_gets_the_decision(app):
    limiter = Limiter(who, app=app)
    app.get("/", endpoint="x")(limiter.limit("1/minute")(lambda: ""))

    @app.errorhandler(429)
    def too_many(error):
        assert isinstance(error, RateLimitExceeded)
        assert error.limit.breached and error.limit.remaining == 0
        return (f"{error.description}; {error.decision.retry_after:.0f}; "
                f"{error.limit.key}"), 429

    client = app.test_client()
    assert codes(client, "/", 1, **as_("a:b")) == [200]
    answer = client.get("/", **as_("a:b"))
    assert answer.text == "1 per 1 minute; 60; view:x:a:b:1/1m"
    assert answer.headers["Retry-After"] == "60"
    assert answer.status_code == 429


@pytest.mark.parametrize("message", ["slow down", lambda: "slow down"])
def test_an_error_message(app, message):
    limiter = Limiter(who, app=app)
    app.get("/", endpoint="x")(
        limiter.limit("1/minute", error_message=message)(lambda: ""))
    client = app.test_client()
    client.get("/")
    assert client.get("/").json["detail"] == "slow down"


def test_breaches(app):
    seen = []

    def everywhere(limit):
        seen.append(("everywhere", str(limit)))

    def here(limit):
        seen.append(("here", str(limit)))
        return flask.Response("my own", 418)

    limiter = Limiter(who, app=app, on_breach=everywhere)
    app.get("/", endpoint="x")(
        limiter.limit("1/minute;5/hour", on_breach=here)(lambda: ""))
    client = app.test_client()
    client.get("/")
    answer = client.get("/")
    assert (answer.status_code, answer.text) == (418, "my own")
    assert answer.headers["Retry-After"] == "60"
    assert seen == [("everywhere", "1 per 1 minute"),
                    ("here", "1 per 1 minute")]


def test_current_limits(app):
    limiter = Limiter(who, app=app)

    @app.get("/")
    @limiter.limit("4/minute;2/hour")
    def view():
        current = limiter.current_limit
        assert current in limiter.current_limits
        assert limiter.decision.allowed
        assert current.window == (current.reset_at, current.remaining)
        return [(str(limit), limit.remaining, limit.breached)
                for limit in limiter.current_limits]

    @app.get("/none")
    def none():
        assert limiter.current_limit is limiter.decision is None
        return limiter.current_limits

    client = app.test_client()
    assert client.get("/").json == [["4 per 1 minute", 3, False],
                                    ["2 per 1 hour", 1, False]]
    assert client.get("/none").json == []


def test_requests_within_one_context_are_told_apart(app):
    limiter = Limiter(who, app=app)
    app.get("/", endpoint="x")(limiter.limit("2/minute")(lambda: ""))
    app.get("/none", endpoint="none")(lambda: "")
    with app.app_context():
        client = app.test_client()
        assert "RateLimit" in client.get("/").headers
        assert "RateLimit" not in client.get("/none").headers


# ---- Headers ----------------------------------------------------------------


def test_headers_of_every_response(app):
    app.testing = False
    limiter = Limiter(who, app=app, default_limits=["9/hour"])

    @app.get("/stream")
    def stream():
        def parts():
            yield "a"
            yield "b"
        return flask.Response(parts())

    app.get("/broken", endpoint="broken")(lambda: 1 / 0)
    app.get("/abort", endpoint="abort")(lambda: flask.abort(403))
    client = app.test_client()
    for path, code in ("/stream", 200), ("/broken", 500), ("/abort", 403):
        answer = client.get(path)
        assert answer.status_code == code
        assert "r=8;t=400" in answer.headers["RateLimit"]
        assert "Retry-After" not in answer.headers
    assert limiter.limit is not None


@pytest.mark.parametrize("settings, expected", [
    ({"LIMITREE_HEADERS": "legacy"}, {
        "X-RateLimit-Limit": "9", "X-RateLimit-Remaining": "8",
        "X-RateLimit-Reset": "400"}),
    ({"LIMITREE_HEADERS": "draft-7"}, {
        "RateLimit": "limit=9, remaining=8, reset=400",
        "RateLimit-Policy": "9;w=3600"}),
    ({"LIMITREE_HEADERS": "none"}, {}),
    ({"RATELIMIT_HEADERS_ENABLED": False}, {}),
    ({"LIMITREE_HEADERS": "legacy", "RATELIMIT_HEADER_LIMIT": "X-Most"}, {
        "X-Most": "9", "X-RateLimit-Remaining": "8",
        "X-RateLimit-Reset": "400"}),
])
def test_styles_of_headers(app, settings, expected):
    app.config.update(settings, LIMITREE_DEFAULT="9/hour")
    Limiter(who).init_app(app)
    app.get("/", endpoint="x")(lambda: "")
    headers = app.test_client().get("/").headers
    assert {name: value for name, value in headers.items()
            if "Most" in name or "RateLimit" in name} == expected


def test_headers_as_flask_limiter_sends_them(app):
    before = time.time()
    Limiter(who, app=app, headers_enabled=True, default_limits=["9/hour"],
            header_name_mapping={"REMAINING": "X-Left"})
    app.get("/", endpoint="x")(lambda: "")
    headers = app.test_client().get("/").headers
    assert headers["X-RateLimit-Limit"] == "9" and headers["X-Left"] == "8"
    assert 0 <= int(headers["X-RateLimit-Reset"]) - before - 400 < 60


# ---- Settings ---------------------------------------------------------------


def test_an_app_factory_and_its_config(limitree_clock):
    limiter = Limiter(who)
    blueprint = flask.Blueprint("api", "x")
    blueprint.get("/a", endpoint="a")(limiter.limit("2/hour")(lambda: ""))
    blueprint.get("/b", endpoint="b")(lambda: "")

    def create_app(**config):
        app = flask.Flask("shop")
        app.config.update(config)
        limiter.init_app(app)
        limiter.init_app(app)  # harmless
        app.register_blueprint(blueprint)
        return app.test_client()

    first = create_app(LIMITREE_DEFAULT=["1/hour"])
    second = create_app(RATELIMIT_DEFAULT="3/hour", RATELIMIT_APPLICATION=
                        "4/hour", RATELIMIT_STORAGE_URI="memory://",
                        RATELIMIT_STRATEGY="moving-window")
    off = create_app(RATELIMIT_ENABLED=False, LIMITREE_DEFAULT=["1/hour"])
    assert codes(first, "/a", 3) == codes(second, "/a", 3) == [200, 200, 429]
    assert codes(first, "/b", 2) == [200, 429]
    assert codes(second, "/b", 4) == [200, 200, 429, 429]
    assert codes(off, "/a", 5) == [200] * 5


def test_what_is_given_goes_first(app):
    app.config.update(LIMITREE_DEFAULT=["1/hour"], RATELIMIT_DEFAULT="2/hour",
                      RATELIMIT_DEFAULTS_COST=2, LIMITREE_KEY_FUNC=who)
    Limiter(app=app, default_limits=["4/hour"])
    app.get("/", endpoint="x")(lambda: "")
    assert codes(app.test_client(), "/", 3) == [200, 200, 429]


@pytest.mark.parametrize("settings, message", [
    ({"LIMITREE_HEADERS": "draft-1"}, "no headers 'draft-1'"),
    ({"LIMITREE_HEADERS_RESET": "date"}, "with reset 'date'"),
    ({"LIMITREE_DECIDE": "late"}, "must be before_request, view, decorator"),
    ({"RATELIMIT_STRATEGY": "leaky"}, "no strategy 'leaky'"),
    ({"LIMITREE_STROE": "redis://localhost"},
     "no setting 'LIMITREE_STROE': did you mean 'LIMITREE_STORE'"),
    ({"LIMITREE_XYZ": 1}, "no setting 'LIMITREE_XYZ'$"),
    ({"RATELIMIT_STORAGE_URL": "redis://localhost"},
     "'RATELIMIT_STORAGE_URL' is not read, so .*: call it LIMITREE_STORE"),
    ({"RATELIMIT_DEFAULT": 5}, "must be a list of limits, is 5"),
    ({"RATELIMIT_APPLICATION": [None]}, "application_limits .*, has None"),
    ({"RATELIMIT_DEFAULTS_EXEMPT_WHEN": True},
     "default_limits_exempt_when must be a function, is True"),
    ({"RATELIMIT_REQUEST_IDENTIFIER": "endpoint"},
     "request_identifier must be a function, is 'endpoint'"),
    ({"LIMITREE_STORE": "mongodb://x"}, "store: must be memory"),
    ({"LIMITREE_OPTIONS": {"timeout": "soon"}}, "timeout: must be"),
    ({"LIMITREE_LIMITS": "schema: {view: {}}", "LIMITREE_DEFAULT": "5/s"},
     '"view" is a top-level name'),
])
def test_settings_that_are_refused(app, settings, message):
    app.config.update(settings)
    with pytest.raises(limitree.ConfigError, match=message):
        Limiter(who, app=app)


def documented_settings():
    """The names in the table of docs/flask.md, and those below it."""
    page = (pathlib.Path(__file__).parents[2] / "docs/flask.md").read_text()
    table = page[page.index("| `LIMITREE_` |"):page.index("## Several proc")]
    for line in table.splitlines()[1:]:
        ours, theirs = [*line.split("|"), "", ""][1:3]
        if line.startswith("| `"):
            yield from (f"LIMITREE_{name}"
                        for name in re.findall("`([A-Z_]+)`", ours))
            yield from (f"RATELIMIT_{name}"
                        for name in re.findall("`([A-Z_]+)`", theirs))
    for kind in "DEFAULTS", "APPLICATION":
        for what in "COST", "PER_METHOD", "EXEMPT_WHEN", "DEDUCT_WHEN":
            yield f"LIMITREE_{kind}_{what}"
            yield f"RATELIMIT_{kind}_{what}"


@pytest.mark.parametrize("given", [{}, {
    "key_func": who, "headers": "none", "on_store_error": "deny",
    "storage_uri": "memory://", "header_name_mapping": {"LIMIT": "x"}}])
def test_every_setting_that_is_documented_is_known(app, recwarn, given):
    names = set(documented_settings())
    assert len(names) > 40 and "LIMITREE_TRUSTED_HOPS" in names
    app.config.update(dict.fromkeys(names))
    Limiter(app=app, **given)
    assert [str(one.message) for one in recwarn] == []


@pytest.mark.parametrize("settings, message", [
    ({"RATELIMIT_OTHER": "1/day"}, "setting 'RATELIMIT_OTHER' has no effect"),
    ({"RATELIMIT_DEFUALT": "1/day"}, "did you mean 'RATELIMIT_DEFAULT'"),
    ({"RATELIMIT_STORAGE_URL": "redis://x", "LIMITREE_STORE": "memory://"},
     "'RATELIMIT_STORAGE_URL' has no effect"),
])
def test_settings_without_effect(app, settings, message):
    app.config.update(settings)
    with pytest.warns(UserWarning, match=message):
        Limiter(who, app=app)


def test_an_argument_goes_before_the_setting(app):
    app.config["RATELIMIT_STRATEGY"] = "fixed-window"
    limiter = Limiter(who, app=app, strategy="moving-window",
                      default_limits=["2/minute"])
    app.get("/")(lambda: str(limiter.current_limit.key))
    assert app.test_client().get("/").text.endswith("2/1m-sliding_log")


def test_an_unknown_root_is_found_when_the_application_starts(app):
    app.config["LIMITREE_LIMITS"] = "schema: {user: {}}"
    limiter = Limiter(who, app=app)
    limiter.path("user", who, "trade")
    limiter.path(lambda: "usr", who)  # only a request can tell
    with pytest.raises(limitree.UnknownRoot, match=(
            r"limiter.path\('usr', ...\): unknown root \"usr\", the tree has: "
            "user")):
        limiter.path("usr", who, "trade")

    later = Limiter(who)
    later.path("user", who)
    other = flask.Flask("other")
    other.config["LIMITREE_LIMITS"] = "schema: {ip: {}}"
    with pytest.raises(limitree.UnknownRoot, match='unknown root "user"'):
        later.init_app(other)
    assert later not in other.extensions["limitree"]
    later.init_app(app)
    with pytest.raises(limitree.UnknownRoot, match="without LIMITREE_LIMITS"):
        Limiter(app=flask.Flask("x")).path("user", who)
    with pytest.raises(ValueError, match="the path ends at ip"):
        Limiter(app=flask.Flask("x"), limits={"schema": {"ip": {"children": {
            "*": {"limits": "1/s"}}}}}).path("ip")


def test_an_unknown_root_does_not_ask_the_store(app, caplog):
    limiter = Limiter(who, app=app, limits="schema: {user: {}}",
                      storage_uri="redis+unix:///nowhere/redis.sock")
    limiter.path("user", who, "trade")
    with pytest.raises(limitree.UnknownRoot):
        limiter.path("usr", who)
    assert not caplog.records


def test_the_address_of_the_client(app):
    Limiter(app=app, default_limits=["1/hour"])
    app.get("/", endpoint="x")(lambda: "")
    client = app.test_client()

    def code(address, **headers):
        return client.get("/", environ_base={"REMOTE_ADDR": address},
                          headers=headers).status_code
    assert [code("192.0.2.1"), code("::ffff:192.0.2.1"),
            code("192.0.2.2", X_Forwarded_For="192.0.2.9"),
            code("192.0.2.2", X_Forwarded_For="192.0.2.8"),
            code("2001:db8::1"), code("2001:db8::2")] == [
        200, 429, 200, 429, 200, 429]
    with app.test_request_context(environ_base={"REMOTE_ADDR": ""}):
        with pytest.raises(ValueError):
            get_remote_address()


@pytest.mark.parametrize("trust, peer", [
    ({"LIMITREE_TRUSTED_PROXIES": ["10.0.0.0/8"]}, "10.0.0.1"),
    ({"LIMITREE_TRUSTED_PROXIES": ["unix"]}, ""),
    ({"LIMITREE_TRUSTED_HOPS": 1}, "10.0.0.1")])
def test_the_address_behind_a_proxy(app, trust, peer):
    app.config.update(trust, LIMITREE_DEFAULT="1/hour")
    Limiter(app=app)
    app.get("/", endpoint="x")(lambda: "")
    client = app.test_client()
    found = [client.get("/", environ_base={"REMOTE_ADDR": peer},
                        headers={"X-Forwarded-For": told}).status_code
             for told in ("192.0.2.1", "192.0.2.2", "192.0.2.3, 192.0.2.1")]
    assert found == [200, 200, 429]


@pytest.mark.parametrize("decide, code", [("before_request", 429),
                                          ("view", 401)])
def test_where_it_is_decided(app, decide, code):
    Limiter(who, app=app, decide=decide, default_limits=["1/hour"])
    app.before_request(lambda: flask.abort(401) if who() == "bob" else None)
    app.get("/", endpoint="x")(lambda: "")
    client = app.test_client()
    assert codes(client, "/", 2, **as_("alex")) == [200, 429]
    assert codes(client, "/", 2, **as_("bob"))[1] == code


def test_two_extensions_in_one_app(app):
    first = Limiter(who, app=app)
    second = Limiter(lambda: "all", app=app, headers="legacy")
    app.get("/", endpoint="x")(
        second.limit("3/hour")(first.limit("2/hour")(lambda: "")))
    client = app.test_client()
    answers = [client.get("/", **as_(name)) for name in ("a", "a", "b", "c")]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429]
    assert "RateLimit" in answers[0].headers
    assert answers[0].headers["X-RateLimit-Limit"] == "3"


def test_reset(app):
    limiter = Limiter(who, app=app, limits=USERS, default_limits=["1/hour"])
    app.get("/", endpoint="x")(lambda: "")
    client = app.test_client()
    assert codes(client, "/", 2) == [200, 429]
    with app.app_context():
        limiter.reset()
    assert codes(client, "/", 2) == [200, 429]


def test_outside_of_what_is_limited(app):
    limiter = Limiter(who)
    view = limiter.limit("1/hour")(lambda: "")
    app.get("/", endpoint="x")(view)
    assert codes(app.test_client(), "/", 3) == [200] * 3
    with app.app_context(), pytest.raises(RuntimeError, match="not limited"):
        limiter.reset()
    with pytest.raises(RuntimeError, match="outside of application context"):
        view()


def test_check(app):
    limiter = Limiter(who, app=app)

    @app.get("/")
    @limiter.limit("3/hour")
    def view():
        limiter.check()
        return ""

    assert codes(app.test_client(), "/", 2) == [200, 429]
