"""Flask-Limiter by a change of the import.

    from limitree.flask_limiter import Limiter
    from limitree.flask_limiter.util import get_remote_address

The names, the defaults and the counts are those of Flask-Limiter 4;
docs/flask.md lists what is different.  Everything else is limitree.flask.
"""

from limitree.flask.rules import RequestLimit
from limitree.flask_limiter.constants import ExemptionScope, HeaderNames
from limitree.flask_limiter.errors import RateLimitExceeded
from limitree.flask_limiter.extension import Limiter
from limitree.flask_limiter.limits import (
    ApplicationLimit,
    Limit,
    MetaLimit,
    RouteLimit,
)

__all__ = ["ApplicationLimit", "ExemptionScope", "HeaderNames", "Limit",
           "Limiter", "MetaLimit", "RateLimitExceeded", "RequestLimit",
           "RouteLimit"]
