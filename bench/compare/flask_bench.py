"""What a limit adds to a request through Flask, limitree beside Flask-Limiter.

One view that answers one letter is called as a WSGI server calls it: without a
limit, under Flask-Limiter, and under limitree.  Both send their headers and
keep their counts in the memory of this process.  Each time is the minimum of
many short turns, in which the applications alternate.

Usage: flask_bench.py [turns]        (300)
"""

import sys
import time

import flask
from werkzeug.test import EnvironBuilder

# So high that no request is denied.
ONE = "1000000/minute"
TWO = "1000000/minute; 100000000/hour"
TREE = ("schema: {user: {children: {'*': {limits: 1000000/second, children: "
        "{trade: {limits: 1000000/second}}}}}}")
REQUESTS = 100


def key():
    return flask.request.remote_addr


def application(decorate=lambda view: view, app=None):
    app = app or flask.Flask("bench")
    app.get("/", endpoint="view")(decorate(lambda: "x"))
    return app


def with_flask_limiter(text):
    import flask_limiter

    app = flask.Flask("bench")
    limiter = flask_limiter.Limiter(key, app=app, storage_uri="memory://",
                                    headers_enabled=True)
    return application(limiter.limit(text), app)


def with_limitree(text, **options):
    import limitree.flask

    app = flask.Flask("bench")
    limiter = limitree.flask.Limiter(key, app=app, **options)
    if text is None:
        return application(limiter.path("user", key, "trade"), app)
    return application(limiter.limit(text), app)


APPLICATIONS = {
    "no limit": lambda: application(),
    "Flask-Limiter, one limit": lambda: with_flask_limiter(ONE),
    "Flask-Limiter, two": lambda: with_flask_limiter(TWO),
    "limitree, one limit": lambda: with_limitree(ONE),
    "limitree, two": lambda: with_limitree(TWO),
    "limitree, a tree of two": lambda: with_limitree(None, limits=TREE),
    "limitree, two, as Flask-Limiter's headers":
        lambda: with_limitree(TWO, headers_enabled=True),
}


def caller(app):
    environ = EnvironBuilder(path="/", environ_base={
        "REMOTE_ADDR": "192.0.2.7"}).get_environ()

    def start(status, headers, exc_info=None):
        if status != "200 OK":
            raise RuntimeError(status)

    def call():
        for _ in app(dict(environ), start):
            pass
    return call


def time_turn(call):
    """Returns microseconds for each request."""
    start = time.perf_counter_ns()
    for _ in range(REQUESTS):
        call()
    return (time.perf_counter_ns() - start) / REQUESTS / 1000


def main():
    turns = int(sys.argv[1]) if sys.argv[1:] else 300
    calls = {name: caller(make()) for name, make in APPLICATIONS.items()}
    least = {name: time_turn(call) for name, call in calls.items()}
    for _ in range(turns):
        for name, call in calls.items():
            least[name] = min(least[name], time_turn(call))
    print(f"{'view':<43} {'request':>8} {'added':>7}   us")
    for name, us in least.items():
        print(f"{name:<43} {us:>8.1f} {us - least['no limit']:>7.1f}")


if __name__ == "__main__":
    main()
