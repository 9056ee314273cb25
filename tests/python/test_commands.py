"""flask limiter and manage.py limitree: config, limits, clear."""

import io

import flask
import pytest

import limitree

import django_site
from flask_requests import as_, codes, who


def key_of_caller():
    return who()


@pytest.fixture
def app(shared):
    made = flask.Flask("shop")
    made.config.update(LIMITREE_STORE=shared, LIMITREE_DEFAULT="9/hour",
                       RATELIMIT_STRATEGY="fixed-window",
                       LIMITREE_KEY_FUNC=key_of_caller)
    from limitree.flask import Limiter
    limiter = Limiter(app=made, application_limits=["99/day"])
    made.get("/a", endpoint="a")(limiter.limit("2/hour")(lambda: "a"))
    made.route("/b/<item>", endpoint="b", methods=["GET", "POST"])(
        limiter.limit("1/hour", methods="POST")(
            lambda item: item))
    return made


def run(app, *words, text=None):
    done = app.test_cli_runner().invoke(args=["limiter", *words], input=text)
    assert done.exception is None or isinstance(done.exception, SystemExit), (
        done.exception)
    return done.exit_code, done.output


def lines_of(text):
    return [" ".join(line.split()) for line in text.splitlines()]


def test_flask_config(app, shared):
    code, text = run(app, "config")
    assert code == 0
    lines = lines_of(text)
    for line in ("LIMITREE_STRATEGY fixed-window", "LIMITREE_DEFAULT 9/hour",
                 "LIMITREE_APPLICATION 99/day", f"LIMITREE_STORE {shared}",
                 "LIMITREE_OPTIONS['on_store_error'] local",
                 "LIMITREE_KEY_FUNC key_of_caller", "LIMITREE_LIMITS -"):
        assert line in lines
    assert run(app, "config") == (
        0, app.test_cli_runner().invoke(args=["limitree", "config"]).output)


def test_flask_config_behind_a_proxy():
    from limitree.flask import Limiter
    app = flask.Flask("shop")
    app.config.update(LIMITREE_TRUSTED_HOPS=1)
    Limiter(app=app, storage_options=[("max_buckets", 99)])
    lines = lines_of(run(app, "config")[1])
    assert "LIMITREE_KEY_FUNC key_of_request" in lines
    assert "LIMITREE_OPTIONS['max_buckets'] 99" in lines


SECRET = {"sentinel_password": "hunter2",
          "per_second_store": "redis://:hunter2@other.example:1"}


def test_flask_config_has_no_secrets():
    from limitree.flask import Limiter
    app = flask.Flask("shop")
    Limiter(app=app, storage_uri="redis+sentinel://:hunter2@a.example:1/main",
            storage_options=SECRET)
    lines = lines_of(run(app, "config")[1])
    assert "LIMITREE_OPTIONS['sentinel_password'] ***" in lines
    assert "LIMITREE_OPTIONS['per_second_store'] other.example:1" in lines
    assert not any("hunter2" in line for line in lines)


def test_flask_limits(app):
    def rows(*words):
        return [line for line in lines_of(run(app, "limits", *words)[1])
                if line.startswith("/") and "static" not in line]

    every = ["/a GET a 99/day @application; 2/hour",
             "/b/<item> GET b 99/day @application; 9/hour",
             "/b/<item> POST b 99/day @application; 1/hour"]
    assert sorted(rows()) == every
    assert rows("--endpoint", "a") == every[:1]
    assert rows("--path", "/b/7") == every[1:]
    assert rows("--path", "/b/7", "--method", "POST") == every[2:]
    code, text = run(app, "limits", "--path", "/nowhere")
    assert (code, "no route has '/nowhere'" in text) == (1, True)


def test_flask_limits_of_a_caller_and_clear(app):
    client = app.test_client()
    assert codes(client, "/a", 3, **as_("alex")) == [200, 200, 429]
    assert codes(client, "/b/7", 1, **as_("alex")) == [200]
    code, text = run(app, "limits", "--endpoint", "a", "--key", "alex")
    assert [line.split()[1:3] for line in lines_of(text)
            if line.startswith("view:")] == [["96", "99"], ["0", "2"]]

    code, text = run(app, "clear", "--key", "alex", "--endpoint", "a",
                     text="n\n")
    assert code == 1 and "Aborted" in text
    assert codes(client, "/a", 1, **as_("alex")) == [429]
    assert run(app, "clear", "--key", "alex", "--endpoint", "a", "-y") == (
        0, "cleared 2 buckets of alex\n")
    assert codes(client, "/a", 3, **as_("alex")) == [200, 200, 429]
    assert run(app, "clear", "--key", "alex", text="y\n")[0] == 0
    assert codes(client, "/a", 1, **as_("alex")) == [200]
    assert run(app, "clear")[0] == 2  # whose?


def test_what_is_in_memory_cannot_be_cleared(limitree_clock):
    from limitree.flask import Limiter
    app = flask.Flask("shop")
    Limiter(app=app, default_limits=["1/hour"])
    app.get("/", endpoint="x")(lambda: "")
    code, text = run(app, "clear", "--key", "alex", "-y")
    assert (code, "memory of the server" in text) == (1, True)


# ---- Django -----------------------------------------------------------------


@pytest.fixture
def project(shared):
    from django.test import override_settings

    from limitree.django import keys

    with override_settings(LIMITREE={
            "LIMITS": django_site.LIMITS, "STORE": shared, "TIMEOUT": "50ms",
            "STRATEGY": "moving-window", "DEFAULT": "2/m",
            "PATHS": [("ip", keys.ip)]}):
        yield


def manage(*words):
    from django.core.management import call_command
    out = io.StringIO()
    call_command("limitree", *words, stdout=out)
    return lines_of(out.getvalue())


def test_django_config(project, shared):
    lines = manage("config")
    for line in (f"STORE {shared}", "STRATEGY moving-window", "DEFAULT 2/m",
                 "TIMEOUT 50ms", "KEY ip()", "PATHS ip ip()", "LIMITS dict",
                 "ENABLED True", "VIEW -"):
        assert line in lines, lines


def test_django_config_has_no_secrets():
    from django.test import override_settings
    with override_settings(LIMITREE={
            "STORE": "redis+sentinel://:hunter2@a.example:1/main",
            **{name.upper(): value for name, value in SECRET.items()}}):
        lines = manage("config")
    assert "SENTINEL_PASSWORD ***" in lines
    assert not any("hunter2" in line for line in lines)


def test_django_limits(project):
    lines = manage("limits")
    assert "/trade django_site.trade path user value() trade" in lines
    assert any(line.startswith("/plain django_site.plain -") for line in lines)
    assert any(line.startswith("/news django_site.News -") for line in lines)
    assert "every request: 2/m" in lines
    assert "every request: path ip ip()" in lines


def test_django_clear(project):
    from django.core.management import CommandError
    from django.test import Client

    client = Client()
    assert codes(client, "/plain", 3) == [200, 200, 429]
    with pytest.raises(CommandError, match="no rates of 'nothing'"):
        manage("clear", "--key", "127.0.0.1", "--group", "nothing")
    assert manage("clear", "--key", "127.0.0.1", "--group", "default") == [
        "cleared 1 buckets of 127.0.0.1"]
    assert codes(client, "/plain", 3) == [200, 200, 429]
    assert manage("clear", "--key", "127.0.0.1")[0].startswith("cleared ")
    assert codes(client, "/plain", 1) == [200]
    with pytest.raises((CommandError, SystemExit)):
        manage("clear")
    assert limitree.__version__
