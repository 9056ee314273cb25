"""The applications of test_shared_servers.py: /load is limited, /pid is not."""

import os

import flask
from fastapi import Depends, FastAPI
from fastapi.responses import PlainTextResponse

import limitree.fastapi
import limitree.flask

ADMITTED = 300
LIMIT = f"{ADMITTED}/day"  # one more after 288 seconds
PATIENT = "10s"  # a worker may have to wait for a processor


def create_wsgi():
    """Makes a Flask application."""
    app = flask.Flask("load")
    limiter = limitree.flask.Limiter(lambda: "all", app=app,
                                     storage_uri=os.environ["STORE"],
                                     storage_options={"timeout": PATIENT})

    @app.get("/load")
    @limiter.limit(LIMIT)
    def load():
        return str(os.getpid())

    @app.get("/pid")
    def pid():
        return str(os.getpid())

    return app


def create_asgi():
    """Makes a FastAPI application."""
    app = FastAPI()
    limitree.fastapi.Limiter(lambda request: "all", app=app,
                             store=os.environ["STORE"], timeout=PATIENT)
    by_all = Depends(limitree.fastapi.RateLimit(LIMIT))

    @app.get("/load", dependencies=[by_all])
    async def load():
        return PlainTextResponse(str(os.getpid()))

    @app.get("/pid")
    async def pid():
        return PlainTextResponse(str(os.getpid()))

    return app
