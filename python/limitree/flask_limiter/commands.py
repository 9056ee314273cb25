"""``flask limiter``."""

from limitree.flask.cli import commands as cli

__all__ = ["cli"]
