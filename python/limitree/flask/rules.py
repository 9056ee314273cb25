"""The rules of decorators and settings."""

from __future__ import annotations

import enum
import inspect
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from flask.wrappers import Response

from limitree.decision import Level
from limitree.demand import Cost, Segment
from limitree.plain import (
    COMPUTED,
    PlainLimit,
    PlainLimits,
    PlainRule,
    joined,
    parse,
)
from limitree.response_holds import Reserve, reserve_of
from limitree.web import Path, Paths, counted_as, not_a_segment, paths_of

Key = Callable[[], Segment]
TextOf = Union[str, Callable[[], str]]
CostOf = Union[Cost, Callable[[], Cost]]
#: A result that is not a cost in several units only counts as true or false.
DeductWhen = Callable[[Response], Union[bool, Mapping[str, int]]]
ScopeOf = Union[str, Callable[[str], str]]
SegmentOf = Union[Segment, Callable[[], Segment]]
PathsOf = Callable[[], Paths]
Breach = Callable[["RequestLimit"], Optional[Response]]


class ExemptionScope(enum.Flag):
    """The limits from which a view or a blueprint is exempt."""

    NONE = 0
    APPLICATION = 1  #: limits of the whole application
    DEFAULT = 2  #: default limits
    DESCENDENTS = 4  #: also the blueprints nested in this one
    ANCESTORS = 8  #: limits of the blueprints this one is nested in
    OWN = 16  #: limits that were put on the blueprint itself
    META = 32  #: meta limits, which count denials


@dataclass(eq=False)
class Rule:
    """Limits that apply together, to one key and at one cost.

    They are plain, from `text`, or those on `path` of the tree; functions are
    called once for each request.
    """

    text: TextOf | None = None
    path: tuple[SegmentOf, ...] = ()
    paths: PathsOf | None = None  # instead of `path`: one, some or none
    key: Key | None = None  # of plain limits; None: the extension's own
    scope: ScopeOf | None = None
    shared: bool = False
    per_method: bool = False
    methods: frozenset[str] | None = None
    error_message: str | Callable[[], str] | None = None
    exempt_when: Callable[[], bool] | None = None
    override_defaults: bool = True
    deduct_when: DeductWhen | None = None
    on_breach: Breach | None = None
    cost: CostOf = 1
    reserve: Reserve = False
    is_meta: bool = False  # charged by denials only
    metas: tuple[Rule, ...] = ()  # that denials by this rule charge

    def __post_init__(self) -> None:
        if isinstance(self.text, str):
            parse(self.text)  # raises an error where a mistake was made
        elif self.text is not None and _needs_arguments(self.text):
            raise TypeError("limits are a text, or a function without "
                            "arguments that returns one: "
                            "@limiter.limit(\"5/minute\")")
        if self.shared and not self.scope:
            raise ValueError("shared limits need the name of their scope")
        if self.is_meta and self.deduct_when is not None:
            raise TypeError("a meta limit is charged by denials: it has no "
                            "deduct_when")
        self.reserves = reserve_of(self.reserve)
        when = self.deduct_when
        #: The same function for PathCosts, where a number is a cost.
        self.charge_when = None if when is None else (
            lambda response: _true_or_units(when(response)))

    def applies_to(self, method: str) -> bool:
        """Return whether requests with this method are limited."""
        return self.methods is None or method in self.methods

    def scope_of(self, endpoint: str, method: str) -> str:
        """Return the scope of plain limits; "@" marks what endpoints share."""
        scope = f"@{self.scope}" if self.scope else ""
        if callable(self.scope):
            scope = COMPUTED
        if not self.shared:
            scope = f"{endpoint}{scope}"
        return f"{scope}@{counted_as(method)}" if self.per_method else scope


def _true_or_units(found: Any) -> bool | Mapping[str, int]:
    return found if isinstance(found, Mapping) else bool(found)


def _needs_arguments(function: Callable[..., Any]) -> bool:
    """Whether it cannot be called without arguments; it may be a view."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # it has no known signature
        pass
    return False


class Bound:
    """A rule at one endpoint and method, prepared as far as possible."""

    __slots__ = ("_endpoint", "_identify", "_path", "_plain", "_scope", "key",
                 "metas", "rule", "static")

    def __init__(self, rule: Rule, plain: PlainLimits, key: Key,
                 endpoint: str, method: str,
                 identify: Callable[[], str] | None = None) -> None:
        self.rule = rule
        self.key = rule.key or key
        #: What denials by this rule charge: with its key, unless they have one.
        self.metas = [Bound(one, plain, self.key, endpoint, method)
                      for one in rule.metas]
        #: In place of the endpoint, if rules of others do not share the bucket.
        self._identify = None if rule.shared else identify
        self._plain = plain
        self._endpoint = endpoint
        self._path = rule.path
        self._scope = ""
        #: Of a text that is no function.
        self.static: PlainRule | None = None
        if rule.text is not None:
            self._scope = rule.scope_of(
                COMPUTED if self._identify else endpoint, method)
            if isinstance(rule.text, str):
                self.static = plain.rule(rule.text, self._scope)

    def paths(self, keys: dict[Key, Segment]
              ) -> tuple[Sequence[Path], tuple[PlainLimit | None, ...]]:
        """Return the paths of this request, and the plain limit of each.

        `keys` are those known already.
        """
        rule = self.static or self._rule_now()
        if rule is None:
            found = self._tree_paths()
            return found, (None,) * len(found)
        key = keys.get(self.key)
        if key is None:
            key = self.key()
            if not isinstance(key, (str, bytes)):
                raise not_a_segment(f"the key of view {self._endpoint!r}", key,
                                    self.key)
            keys[self.key] = key
        scope = self.rule.scope
        if callable(scope):
            key = joined(str(scope(self._endpoint)), key)
        if self._identify is not None:
            key = joined(self._identify(), key)
        return rule.paths(key), rule.limits

    def _tree_paths(self) -> Sequence[Path]:
        paths_of_request = self.rule.paths
        if paths_of_request is not None:
            return paths_of(paths_of_request(), paths_of_request)
        path = []
        for part in self._path:
            segment = part() if callable(part) else part
            if not isinstance(segment, (str, bytes)):
                raise not_a_segment(f"segment {len(path)} of the path of view "
                                    f"{self._endpoint!r}", segment, part)
            path.append(segment)
        return [path]

    def _rule_now(self) -> PlainRule | None:
        text = self.rule.text
        if text is None:
            return None
        return self._plain.rule(text() if callable(text) else text,
                                self._scope, callable(text))

    def cost(self) -> Cost:
        """Return the cost of this request."""
        cost = self.rule.cost
        return cost() if callable(cost) else cost


@dataclass(frozen=True)
class RequestLimit:
    """One limit, and its state for the current request."""

    path: Path  #: who asked for what: the path of the tree
    level: Level  #: the verdict
    shared: bool  #: whether other endpoints count in the same bucket
    limit: PlainLimit | None  #: None if the limit is one of the tree's
    rule: Rule = field(repr=False, compare=False)
    now: float = field(default_factory=time.time, repr=False,
                       compare=False)

    @property
    def key(self) -> str:
        """The path as one text."""
        return ":".join(part if isinstance(part, str)
                        else part.decode(errors="backslashreplace")
                        for part in self.path)

    @property
    def breached(self) -> bool:
        """Whether this limit denied the request."""
        return self.level.limited and self.level.mode != "shadow"

    @property
    def remaining(self) -> int:
        """The tokens left."""
        return self.level.remaining

    @property
    def reset_at(self) -> int:
        """When the bucket is full again: seconds since 1970, rounded up."""
        return int(self.now + self.level.reset_after) + 1

    @property
    def window(self) -> tuple[int, int]:
        """``(reset_at, remaining)``."""
        return self.reset_at, self.remaining

    def __str__(self) -> str:
        return str(self.limit) if self.limit else self.level.policy
