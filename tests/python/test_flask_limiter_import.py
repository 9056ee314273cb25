"""limitree.flask_limiter has the names, the defaults and the counts of
Flask-Limiter: the same applications under both."""

import functools
import time

import flask
import flask_limiter
import pytest
import time_machine

import limitree.flask_limiter
import limitree.flask_limiter.commands
from flask_requests import as_, codes, who

NOON = 1_772_366_400.25  # 2026-03-01 12:00:00 UTC, and a bit


def clock():
    """The time of Python, which has less than nanoseconds here."""
    return round(time.time() * 1e6) * 1000



def store(library):
    """Returns the options of a store that keeps to the time of Python."""
    return {"storage_uri": "memory://"} if library is flask_limiter else {
        "storage_uri": "memory://", "storage_options": {"clock": clock}}


def view(name):
    """Returns a view; Flask-Limiter identifies functions by their names."""
    def function():
        return ""
    function.__name__ = function.__qualname__ = name
    return function


def refused(library, app):
    """What the answer to a denial looks like, and when a window ends."""
    limiter = library.Limiter(who, app=app, default_limits=["2/hour"],
                              headers_enabled=True, **store(library))
    app.get("/", endpoint="a")(lambda: "")

    @app.get("/b")
    @limiter.limit("10/minute")
    def limited():
        return "", {"Retry-After": "100000"}

    with time_machine.travel(NOON, tick=False) as traveller:
        client = app.test_client()
        for seconds in (0, 1800, 1801.5, 3600, 3601):
            traveller.move_to(NOON + seconds)
            answer = client.get("/")
            yield answer.status_code, answer.text, answer.content_type
            yield headers_of(answer)
        # Their date of the view's loses a part of a second.
        yield int(client.get("/b").headers["Retry-After"]) in (99999, 100000)


def headers_of(answer):
    return sorted((name, value) for name, value in answer.headers
                  if name.startswith("X-Rate") or name == "Retry-After")


def without_headers(library, app):
    library.Limiter(who, app=app, default_limits=["1/hour"],
                    **store(library))
    app.get("/", endpoint="a")(lambda: "")
    client = app.test_client()
    yield [sorted(client.get("/").headers.keys()) for _ in range(2)]


def renamed_headers(library, app):
    names = library.HeaderNames
    library.Limiter(
        who, app=app, default_limits=["1/hour"], headers_enabled=True,
        header_name_mapping={names.LIMIT: "X-Most", names.RETRY_AFTER: "X-In"},
        retry_after="http-date", **store(library))
    app.get("/", endpoint="a")(lambda: "")
    client = app.test_client()
    with time_machine.travel(NOON, tick=False):
        for _ in range(2):
            yield [client.get("/").headers.get(name)
                   for name in ("X-Most", "X-In", "X-RateLimit-Remaining")]


def below_other_decorators(library, app):
    """A limit that another decorator prepares, or protects."""
    limiter = library.Limiter(who, app=app, default_limits=["1/hour"],
                              **store(library))

    def tier(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            if who() == "stranger":
                flask.abort(401)
            flask.g.text = "3/hour"
            return function(*args, **kwargs)
        return inner

    app.get("/a", endpoint="a")(
        tier(limiter.limit(lambda: flask.g.text)(view("tier_a"))))
    client = app.test_client()
    yield codes(client, "/a", 4, **as_("stranger"))
    yield codes(client, "/a", 4, **as_("alex"))


def all_limits_after_a_breach(library, app):
    limiter = library.Limiter(who, app=app, fail_on_first_breach=False,
                              **store(library))
    app.get("/", endpoint="a")(
        limiter.limit("1/second; 3/minute")(lambda: ""))
    with time_machine.travel(NOON, tick=False) as traveller:
        client = app.test_client()
        yield codes(client, "/", 2)
        traveller.move_to(NOON + 1)
        yield codes(client, "/", 2)
        traveller.move_to(NOON + 2)
        yield codes(client, "/", 1)


def requests_have_other_names(library, app):
    limiter = library.Limiter(
        who, app=app, default_limits=["2/hour"], **store(library),
        request_identifier=lambda: flask.request.args["name"])
    for name in "ab":
        app.get(f"/{name}", endpoint=name)(view(f"named_{name}"))
    client = app.test_client()
    for url in ("/a?name=x", "/b?name=x", "/a?name=y", "/a?name=x",
                "/b?name=y", "/b?name=y"):
        yield url, client.get(url).status_code


def errors_of_on_breach(library, app):
    def fails(limit):
        raise ZeroDivisionError

    library.Limiter(who, app=app, default_limits=["1/hour"], on_breach=fails,
                    swallow_errors=True, **store(library))
    app.get("/", endpoint="a")(lambda: "")
    yield from codes(app.test_client(), "/", 2)


def limits_as_objects(library, app):
    def account():
        return flask.request.headers.get("X-Account", "none")

    limiter = library.Limiter(
        who, app=app, **store(library),
        default_limits=[library.Limit("2/hour", key_function=account),
                        library.Limit("5/hour", methods=["POST"], cost=2)],
        application_limits=[
            library.ApplicationLimit("2/hour", methods=["DELETE"])])
    for name in "abc":
        app.route(f"/{name}", endpoint=name, methods=["GET", "POST", "DELETE"])(
            view(f"objects_{name}"))
    app.get("/own", endpoint="own")(
        library.RouteLimit("1/hour", limiter=limiter, override_defaults=True)(
            view("objects_own")))
    client = app.test_client()
    yield codes(client, "/a", 3)
    yield [client.post("/b", headers={"X-Account": f"{number}"}).status_code
           for number in range(3)]
    yield codes(client, "/own", 2)
    yield [client.delete(path, headers={"X-Account": path}).status_code
           for path in ("/a", "/b", "/c")]


def limits_of_denials(library, app):
    """Meta limits of all views, and of one view alone."""
    def answers(text):
        return lambda limit: flask.make_response(text, 429)

    limiter = library.Limiter(
        who, app=app, default_limits=["2/second"], headers_enabled=True,
        meta_limits=["2/minute", library.MetaLimit("3/hour"), lambda: "5/day"],
        on_meta_breach=answers("too often"), **store(library))
    app.get("/", endpoint="a")(lambda: "")
    app.get("/b", endpoint="b")(limiter.exempt(view("meta_b")))
    app.get("/c", endpoint="c")(limiter.limit(
        "1/second", meta_limits=[library.MetaLimit(
            "1/minute", scope="meta c", on_breach=answers("no more c"))])(
                view("meta_c")))
    app.get("/d", endpoint="d")(
        limiter.exempt(flags=library.ExemptionScope.META)(view("meta_d")))
    with time_machine.travel(NOON, tick=False) as traveller:
        client = app.test_client()
        now = 0
        for seconds, urls in (
                (0, "///"), (1, "///"), (1, "/bcd"), (59, "///"), (59, "/bd"),
                (3480, "/cc"), (1, "cc/"), (60, "ccd"), (86400, "/")):
            now += seconds
            traveller.move_to(NOON + now)
            for url in urls:
                answer = client.get("/" + url.strip("/"))
                shown = answer.text if "o" in answer.text[:9] else ""
                yield (now, url, answer.status_code, shown,
                       answer.headers.get("X-RateLimit-Limit"),
                       answer.headers.get("X-RateLimit-Remaining"))


def functions_that_return_no_text(library, app):
    limiter = library.Limiter(who, app=app, **store(library))
    app.get("/", endpoint="a")(limiter.limit(
        lambda: "" if who() == "alex" else "1/hour")(view("no_text")))
    client = app.test_client()
    yield codes(client, "/", 3, **as_("alex"))
    yield codes(client, "/", 3, **as_("bob"))


def test_meta_limits_are_listed_and_cleared(tmp_path):
    app = flask.Flask(__name__)
    limiter = limitree.flask_limiter.Limiter(
        who, app=app, meta_limits=["1/day"],
        storage_uri=f"shm://{tmp_path}/meta")
    app.get("/", endpoint="a")(limiter.limit(
        "1/hour", meta_limits=["3/day"])(view("meta_listed")))
    client = app.test_client()
    assert codes(client, "/", 3) == [200, 429, 429]
    run = app.test_cli_runner().invoke
    cli = limitree.flask_limiter.commands.cli
    assert "1/hour; meta 3/day" in run(cli, ["limits"]).output
    shown = run(cli, ["limits", "--key", "nobody"]).output
    left = {line.split()[0]: line.split()[1] for line in shown.splitlines()
            if line.startswith("view:")}
    assert sorted(left.values()) == ["0", "0", "2"], shown
    assert run(cli, ["clear", "-y", "--key", "nobody"]).exit_code == 0
    assert codes(client, "/", 2) == [200, 429]


def test_half_of_a_character():
    app = flask.Flask(__name__)
    limiter = limitree.flask_limiter.Limiter(
        lambda: "\ud83d", app=app, meta_limits=["2/day"],
        request_identifier=lambda: "\ud83e")
    app.get("/", endpoint="a")(limiter.shared_limit(
        "1/hour", scope=lambda name: "\udcff")(view("half")))
    app.get("/b", endpoint="b")(view("other"))
    assert codes(app.test_client(), "/", 4) == [200, 429, 429, 429]
    assert codes(app.test_client(), "/b", 1) == [429]  # it has meta limits, too


def test_a_meta_limit_is_not_charged_by_responses():
    with pytest.raises(TypeError, match="no deduct_when"):
        limitree.flask_limiter.MetaLimit("1/day", deduct_when=bool)


def test_commands_say_what_is_not_there():
    run = flask.Flask(__name__).test_cli_runner().invoke
    cli = limitree.flask_limiter.commands.cli
    for command in (["config"], ["limits"], ["clear", "-y", "--key", "a"]):
        done = run(cli, command)
        assert done.exit_code == 1
        assert "this application has no limits" in done.output
    app = flask.Flask(__name__)
    limitree.flask_limiter.Limiter(who, app=app)
    done = app.test_cli_runner().invoke(cli, ["limits", "--endpoint", "no"])
    assert "there is no endpoint 'no'" in done.output


@pytest.mark.parametrize("scenario", [
    limits_of_denials, functions_that_return_no_text, refused, without_headers,
    renamed_headers, below_other_decorators, all_limits_after_a_breach,
    requests_have_other_names, errors_of_on_breach, limits_as_objects],
    ids=lambda scenario: scenario.__name__)
def test_it_is_the_same(scenario):
    theirs, ours = (list(scenario(library, flask.Flask(__name__)))
                    for library in (flask_limiter, limitree.flask_limiter))
    assert theirs
    assert ours == theirs


@pytest.mark.parametrize("own", ["9" * 10, "9" * 5000])
def test_a_view_may_say_never(own):
    app = flask.Flask("here")
    limiter = limitree.flask_limiter.Limiter(
        lambda: "all", app=app, headers_enabled=True, retry_after="http-date")

    @app.get("/")
    @limiter.limit("1/minute")
    def view():
        return "", {"Retry-After": own}

    answer = app.test_client().get("/")
    assert (answer.status_code, answer.headers["Retry-After"]) == (200, own)


def test_other_limits_while_the_store_fails():
    app = flask.Flask(__name__)
    app.config["RATELIMIT_IN_MEMORY_FALLBACK"] = "1/hour"
    limiter = limitree.flask_limiter.Limiter(
        who, app=app, default_limits=["5/hour"],
        storage_uri="redis+unix:///nowhere/redis.sock")
    app.get("/a", endpoint="a")(lambda: "")
    app.get("/b", endpoint="b")(limiter.limit("3/hour")(view("away_b")))
    client = app.test_client()
    assert codes(client, "/a", 2) == [200, 429]
    assert codes(client, "/b", 2) == [200, 429]
    assert codes(client, "/b", 2, **as_("alex")) == [200, 429]


def test_options_of_redis_py():
    def made(**options):
        return limitree.flask_limiter.Limiter(
            who, app=flask.Flask("app"), storage_uri="rediss://127.0.0.1:1",
            storage_options=options)

    made(socket_connect_timeout=30, socket_timeout=1.5)
    with pytest.raises(limitree.ConfigError, match="ca.pem: no such file"):
        made(ssl_ca_certs="ca.pem")
    for name in ("socket_connect_timeout", "socket_timeout"):
        with pytest.raises(limitree.ConfigError,
                           match="timeout: must be a duration from 1ms to 1m"):
            made(**{name: 3600})
    with pytest.raises(TypeError, match="no option \"connection_pool\""):
        made(connection_pool=object())
