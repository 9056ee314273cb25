"""Meta limits: how often a caller may be denied, before all is denied.

They are asked before the other limits of a request, and charged when those
have denied it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from limitree.errors import StoreError
from limitree.flask.rules import Rule, TextOf
from limitree.flask.steps import Owner, Step, collect
from limitree.path_costs import PathCosts

if TYPE_CHECKING:
    from limitree.flask.rules import Bound
    from limitree.limiter import Limiter
    from limitree.plain import PlainLimits


def meta_rules(texts: Sequence[TextOf | Rule] | None) -> tuple[Rule, ...]:
    """Return the rules of ``meta_limits``: all denials count in one bucket."""
    return tuple(text if isinstance(text, Rule) else
                 Rule(text, scope="meta", shared=True, is_meta=True)
                 for text in texts or ())


class MetaStep:
    """The meta limits of some rules, for one request.

    `always` are those of the whole application.
    """

    def __init__(self, core: Limiter, plain: PlainLimits, always: list[Bound],
                 bounds: Iterable[Bound]) -> None:
        self._core = core
        self._plain = plain
        self._always = always
        self._of: dict[Rule, list[Bound]] = {
            bound.rule: bound.metas for bound in bounds if bound.metas}

    @property
    def step(self) -> Step | None:
        """The denial of a caller that was denied too often; charges nothing."""
        bounds = dict.fromkeys(self._always + [
            bound for metas in self._of.values() for bound in metas])
        asked, owners = self._collect(bounds)
        if not asked.paths:
            return None
        decision = asked.peek(self._core)
        return (decision, asked, owners) if decision.limited else None

    def charge(self, breached: Iterable[Rule]) -> None:
        """Charge a denial by `breached`."""
        bounds = dict.fromkeys(self._always + [
            bound for rule in breached for bound in self._of.get(rule, ())])
        asked, _ = self._collect(bounds)
        if asked.paths:
            # The request is denied either way, and the limiter has logged
            # that its store fails.
            with contextlib.suppress(StoreError):
                asked.authorize(self._core)

    def _collect(self, bounds: Iterable[Bound]
                 ) -> tuple[PathCosts, list[Owner]]:
        asked = PathCosts()
        owners: list[Owner] = []
        collect(set(), bounds, asked, owners)
        self._plain.update(self._core)
        return asked, owners
