"""Flask and WSGI applications under gunicorn, called over HTTP."""

import concurrent.futures
import contextlib
import os
import pathlib
import subprocess
import sys
import time

import flask
import httpx
import pytest

import limitree
from limitree.flask import Limiter
from servers import redis_server, wait_for
from web_servers import gunicorn

ROOT = pathlib.Path(__file__).parents[2]


@contextlib.contextmanager
def running(factory, store, *options, **environment):
    with gunicorn(f"flask_site:{factory}()", *options, STORE=store,
                  **environment) as url:
        # On one connection, a single worker might get all requests.
        limits = httpx.Limits(max_keepalive_connections=0)
        with httpx.Client(base_url=url, limits=limits) as client:
            yield client


@contextlib.contextmanager
def running_again(process):
    """Starts the server of `process` again, on its socket, without its data."""
    again = subprocess.Popen(process.args, stdout=subprocess.DEVNULL)
    try:
        path = process.args[process.args.index("--unixsocket") + 1]
        wait_for(path, again)
        yield
    finally:
        again.kill()
        again.wait()


def wait_for_workers(client, count):
    found, deadline = set(), time.monotonic() + 30
    while len(found) < count:
        assert time.monotonic() < deadline, f"only {found} answer"
        found.add(client.get("/pid").text)


def ask(client, path, count, threads=8):
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(lambda _: client.get(path), range(count)))


@pytest.mark.parametrize("options", [(), ("--preload",)], ids=["", "preload"])
def test_workers_admit_the_limit_together(options):
    with redis_server() as (store, _):
        with running("create_app", store, "--workers", "3", "--threads", "4",
                     *options) as client:
            wait_for_workers(client, 3)
            for path in "/plain", "/job":
                answers = ask(client, path, 120)
                admitted = [answer for answer in answers
                            if answer.status_code == 200]
                assert len(admitted) == 40
                assert {answer.status_code for answer in answers} == {200, 429}


@pytest.mark.parametrize("options", [(), ("--preload",)], ids=["", "preload"])
def test_the_middleware(options):
    with redis_server() as (store, _):
        with running("create_wsgi", store, "--workers", "3", "--threads", "4",
                     *options) as client:
            wait_for_workers(client, 3)
            answers = ask(client, "/", 120)
            assert [answer.status_code for answer in answers].count(200) == 40
            denied = client.get("/")
            assert denied.status_code == 429
            assert denied.headers["RateLimit-Policy"] == '"job";q=40;w=144000'
            assert 3540 < int(denied.headers["Retry-After"]) <= 3600
            assert denied.json()["violated-policies"] == ["job"]


def test_headers_of_a_stream():
    with running("create_app", "memory://") as client:
        with client.stream("GET", "/stream") as answer:
            assert answer.headers["Transfer-Encoding"] == "chunked"
            assert '"view:stream/*/40/1h";r=39' in answer.headers["RateLimit"]
            assert "".join(answer.iter_text()) == "0\n1\n2\n"


@pytest.mark.parametrize("on_error, code", [
    ("raise", 503), ("allow", 200), ("deny", 429), ("local", 200), (None, 200)])
def test_the_store_is_killed_and_comes_back(on_error, code):
    with redis_server() as (store, process):
        with running("create_app", store, "--workers", "2",
                     **({"ON_ERROR": on_error} if on_error else {})) as client:
            assert client.get("/plain").status_code == 200
            process.kill()
            process.wait()
            answers = ask(client, "/plain", 6)
            assert {answer.status_code for answer in answers} == {code}
            if code in (429, 503):
                assert {answer.headers["Retry-After"]
                        for answer in answers} == {"1"}
            # A view without limits still works.
            assert client.get("/pid").status_code == 200
            if on_error is None:  # each worker enforces the limit itself
                answers = ask(client, "/plain", 100)
                assert [answer.status_code for answer in answers].count(
                    429) >= 100 - 2 * 40
            with running_again(process):
                # Its buckets are full: only there can 38 still be left.
                deadline, left = time.monotonic() + 30, ""
                while '/40/1h";r=38' not in left:
                    assert time.monotonic() < deadline, left
                    left = client.get("/plain").headers.get("RateLimit", "")


def test_after_the_response_without_a_store(caplog):
    with redis_server() as (store, process):
        app = flask.Flask("x")
        limiter = Limiter(lambda: "a", app=app, storage_uri=store,
                          storage_options={"timeout": 10.0},
                          on_store_error="raise")

        @app.get("/")
        @limiter.limit("5/hour", deduct_when=lambda answer: True)
        def view():
            process.kill()
            process.wait()
            return "done"

        answer = app.test_client().get("/")
        # The view has run already.
        assert (answer.status_code, answer.text) == (200, "done")
        assert "requests fail until it is back" in caplog.text


def test_an_error_handler_of_the_application():
    with redis_server() as (store, process):
        app = flask.Flask("x")
        app.register_error_handler(limitree.StoreError,
                                   lambda error: (error.reason, 500))
        Limiter(lambda: "a", app=app, storage_uri=store,
                default_limits=["5/hour"], on_store_error="raise")
        app.get("/", endpoint="x")(lambda: "")
        process.kill()
        process.wait()
        assert app.test_client().get("/").status_code == 500


def test_the_example():
    with gunicorn("app:app", "--chdir", str(ROOT / "examples/flask")) as url:
        with httpx.Client(base_url=url) as client:
            codes = [client.post("/trade", headers={"X-User": "alex"})
                     .status_code for _ in range(8)]
            assert codes[:6] == [200] * 6 and 429 in codes[6:]
            wrong = [client.post("/login", data={"password": "x"}).status_code
                     for _ in range(4)]
            assert wrong == [401, 401, 401, 429]
            prices = client.get("/prices")
            assert prices.json() == {"gold": 2000}
            assert '"view:prices/*/100/1m";q=100' in (
                prices.headers["RateLimit-Policy"])


# ---- flask limitree ---------------------------------------------------------


def command(*words, **environment):
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "app", "limitree", *words],
        cwd=ROOT / "examples/flask", capture_output=True, text=True,
        env={**os.environ, **environment})


def test_commands():
    listing = command("limits").stdout.splitlines()
    assert [line.split(maxsplit=3) for line in listing] == [
        ["route", "method", "endpoint", "limits"],
        ["/static/<path:filename>", "GET", "static", "-"],
        ["/prices", "GET", "prices", "100/minute"],
        ["/trade", "POST", "trade", "path user user() trade"],
        ["/login", "POST", "login", "3/minute"]]
    with redis_server() as (store, process):
        here = {"FLASK_LIMITREE_STORE": store,
                "FLASK_LIMITREE_OPTIONS": '{"timeout": "5s"}'}
        with gunicorn("app:app", "--chdir", str(ROOT / "examples/flask"),
                      **here) as url:
            for _ in range(3):
                httpx.post(url + "/login", data={"password": "x"})
            httpx.post(url + "/trade", headers={"X-User": "alex"})
        shown = command("show", "127.0.0.1", **here).stdout.splitlines()
        assert shown[0].split() == ["limit", "left", "of", "full", "in"]
        assert ["view:login/*/3/1m", "0", "3"] in [
            line.split()[:3] for line in shown]
        shown = command("show", "--path", "user", "alex", "trade", **here)
        assert [line.split()[0] for line in shown.stdout.splitlines()[1:]] == [
            "user:*", "user:*/trade"]

        assert command("reset", "127.0.0.1", **here).returncode == 0
        shown = command("show", "127.0.0.1", **here).stdout.splitlines()
        assert ["view:login/*/3/1m", "3", "3"] in [
            line.split()[:3] for line in shown]
        assert "answered in" in command("ping", **here).stdout

        process.kill()
        process.wait()
        for words in ("ping",), ("show", "127.0.0.1"), ("reset", "127.0.0.1"):
            failed = command(*words, **here)
            assert failed.returncode == 1 and "Error: " in failed.stderr


@pytest.mark.parametrize("words, message", [
    (("show", "a", "b"), "one key"), (("show", "--path", "usr"), "usr"),
    (("reset", "a"), "in the memory of the server's process"),
    (("show",), "Missing argument")])
def test_commands_that_cannot_be(words, message):
    failed = command(*words)
    assert failed.returncode != 0 and message in failed.stderr
