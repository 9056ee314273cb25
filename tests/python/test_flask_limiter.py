"""The same applications under Flask-Limiter and under limitree: after a change
of the import alone, they behave the same."""

import importlib

import flask
import flask.views
import pytest

from flask_requests import as_, codes, who

LIBRARIES = ("flask_limiter", "limitree.flask", "limitree.flask_limiter")


def view(name):
    """Returns a view; Flask-Limiter identifies functions by their names."""
    def function():
        return ""
    function.__name__ = function.__qualname__ = name
    return function


def default_limits(library, app):
    library.Limiter(who, app=app, default_limits=["2/hour"],
                    storage_uri="memory://")
    app.get("/a", endpoint="a")(lambda: "")
    app.get("/b", endpoint="b")(lambda: "")
    client = app.test_client()
    yield from codes(client, "/a", 3) + codes(client, "/b", 3)
    yield from codes(client, "/a", 3, **as_("alex"))


def application_limits(library, app):
    library.Limiter(who, app=app, application_limits=["4 per hour"],
                    storage_uri="memory://")
    app.get("/a", endpoint="a")(lambda: "")
    app.get("/b", endpoint="b")(lambda: "")
    client = app.test_client()
    yield from codes(client, "/a", 3) + codes(client, "/b", 3)


def configuration(library, app):
    limiter = library.Limiter(who)
    app.config.update(
        RATELIMIT_DEFAULT="6/day", RATELIMIT_DEFAULTS_PER_METHOD=True,
        RATELIMIT_DEFAULTS_COST=2, RATELIMIT_STORAGE_URI="memory://",
        RATELIMIT_STRATEGY="fixed-window", RATELIMIT_HEADERS_ENABLED=True,
        RATELIMIT_HEADER_REMAINING="X-Left",
        RATELIMIT_DEFAULTS_EXEMPT_WHEN=lambda: who() == "admin")
    limiter.init_app(app)
    app.route("/a", methods=["GET", "POST"], endpoint="a")(lambda: "")
    client = app.test_client()
    yield from codes(client, "/a", 4)
    yield from codes(client, "/a", 4, **as_("admin"))
    yield client.post("/a").status_code
    headers = client.get("/a", **as_("bob")).headers
    yield headers["X-RateLimit-Limit"], headers["X-Left"]


def switched_off(library, app):
    app.config["RATELIMIT_ENABLED"] = False
    limiter = library.Limiter(who, app=app, storage_uri="memory://")
    app.get("/a", endpoint="a")(limiter.limit("1/hour")(lambda: ""))
    yield from codes(app.test_client(), "/a", 3)


def decorators(library, app):
    limiter = library.Limiter(who, app=app, default_limits=["9/hour"],
                              storage_uri="memory://")
    texts = {"alex": "3/hour"}
    views = {
        "one": limiter.limit("2/hour"),
        "key": limiter.limit("2/hour", key_func=lambda: "all"),
        "told": limiter.limit(lambda: texts.get(who(), "1/hour")),
        "cost": limiter.limit("5/hour", cost=2),
        "costs": limiter.limit("5/hour", cost=lambda: 4),
        "free": limiter.limit("1/hour", exempt_when=lambda: True),
        "post": limiter.limit("1/hour", methods=["POST"]),
        "more": limiter.limit("10/hour", override_defaults=False),
        "shared1": limiter.shared_limit("3/hour", scope="shared"),
        "shared2": limiter.shared_limit("3/hour", scope="shared"),
        "exempt": limiter.exempt}
    for name, decorator in views.items():
        app.route(f"/{name}", methods=["GET", "POST"], endpoint=name)(
            decorator(view(name)))
    client = app.test_client()
    for name in views:
        yield name, codes(client, f"/{name}", 2)
        yield name, codes(client, f"/{name}", 4, **as_("alex"))
        yield name, [client.post(f"/{name}").status_code for _ in range(3)]
        yield name, codes(client, f"/{name}", 12, **as_("bob"))


def after_the_response(library, app):
    limiter = library.Limiter(who, app=app, storage_uri="memory://")
    app.get("/", endpoint="a")(limiter.limit(
        "2/hour", deduct_when=lambda answer: answer.status_code == 401)(
            lambda: ("", int(flask.request.args["code"]))))
    client = app.test_client()
    yield from codes(client, "/?code=200", 3) + codes(client, "/?code=401", 3)
    yield from codes(client, "/?code=200", 1)


def blueprints(library, app):
    limiter = library.Limiter(who, app=app, default_limits=["1/hour"],
                              storage_uri="memory://")
    outer, inner, free = (flask.Blueprint(name, __name__)
                          for name in ("outer", "inner", "free"))
    for blueprint in (outer, inner, free):
        blueprint.get("/", endpoint="a")(view(f"{blueprint.name}_a"))
        blueprint.get("/own", endpoint="own")(
            limiter.limit("3/hour")(view(f"{blueprint.name}_own")))
    limiter.limit("2/hour")(outer)
    limiter.exempt(free)
    outer.register_blueprint(inner, url_prefix="/inner")
    app.register_blueprint(outer, url_prefix="/outer")
    app.register_blueprint(free, url_prefix="/free")
    client = app.test_client()
    for path in ("/outer/", "/outer/own", "/outer/inner/", "/outer/inner/own",
                 "/free/", "/free/own"):
        yield path, codes(client, path, 5)


def class_based_views(library, app):
    limiter = library.Limiter(who, app=app, storage_uri="memory://")

    class View(flask.views.MethodView):
        decorators = [limiter.limit("2/hour", per_method=True)]

        def get(self):
            return ""

        def post(self):
            return ""

    app.add_url_rule("/", view_func=View.as_view("view"))
    client = app.test_client()
    yield from codes(client, "/", 3)
    yield from [client.post("/").status_code for _ in range(3)]


def filters_and_blocks(library, app):
    limiter = library.Limiter(who, app=app, storage_uri="memory://")
    limiter.request_filter(lambda: who() == "admin")

    @app.get("/")
    def block():
        done = 0
        try:
            for _ in range(4):
                with limiter.limit("3/hour"):
                    done += 1
        except library.RateLimitExceeded as error:
            return f"{done} {error.code} {error.description}"
        return str(done)

    client = app.test_client()
    yield client.get("/").text
    yield client.get("/", **as_("admin")).text


def handlers(library, app):
    limiter = library.Limiter(who, app=app, storage_uri="memory://")
    told = []

    @app.errorhandler(429)
    def too_many(error):
        return f"{type(error).__name__}: {error.description}", 429

    def on_breach(limit):
        told.append((limit.breached, limit.remaining, len(limit.window)))
        return flask.make_response("breached", 429)

    app.get("/a", endpoint="a")(limiter.limit("1/5 minutes")(view("a")))
    app.get("/b", endpoint="b")(
        limiter.limit("1/hour", error_message="slowly")(view("b")))
    app.get("/c", endpoint="c")(
        limiter.limit("1/hour", on_breach=on_breach)(view("c")))
    client = app.test_client()
    for path in "/a", "/b", "/c":
        client.get(path)
        answer = client.get(path)
        yield answer.status_code, answer.text
    yield told


def current_limits(library, app):
    limiter = library.Limiter(who, app=app, storage_uri="memory://")

    @app.get("/")
    @limiter.limit("3/hour")
    def current():
        limit = limiter.current_limit
        return [limit.remaining, limit.breached, len(limiter.current_limits),
                isinstance(limit.reset_at, int), str(limit.limit)]

    yield app.test_client().get("/").json


def scopes_that_functions_tell(library, app):
    limiter = library.Limiter(who, app=app, storage_uri="memory://")

    def shop(endpoint):
        return flask.request.args["shop"]

    for name in "ab":
        app.get(f"/{name}", endpoint=name)(
            limiter.shared_limit("2/hour", scope=shop)(view(f"scope_{name}")))
    client = app.test_client()
    for path in ("/a?shop=x", "/a?shop=y", "/b?shop=x", "/b?shop=z",
                 "/a?shop=x", "/b?shop=y", "/b?shop=y", "/a?shop=z"):
        yield path, client.get(path).status_code
        yield path, client.get(path, **as_("alex")).status_code


def exemptions(library, app):
    limiter = library.Limiter(
        who, app=app, default_limits=["3/hour"],
        application_limits=["20/hour"], storage_uri="memory://")
    scope = library.ExemptionScope
    limit, exempt = limiter.limit("1/hour"), limiter.exempt
    views = {
        "outside": exempt(limit(view("outside"))),
        "inside": limit(exempt(view("inside"))),
        "default": exempt(limit(view("default")), flags=scope.DEFAULT),
        "all": exempt(view("all")),
        "some": exempt(view("some"), flags=scope.DEFAULT)}
    for name, function in views.items():
        app.get(f"/{name}", endpoint=name)(function)
    flags = {"whole": {}, "both": {"flags": scope.DEFAULT | scope.APPLICATION},
             "part": {"flags": scope.DEFAULT}}
    for name, options in flags.items():
        blueprint = flask.Blueprint(name, __name__)
        blueprint.get("/", endpoint="a")(view(f"exempt_{name}"))
        blueprint.get("/own", endpoint="own")(
            limiter.limit("1/hour")(view(f"exempt_{name}_own")))
        limiter.limit("2/hour")(blueprint)
        exempt(blueprint, **options)
        app.register_blueprint(blueprint, url_prefix=f"/{name}")
    client = app.test_client()
    for path in (*views, "whole/", "whole/own", "both/", "both/own", "part/",
                 "part/own"):
        yield path, codes(client, f"/{path}", 5)


@pytest.mark.parametrize("scenario", [
    default_limits, application_limits, configuration, switched_off,
    decorators, after_the_response, blueprints, class_based_views,
    filters_and_blocks, handlers, current_limits, scopes_that_functions_tell,
    exemptions],
    ids=lambda scenario: scenario.__name__)
def test_it_is_the_same(scenario):
    theirs, *ours = (list(scenario(importlib.import_module(name),
                                   flask.Flask(__name__)))
                     for name in LIBRARIES)
    assert theirs
    assert ours == [theirs, theirs]
