"""The WSGI middleware, called as a server does."""

import json
import wsgiref.util
import wsgiref.validate

import pytest

import limitree
from conftest import USERS
from limitree.rate_limit import RateLimit
from limitree.wsgi import LimitreeMiddleware
from servers import redis_server


class Server:
    """Calls an application by all the rules of WSGI."""

    def __init__(self, app):
        self.app = wsgiref.validate.validator(app)

    def get(self, path="/", **environ):
        environ = {"PATH_INFO": path, "SCRIPT_NAME": "",
                   "QUERY_STRING": "", **environ}
        wsgiref.util.setup_testing_defaults(environ)
        self.written = []

        def start_response(status, headers, exc_info=None):
            self.status, self.headers = status, dict(headers)
            self.pairs = headers
            return self.written.append

        body = self.app(environ, start_response)
        try:
            self.body = b"".join(body)
        finally:
            body.close()
        return self


def application(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [repr(environ.get("limitree.decision")).encode()]


def user(environ):
    name = environ["PATH_INFO"].strip("/")
    return ("user", name, "trade") if name else None


@pytest.mark.filterwarnings("ignore:Unknown REQUEST_METHOD")
def test_invented_methods_count_together():
    server = Server(LimitreeMiddleware(
        application, rules=[RateLimit("2/hour", per_method=True)]))

    def status(method):
        return server.get(REMOTE_ADDR="192.0.2.1", REQUEST_METHOD=method
                          ).status[:3]

    assert [status(f"M{n}") for n in range(4)] == ["200"] * 2 + ["429"] * 2
    assert [status(name) for name in ("GET", "HEAD", "GET", "POST")] == [
        "200", "200", "429", "200"]


def test_requests_pass_until_they_are_denied(limiter):
    server = Server(LimitreeMiddleware(application, limiter, user))
    for left in (5, 4, 3, 2, 1, 0):
        answer = server.get("/alex")
        assert answer.status == "200 OK"
        assert f'"user:*/trade";r={left};t=' in answer.headers["RateLimit"]
        assert b"Decision(limited=False" in answer.body
    answer = server.get("/alex")
    assert answer.status == "429 Too Many Requests"
    assert answer.headers["Retry-After"] == "2"
    assert json.loads(answer.body)["violated-policies"] == ["user:*/trade"]
    assert int(answer.headers["Content-Length"]) == len(answer.body)
    assert server.get("/alex", REQUEST_METHOD="HEAD").body == b""
    assert server.get("/bob").status == "200 OK"


def test_a_request_without_a_path(limiter):
    answer = Server(LimitreeMiddleware(application, limiter, user)).get("/")
    assert answer.body == b"None" and "RateLimit" not in answer.headers


def test_half_of_a_character(limiter):
    path = "user", "\ud83d", "trade"
    server = Server(LimitreeMiddleware(application, limiter, lambda _: path))
    assert [server.get().status[:3] for _ in range(7)] == ["200"] * 6 + ["429"]
    server = Server(LimitreeMiddleware(application, rules=[
        RateLimit("1/hour", key=lambda environ: "\ud83d", by="path")]))
    assert [server.get(path).status[:3] for path in ("/a", "/b", "/a")] == [
        "200", "200", "429"]


def test_url_paths_are_texts():
    """A server of WSGI gives their bytes as Latin-1."""
    def codes(path, **options):
        server = Server(LimitreeMiddleware(application, **options))
        path = path.encode(errors="surrogateescape").decode("latin-1")
        return [server.get(path, REMOTE_ADDR="192.0.2.1").status[:3]
                for _ in range(2)]

    name = "/\xfcber"
    rules = [RateLimit("1/hour", at=f"{name}/*")]
    assert codes(f"{name}/x", rules=rules) == ["200", "429"]
    assert codes("/uber/x", rules=rules) == ["200", "200"]
    rules = [RateLimit("1/hour", by="path")]
    assert codes(f"{name}/x", rules=rules, exclude=[f"{name}/*"]) == [
        "200", "200"]
    assert codes("/\udcff", rules=rules) == ["200", "429"]  # no UTF-8


def test_several_paths_and_a_cost(limiter):
    server = Server(LimitreeMiddleware(
        application, limiter, lambda environ: [("user", "alex"), ["job"]],
        cost=lambda environ: int(environ["QUERY_STRING"])))
    assert server.get(QUERY_STRING="0").status == "200 OK"
    assert server.get(QUERY_STRING="2").status[:3] == "429"
    assert "Retry-After" not in server.headers
    assert server.get(QUERY_STRING="1").status == "200 OK"
    assert limiter.peek("user", "alex", cost=0).remaining == 15


def test_a_path_that_is_a_text(limiter):
    server = Server(LimitreeMiddleware(application, limiter,
                                       lambda environ: "user"))
    with pytest.raises(TypeError, match="sequence of segments, is 'user'"):
        server.get()


def test_a_wrong_path_names_the_function_that_told_it(limiter):
    def path_of_user(environ):
        return "user", environ.get("HTTP_USER")

    with pytest.raises(TypeError, match=(
            "segment 1 of a path must be str or bytes, not NoneType, as "
            r"test_wsgi\..*path_of_user has returned")):
        Server(LimitreeMiddleware(application, limiter, path_of_user)).get()


def test_styles(limiter):
    server = Server(LimitreeMiddleware(application, limiter, user,
                                       headers="legacy"))
    assert server.get("/x").headers["X-RateLimit-Remaining"] == "5"
    with pytest.raises(ValueError, match="unknown style"):
        LimitreeMiddleware(application, limiter, user, headers="x")


def test_a_stream_stays_one(limiter):
    log = []

    class Parts:
        def __iter__(self):
            for part in (b"a", b"b"):
                log.append(part)
                yield part

        def close(self):
            log.append("closed")

    def streaming(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return Parts()

    app = LimitreeMiddleware(streaming, limiter, user)
    environ = {"PATH_INFO": "/x"}
    wsgiref.util.setup_testing_defaults(environ)
    body = app(environ, lambda status, headers: log.append(dict(headers)))
    assert "RateLimit" in log.pop() and log == []
    assert next(iter(body)) == b"a" and log == [b"a"]
    body.close()
    assert log == [b"a", "closed"]


def test_write_and_an_error_after_the_start(limiter):
    def old(environ, start_response):
        write = start_response("200 OK", [("Content-Type", "text/plain")])
        try:
            raise ValueError
        except ValueError:
            import sys
            write = start_response("500 Oh", [("Content-Type", "text/plain")],
                                   sys.exc_info())
        write(b"written")
        return []

    answer = Server(LimitreeMiddleware(old, limiter, user)).get("/x")
    assert answer.status == "500 Oh" and answer.written == [b"written"]
    assert "RateLimit" in answer.headers


def test_two_middlewares_list_all_their_limits(limiter):
    inner = LimitreeMiddleware(application, limiter, user)
    outer = LimitreeMiddleware(inner, limiter, lambda environ: ("user", "all"))
    pairs = Server(outer).get("/x").pairs
    assert [name for name, _ in pairs if name == "RateLimit"] == [
        "RateLimit"] * 2


@pytest.mark.parametrize("on_error, status", [
    ("raise", "503 Service Unavailable"), ("allow", "200 OK"),
    ("deny", "429 Too Many Requests"), ("local", "200 OK")])
def test_without_a_store(on_error, status):
    with redis_server() as (url, process):
        limiter = limitree.Limiter(USERS, url, timeout=10.0,
                                   on_store_error=on_error)
        server = Server(LimitreeMiddleware(application, limiter, user))
        assert server.get("/alex").status == "200 OK"
        process.kill()
        process.wait()
        answer = server.get("/alex")
    assert answer.status == status
    assert ("Retry-After" in answer.headers) == (status[:3] in ("429", "503"))
    assert url.encode() not in answer.body
