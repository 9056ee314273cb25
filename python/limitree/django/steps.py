"""The rules of a view, joined into as few decisions as possible."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.http import HttpRequest

from limitree.decision import Decision
from limitree.django.keys import load_user
from limitree.functions import run, run_awaited
from limitree.path_costs import PathCosts, denying
from limitree.django.record import Record
from limitree.django.rule import Rule
from limitree.django.site import Site


class Bound(NamedTuple):
    """A rule at a view, and the name of its rates."""

    rule: Rule
    group: str


def steps_of(rules: list[Bound]) -> list[Step]:
    """Return the steps that decide `rules`: first one step for all rules that
    can deny the request, then one for each rule that cannot."""
    denying = [bound for bound in rules if bound.rule.block]
    return [*([Step(denying)] if denying else ()),
            *(Step([bound]) for bound in rules if not bound.rule.block)]


class Step:
    """Rules that are charged together or not at all."""

    def __init__(self, rules: list[Bound]) -> None:
        self.rules = rules
        # Which limit denies is asked only if it matters.
        self._levels = True if len(rules) > 1 and any(
            bound.rule.on_breach or bound.rule.error_message
            for bound in rules) else None

    def decide(self, site: Site, record: Record, request: HttpRequest,
               args: tuple[Any, ...], kwargs: dict[str, Any]
               ) -> Decision | None:
        """Return the denial, or None if the view may run."""
        ask, owners = self._ask(site, request, args, kwargs)
        if not ask.paths:
            return None
        record.check(ask)
        decision = ask.authorize(site.limiter, self._levels)
        denial = self._note(site, record, request, decision, ask)
        if denial is not None:
            record.told = run(site.breached(denying(owners, decision), request,
                                            decision))
        return denial

    async def decide_awaited(self, site: Site, record: Record,
                             request: HttpRequest, args: tuple[Any, ...],
                             kwargs: dict[str, Any]) -> Decision | None:
        """The same on the event loop."""
        if any(bound.rule.needs_user(site) for bound in self.rules):
            await load_user(request)
        ask, owners = self._ask(site, request, args, kwargs)
        if not ask.paths:
            return None
        await ask.settle()
        record.check(ask)
        decision = (await ask.authorize(site.awaited, self._levels)
                    if record.is_asgi else
                    ask.authorize(site.limiter, self._levels))
        denial = self._note(site, record, request, decision, ask)
        if denial is not None:
            record.told = await run_awaited(
                site.breached(denying(owners, decision), request, decision))
        return denial

    def _ask(self, site: Site, request: HttpRequest, args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> tuple[PathCosts, list[Rule]]:
        ask = PathCosts()
        owners: list[Rule] = []
        try:
            for rule, group in self.rules:
                first = len(ask.paths)
                rule.put(ask, site, group, request, args, kwargs)
                owners += [rule] * (len(ask.paths) - first)
                if len(ask.paths) > first:
                    ask.defer(first, rule.deduct_when, rule.reserve)
        except Exception as error:
            ask.refuse(error)
        return ask, owners

    def _note(self, site: Site, record: Record, request: Any,
              decision: Decision, ask: PathCosts) -> Decision | None:
        record.note(decision, ask, site)
        if decision.limited:
            request.limited = True
            if self.rules[0].rule.block:
                record.denial = decision
                record.holds.denied = True
                return decision
        if ask.refusal is not None:
            ask.pass_on()
        return None
