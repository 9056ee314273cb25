"""Applications that hold until their response has ended, called by a test."""

import wsgiref.util
import wsgiref.validate

import pytest

from limitree import usage

#: What a request holds, and what is left of ("key", "k") of holding.LIMITS.
COST = {"tokens": 400}
FREE = [59, 1000, 2]  # after one request that has used nothing else
HELD = [59, 600, 1]
AS_HELD = [59, 600, 2]


@pytest.fixture(autouse=True)
def warned(monkeypatch):
    """What was warned of, as if nothing had been before."""
    monkeypatch.setattr(usage, "_warned", set())
    return usage._warned


def run_wsgi(app, looks=lambda body: b"".join(body), **environ):
    """Returns the status of one request; `looks` reads its body."""
    statuses = []

    def start_response(status, headers, exc_info=None):
        statuses.append(status)
        return lambda part: None

    environ = {"SCRIPT_NAME": "", "QUERY_STRING": "", "PATH_INFO": "/",
               **environ}
    wsgiref.util.setup_testing_defaults(environ)
    body = wsgiref.validate.validator(app)(environ, start_response)
    try:
        looks(body)
    finally:
        body.close()
    return int(statuses[0].split()[0])
