"""Limits for Flask: docs/flask.md shows how to use them.

    limiter = limitree.flask.Limiter(default_limits=["100/hour"])
    limiter.init_app(app)

    @app.get("/trade")
    @limiter.limit("5/second")
    def trade(): ...
"""

from limitree.flask.errors import RateLimitExceeded
from limitree.flask.extension import Limiter, RouteLimit
from limitree.flask.rules import ExemptionScope, RequestLimit
from limitree.flask.settings import get_remote_address

__all__ = [
    "ExemptionScope",
    "Limiter",
    "RateLimitExceeded",
    "RequestLimit",
    "RouteLimit",
    "get_remote_address",
]
