"""The extension, with the arguments and the defaults of Flask-Limiter."""

from __future__ import annotations

import logging
from typing import Any

import flask

from limitree import denials
from limitree.flask import extension
from limitree.flask.rules import Key
from limitree.flask_limiter.errors import RateLimitExceeded

__all__ = ["Limiter"]


class Limiter(extension.Limiter):
    """Limits the requests of Flask applications.

    Limits without a strategy count in fixed windows, and a limit that stands
    below another decorator is decided when that has run.  There are no headers
    without ``headers_enabled``.  With ``auto_check=False`` nothing is limited
    before `check` is called.  All other arguments are those of
    limitree.flask.Limiter.
    """

    _usual = {"strategy": "fixed-window", "headers_enabled": False,
              "decide": "decorator", "retry_always": True,
              "empty_exempts": True}
    _exceeded = RateLimitExceeded

    def __init__(self, key_func: Key, *, app: flask.Flask | None = None,
                 fail_on_first_breach: bool | None = None,
                 **options: Any) -> None:
        super().__init__(key_func, **options)
        self._given["fail_on_first_breach"] = fail_on_first_breach
        if app is not None:
            self.init_app(app)

    @property
    def logger(self) -> logging.Logger:
        """Gets a record for each denial, at most ten in a second."""
        return denials.logger
