"""The Decision: made in C++, with the methods that make dicts added here.

A subclass would do the same, but decisions would be made and freed more slowly.
"""

from __future__ import annotations

from limitree._native import Decision, Level, _decision, _level

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


def to_json(decision: Decision) -> dict[str, object]:
    """Return the decision in a form that JSON can hold and of_json takes.

    Celery's own encoder calls it, so that a LimitExceeded of a task arrives
    with its decision.
    """
    state, levels, is_denial = decision.__reduce__()[1]
    return {"text": repr(decision), "state": state.hex(),
            "denial": bool(is_denial),
            "levels": None if levels is None else [
                [level.policy, level.__reduce__()[1][0].hex(),
                 *level.__reduce__()[1][2:]]
                for level in levels]}


def of_json(found: Any) -> Decision:
    """Return the decision from which to_json has made `found`.

    Raises ValueError or TypeError for anything else.
    """
    try:
        levels = found["levels"]
        return _decision(bytes.fromhex(found["state"]),
                         None if levels is None else tuple(
                             _level(bytes.fromhex(state), policy, *unit)
                             for policy, state, *unit in levels),
                         found["denial"])
    except LookupError as error:
        raise ValueError(f"a decision lacks its {error}") from error


setattr(Decision, "problem", problem)
setattr(Decision, "__json__", to_json)
