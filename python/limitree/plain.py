"""Limits as text, for decorators: "5/second; 100/hour".

Such a limit becomes a node of the tree, so the same limiter decides it in the
same step as all other limits.  This is for the integrations with web
frameworks, whose decorators take such texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from limitree import _native
from limitree.demand import Segment
from limitree.errors import ConfigError
from limitree.limits import Replace
from limitree.locks import ForkLock

if TYPE_CHECKING:
    from limitree.aio import AsyncLimiter
    from limitree.decision import Level
    from limitree.limiter import Limiter

#: The maximum number of different limits in one PlainLimits.  If texts are
#: computed for each request, a mistake must not fill the memory.
MAX_LIMITS = 10_000

#: Marks the names of buckets whose scope a function returns.  That scope is a
#: part of the key: otherwise each scope would be a new node of the tree.
COMPUTED = "@()"

_WORDS = (("day", 86400), ("hour", 3600), ("minute", 60), ("second", 1))


@dataclass(frozen=True)
class PlainLimit:
    """`count` tokens in `period` seconds, and `burst` of them at once."""

    count: int
    period: float
    burst: int
    #: In keys and policies: "5/1s", "30/1m-burst10", "5/1h-fixed_window".
    name: str

    def __str__(self) -> str:
        """In words: "5 per 1 second"."""
        for word, seconds in _WORDS:
            if self.period % seconds == 0:
                text = f"{self.count} per {self.period // seconds:.0f} {word}"
                break
        else:
            text = f"{self.count} per {self.period:g} seconds"
        if self.burst == self.count:
            return text
        return f"{text} burst {self.burst}"

    @property
    def node(self) -> dict[str, object]:
        """The node of a tree with this limit."""
        return {"limits": text_of_name(self.name)}


def text_of_name(name: str) -> str:
    """Return the text of a limit by its name: "30/1m burst 10"."""
    return name.replace("-burst", " burst ").replace("-", " ")


def joined(first: Segment, key: Segment) -> bytes:
    """Return one key for two keys; different pairs give different keys."""
    one, other = (part.encode("utf-8", "surrogatepass")
                  if isinstance(part, str) else part for part in (first, key))
    return b"%d:%b%b" % (len(one), one, other)


#: The algorithms by the names that Flask-Limiter, slowapi and their library
#: `limits` have for them, and the words for the same counts.
#: A limit with a burst is a token bucket all the same: those have none.
STRATEGIES = {"fixed-window": "fixed_window first",
              "moving-window": "sliding_log",
              "sliding-window-counter": "sliding_tail"}


def algorithm_of(strategy: str | None) -> str:
    """Return the words that a `strategy` puts behind a rate; "" for None.

    It is a name of STRATEGIES, or such words: "gcra", "fixed_window".  Raises
    ConfigError for other texts, TypeError unless it is a str.
    """
    if strategy is None:
        return ""
    if not isinstance(strategy, str):
        raise TypeError("strategy must be a str such as 'fixed-window', not "
                        f"{type(strategy).__name__}")
    words = STRATEGIES.get(strategy, strategy)
    try:
        rates = _native.parse_rates(f"1/s {words}")
    except ConfigError:
        rates = []
    if len(rates) != 1 or not rates[0][4] or rates[0][:3] != (1, 1.0, 1):
        raise ConfigError(
            f"there is no strategy {strategy!r}: known are "
            + ", ".join([*STRATEGIES, "gcra"])
            + ", and the algorithms of a limits.yaml")
    return words


#: The most units of a sliding_log, which keeps an instant for each of them.
_MAX_LOG = 10_000


def _with(algorithm: str, rate: list[Any]) -> list[Any]:
    """Return `rate`, of which no algorithm was said, with this one."""
    count, _, burst, name = rate
    if not algorithm or burst != count:
        return rate
    if algorithm == "sliding_log" and count > _MAX_LOG:
        algorithm = "sliding_window"
    return list(_native.parse_rates(f"{name} {algorithm}")[0][:4])


def parse(text: str, algorithm: str = "") -> list[PlainLimit]:
    """Return the limits in `text` without duplicates.

    The grammar is that of ``limits:`` in a limits.yaml: ``5/second``,
    ``10 per minute``, ``1/5 minutes burst 3``, ``5/second; 100/hour``,
    ``5/minute fixed_window``.  `algorithm`, the result of `algorithm_of`, is
    that of limits which name none and have no burst.  Raises ConfigError for
    other texts, TypeError unless it is a str.
    """
    if not isinstance(text, str):
        raise TypeError("limits must be a str such as '5/second', not "
                        f"{type(text).__name__}")
    limits: dict[PlainLimit, None] = {}
    for *rate, names_one in _native.parse_rates(text):
        limits[PlainLimit(*(rate if names_one
                            else _with(algorithm, rate)))] = None
    return list(limits)


class Ruled(Protocol):
    """The method of both limiters that this module needs."""

    def put(self, name: str, node: Mapping[str, object], *,
            replace: Replace) -> None:
        """See Limiter.put."""


class PlainRule(NamedTuple):
    """Limits of a scope, each with a bucket for each key."""

    root: str
    scope: str
    limits: tuple[PlainLimit, ...]
    tails: tuple[tuple[str, ...], ...]  # of the paths to the limits

    def paths(self, key: Segment) -> list[tuple[Segment, ...]]:
        """Return the paths to the buckets of `key`, one for each limit."""
        root, scope = self.root, self.scope
        return [(root, scope, key, *tail) for tail in self.tails]


def _tails(limits: list[PlainLimit], varies: bool) -> tuple[tuple[str, ...],
                                                            ...]:
    periods: dict[str, int] = {}
    tails: list[tuple[str, ...]] = []
    for limit in limits:
        # Limits share a bucket only if they fill it in the same time: otherwise
        # the faster limit would give back what was charged to the slower one.
        if not varies or limit.burst != limit.count:
            tails.append((limit.name,))
            continue
        period = limit.name.partition("/")[2]
        count = periods[period] = periods.get(period, 0) + 1
        tails.append((period if count == 1 else f"{period}-{count}",
                      limit.name))
    return tuple(tails)


def _below(limits: Mapping[tuple[str, ...], PlainLimit]) -> dict[str, Any]:
    nodes: dict[str, Any] = {}
    for tail, limit in limits.items():
        if len(tail) == 1:
            nodes[tail[0]] = limit.node
        else:
            period = nodes.setdefault(tail[0], {"key": "tier", "children": {}})
            period["children"][tail[1]] = limit.node
    return nodes


class PlainLimits:
    """The plain limits of a program, as nodes of a tree.

    Limits of one scope are at ``<root>:<scope>/*/<name of the limit>``; ``*``
    is the key of a caller.  If a function returns them, they are at
    ``<root>:<scope>/*/<period>/<name of the limit>``, and those of one period
    without a burst share the bucket of a caller.  The names come from the texts
    of the limits, not from the order of imports, so they are the same in all
    processes of a program.

    Rules may be added at any time by any thread; a limiter knows them after
    `update`, which costs nothing if there are no new rules.
    """

    def __init__(self, root: str = "view", strategy: str | None = None,
                 charge: str = "all_or_nothing",
                 empty_exempts: bool = False) -> None:
        self.root = root  #: the top-level name
        self._algorithm = algorithm_of(strategy)
        self._charge = charge
        self._empty_exempts = empty_exempts  # texts of functions
        self._scopes: dict[str, dict[tuple[str, ...], PlainLimit]] = {}
        self._rules: dict[tuple[str, str, bool], PlainRule] = {}
        self._count = 0
        self._lock = ForkLock()
        self._news = True
        self._is_known = False  # to the limiter

    def rule(self, text: str, scope: str, varies: bool = False) -> PlainRule:
        """Return the rule for the limits in `text`, adding it if it is new.

        `scope` names the thing that is limited, such as an endpoint.  With
        `varies` a caller may get other limits in the next request, and then
        still has the same buckets, one for each period; limits with a burst
        have their own.  Raises ConfigError if
        the limits are not valid, ValueError if the scope is empty or has a
        ``*``.
        """
        known = self._rules.get((scope, text, varies))
        if known is not None:
            return known
        if not scope or "*" in scope:
            raise ValueError(f"a scope must be a name without *, is {scope!r}")
        is_exempt = self._empty_exempts and varies and text == ""
        limits = [] if is_exempt else parse(text, self._algorithm)
        rule = PlainRule(self.root, scope, tuple(limits),
                         _tails(limits, varies))
        with self._lock:
            self._add(rule, text)
            self._rules[scope, text, varies] = rule
        return rule

    def _add(self, rule: PlainRule, text: str) -> None:
        of_scope = self._scopes.setdefault(rule.scope, {})
        new = {tail: limit for tail, limit in zip(rule.tails, rule.limits)
               if tail not in of_scope}
        if self._count + len(new) > MAX_LIMITS:
            raise ConfigError(f"{text!r} would be one limit too many: there "
                              f"are {self._count} different ones already")
        of_scope.update(new)
        self._count += len(new)
        self._news |= bool(new)

    @property
    def has_news(self) -> bool:
        """Whether there are rules for `update`."""
        return self._news

    def update(self, limiter: Ruled) -> None:
        """Add new rules to `limiter`, which must always be the same.

        Raises ConfigError if there is a top-level name `root` already.
        """
        if not self._news:
            return
        with self._lock:
            if self._news:
                # Others may have the same limiter: two with one name would
                # lose the limits of the first.
                limiter.put(self.root, self.node(),
                            replace="added" if self._is_known else False)
                self._is_known, self._news = True, False

    def paths_of(self, key: Segment) -> list[tuple[Segment, ...]]:
        """Return the paths to the buckets of a caller, as far as known.

        Without those whose key is made of more than the caller's.
        """
        return list(dict.fromkeys(path for rule in self
                                  if COMPUTED not in rule.scope
                                  for path in rule.paths(key)))

    def levels_of(self, limiter: Limiter, key: Segment) -> list[Level]:
        """Return where a caller stands in all limits of `limiter`."""
        self.update(limiter)
        return [level for path in self.paths_of(key) for level in
                limiter.peek(*path, cost=0, levels=True).levels or ()]

    async def levels_of_awaited(self, limiter: AsyncLimiter, key: Segment
                                ) -> list[Level]:
        """The same on the event loop."""
        self.update(limiter)
        return [level for path in self.paths_of(key) for level in
                (await limiter.peek(*path, cost=0, levels=True)).levels or ()]

    def reset(self, limiter: Limiter, key: Segment) -> None:
        """Forget what a caller has used."""
        self.update(limiter)
        for path in self.paths_of(key):
            limiter.reset(*path)

    async def reset_awaited(self, limiter: AsyncLimiter, key: Segment) -> None:
        """The same on the event loop."""
        self.update(limiter)
        for path in self.paths_of(key):
            await limiter.reset(*path)

    def node(self) -> dict[str, object]:
        """Return the content of the top-level name."""
        if not self._count:
            return {}
        scopes = {scope: {"children": {"*": {"children": _below(limits)}}}
                  for scope, limits in self._scopes.items() if limits}
        node: dict[str, object] = {"children": scopes}
        if self._charge != "all_or_nothing":
            node["charge"] = self._charge
        return node

    def __iter__(self) -> Iterator[PlainRule]:
        return iter(list(self._rules.values()))

    def __len__(self) -> int:
        return len(self._rules)
