"""The decisions about one request."""

from __future__ import annotations

from collections.abc import Iterable

from limitree.decision import Decision
from limitree.demand import Segment
from limitree.flask.rules import Bound, Key, RequestLimit, Rule
from limitree.path_costs import PathCosts
from limitree.plain import PlainLimit

#: A rule, and the plain limit of each of its paths.
Owner = tuple[Bound, "tuple[PlainLimit | None, ...]"]
#: One decision, what it was about, and the rules whose paths these are.
Step = tuple[Decision, PathCosts, "list[Owner]"]


class State:
    """The decisions about one request."""

    __slots__ = ("is_spare", "rules", "steps")

    def __init__(self) -> None:
        self.is_spare = False  # decided by the limits of a Spare
        # One decision, unless the view asks for more.
        self.steps: list[Step] = []
        self.rules: set[Rule] = set()  # already decided

    def limits(self) -> list[RequestLimit]:
        """Return the verdicts of the limits, step by step."""
        return [limit for step in self.steps for limit in limits_of(*step)]


def collect(rules: set[Rule], bounds: Iterable[Bound], asked: PathCosts,
            owners: list[Owner]) -> None:
    """Add the paths of `bounds` to `asked`, and their rules to `rules`."""
    keys: dict[Key, Segment] = {}
    for bound in bounds:
        rule = bound.rule
        rules.add(rule)
        if rule.exempt_when is not None and rule.exempt_when():
            continue
        paths, limits = bound.paths(keys)
        if paths:
            asked.costs += [bound.cost()] * len(paths)
            asked.paths += paths
            owners.append((bound, limits))
            asked.defer(len(asked.paths) - len(paths), rule.charge_when,
                        rule.reserves)


def limits_of(decision: Decision, asked: PathCosts, owners: list[Owner]
              ) -> list[RequestLimit]:
    """Return the verdict of each limit about the paths of `asked`."""
    limits = [(bound, limit) for bound, all_limits in owners
              for limit in all_limits]
    found = []
    for level in decision.levels or ():
        bound, limit = limits[level.path]
        found.append(RequestLimit(asked.paths[level.path], level,
                                  bound.rule.shared, limit, bound.rule))
    return found
