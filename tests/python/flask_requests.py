"""Helpers for the tests of the Flask extension."""

import flask


def codes(client, path, count, **options):
    """Returns the status codes of some requests, one after the other."""
    return [client.get(path, **options).status_code for _ in range(count)]


def who():
    """The key function of these tests."""
    return flask.request.headers.get("X-Who", "nobody")


def as_(name):
    """Returns the options of a request by the caller `name`."""
    return {"headers": {"X-Who": name}}
