"""The rules of a view, joined into as few decisions as possible."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.http import HttpRequest

from limitree.decision import Decision
from limitree.django.ask import Ask
from limitree.django.keys import load_user
from limitree.django.record import Deferred, Record
from limitree.django.rule import Rule
from limitree.django.site import Site


class Bound(NamedTuple):
    """A rule at a view, and the name of its rates."""

    rule: Rule
    group: str


def steps_of(rules: list[Bound]) -> list[Step]:
    """Return the steps that decide `rules`, in their order."""
    steps: list[Step] = []
    for bound in rules:
        if steps and steps[-1].rules[-1].rule.may_join(bound.rule):
            steps[-1].rules.append(bound)
        else:
            steps.append(Step([bound]))
    return steps


class Step:
    """Rules that are charged together or not at all."""

    def __init__(self, rules: list[Bound]) -> None:
        self.rules = rules
        #: Of the only rule, if it is one whose charge waits for the response.
        self._when = rules[0].rule.deduct_when

    def decide(self, site: Site, record: Record, request: HttpRequest,
               args: tuple[Any, ...], kwargs: dict[str, Any]
               ) -> Decision | None:
        """Return the denial, or None if the view may run."""
        ask = self._ask(site, request, args, kwargs)
        if not ask.paths:
            return None
        if self._when is None:
            decision = ask.authorize(site.limiter)
        else:
            decision = ask.peek(site.limiter)
        return self._note(record, request, decision, ask)

    async def decide_awaited(self, site: Site, record: Record,
                             request: HttpRequest, args: tuple[Any, ...],
                             kwargs: dict[str, Any]) -> Decision | None:
        """The same on the event loop."""
        if any(bound.rule.needs_user(site) for bound in self.rules):
            await load_user(request)
        ask = self._ask(site, request, args, kwargs)
        if not ask.paths:
            return None
        await ask.settle()
        if self._when is None:
            decision = (await ask.authorize_awaited(site.awaited)
                        if record.is_asgi else ask.authorize(site.limiter))
        else:
            decision = (await ask.peek_awaited(site.awaited)
                        if record.is_asgi else ask.peek(site.limiter))
        return self._note(record, request, decision, ask)

    def _ask(self, site: Site, request: HttpRequest, args: tuple[Any, ...],
             kwargs: dict[str, Any]) -> Ask:
        ask = Ask()
        for rule, group in self.rules:
            rule.put(ask, site, group, request, args, kwargs)
        return ask

    def _note(self, record: Record, request: Any, decision: Decision, ask: Ask
              ) -> Decision | None:
        record.decisions.append(decision)
        if decision.limited:
            request.limited = True
            if self.rules[0].rule.block:
                record.denial = decision
                return decision
        if self._when is not None:
            if not record.has_middleware:
                raise RuntimeError("deduct_when needs LimitreeMiddleware, "
                                   "which sees the response")
            record.deferred.append(Deferred(ask, self._when))
        return None
