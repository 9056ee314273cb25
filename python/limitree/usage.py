"""The header of a response that says what it has used: ``x-usage``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from limitree.web import logger

_KEY = r"[a-z*][a-z0-9_.*-]*"
# An item in a parameter, which has no meaning here.
_ITEM = (r'(?:%?"(?:[ !#-\[\]-~]|\\["\\])*"|:[A-Za-z0-9+/=]*:|@-?[0-9]{1,15}'
         r"|-?[0-9]{1,15}(?:\.[0-9]{1,3})?|\?[01]"
         r"|[A-Za-z*][!#$%&'*+.^_`|~0-9A-Za-z:/-]*)")
_MEMBER = re.compile(rf"({_KEY})=([0-9]{{1,16}})(?:; *{_KEY}(?:={_ITEM})?)*")
_COMMA = re.compile(r"[ \t]*,[ \t]*")


def read_usage(header: str) -> Mapping[str, int] | None:
    """Return the units in a header: "tokens=812, request=1".

    It is a dictionary of RFC 9651 with numbers from 0 to 2^53 - 1; parameters
    are ignored.  Returns None for another header, and warns of the first one.
    """
    header = header.strip(" ")
    units: dict[str, int] = {}
    place = 0
    while header:
        member = _MEMBER.match(header, place)
        if member is None or int(member[2]) >= 2**53:
            warn_once("header",
                      "a response has the header x-usage that is not like "
                      f"\"tokens=812, request=1\": {header[:80]!r}")
            return None
        units[member[1]] = int(member[2])
        if member.end() == len(header):
            break
        comma = _COMMA.match(header, member.end())
        place = comma.end() if comma else len(header)
    return units


def warn_once(kind: str, message: str) -> None:
    """Warn of one kind of mistakes the first time only: responses are many."""
    if kind not in _warned:
        _warned.add(kind)
        logger.warning("%s", message)


_warned: set[str] = set()
