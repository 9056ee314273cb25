"""The key of a caller by default."""

from limitree.flask.settings import get_remote_address

__all__ = ["get_remote_address"]
