"""The applications that test_flask_servers.py runs under gunicorn."""

import os

import flask

import limitree
from limitree.flask import Limiter
from limitree.wsgi import LimitreeMiddleware

LIMITS = "schema: {job: {limits: [39, 1, 3600]}}"


def create_app():
    """Makes a Flask application whose limits are in the store of the test."""
    app = flask.Flask("site")
    app.config.update(LIMITREE_STORE=os.environ["STORE"],
                      LIMITREE_LIMITS=LIMITS,
                      LIMITREE_OPTIONS={"timeout": 10.0},
                      LIMITREE_ON_STORE_ERROR=os.environ.get("ON_ERROR"))
    limiter = Limiter(app=app)

    @app.get("/plain")
    @limiter.limit("40/hour")
    def plain():
        return str(os.getpid())

    @app.get("/job")
    @limiter.path("job")
    def job():
        return str(os.getpid())

    @app.get("/pid")
    def pid():
        return str(os.getpid())

    @app.get("/stream")
    @limiter.limit("40/hour")
    def stream():
        def parts():
            for i in range(3):
                yield f"{i}\n"
        return parts()

    return app


def create_wsgi():
    """Makes a plain WSGI application behind the middleware."""
    def application(environ, start_response):
        start_response("200 OK", [("Content-Type", "text/plain")])
        return [str(os.getpid()).encode()]

    limiter = limitree.Limiter(LIMITS, os.environ["STORE"], timeout=10.0)
    return LimitreeMiddleware(
        application, limiter,
        lambda environ: None if environ["PATH_INFO"] == "/pid" else ("job",))


def create_busy():
    """Makes an application with a view whose limit is never reached, and a view
    without limits."""
    app = flask.Flask("busy")
    app.config.update(LIMITREE_STORE=os.environ["STORE"],
                      LIMITREE_ON_STORE_ERROR=os.environ.get("ON_ERROR"))
    limiter = Limiter(app=app)

    @app.get("/")
    @limiter.limit("1000000/second")
    def limited():
        return "limited"

    @app.get("/free")
    def free():
        return str(os.getpid())

    return app
