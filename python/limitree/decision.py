"""The Decision: made in C++, with the method that makes a dict added here.

A subclass would do the same, but decisions would be made and freed more slowly.
"""

from __future__ import annotations

from limitree._native import Decision, Level

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

__all__ = ["Decision", "Level", "problem"]

_read_json: Callable[[str], tuple[Any, int]] | None = None


def problem(decision: Decision) -> dict[str, object]:
    """Return the members of the body of a 429, ``application/problem+json``.

    ``violated-policies`` is there if the decision carries its levels.  Raises
    ValueError if the request was allowed.
    """
    global _read_json
    text = decision._problem_json().decode()
    if _read_json is None:
        import json
        _read_json = json.JSONDecoder().raw_decode
    members: dict[str, object] = _read_json(text)[0]
    return members


setattr(Decision, "problem", problem)
