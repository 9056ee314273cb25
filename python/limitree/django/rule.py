"""The limits of a view: paths of the tree, or rates."""

from __future__ import annotations

import functools
import re
import weakref
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, Union, cast

from django.http import HttpRequest
from django.utils.module_loading import import_string

from limitree.demand import Cost, CostOf, Segment
from limitree.django import keys
from limitree.path_costs import (
    DeductWhen,
    PathCosts,
    not_a_path,
    segment_of,
)
from limitree.plain import PlainLimits
from limitree.rate_limit import Breach
from limitree.response_holds import Reserve, reserve_of
from limitree.web import methods_of, named, path_text

#: For ``method=``, as django-ratelimit has them.
ALL = None
UNSAFE = ("DELETE", "PATCH", "POST", "PUT")

#: A segment, or a function that gets the arguments of the view.
Part = Union[Segment, Callable[..., Any]]
#: A text, or (count, seconds) as django-ratelimit takes it.
RateText = Union[str, tuple[int, int]]
PathOf = Union[Sequence[Part], Callable[..., Union[Sequence[Any], None]]]
#: Like keys.ip, a function of the group and the request, or its dotted path.
Key = Union[str, Callable[..., Any]]
RateOf = Union[RateText, Callable[..., Union[RateText, None]]]

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    _P = ParamSpec("_P")
    _R = TypeVar("_R", covariant=True)

    class _WithMethods(Protocol[_P, _R]):
        """A function that has ALL and UNSAFE, as in django-ratelimit."""

        ALL: None
        UNSAFE: tuple[str, ...]

        def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...


def with_methods(function: Callable[_P, _R]) -> _WithMethods[_P, _R]:
    """Give a function the attributes ALL and UNSAFE."""
    setattr(function, "ALL", ALL)
    setattr(function, "UNSAFE", UNSAFE)
    return cast("_WithMethods[_P, _R]", function)


#: A rate of django-ratelimit that allows nothing, or one of several: "0/s".
NOTHING = re.compile(r"(?:^|(?<=;))\s*0+\s*/")

#: The name of the rules for every request in messages.
PATHS = "LIMITREE['PATHS']"

_KEYS = {"ip": keys.ip, "user": keys.user, "user_or_ip": keys.user_or_ip}
_KEY_MAKERS = {"get": keys.get, "post": keys.post, "header": keys.header}


class Site(Protocol):
    """The part of limitree.django.site.Site that a rule needs."""

    key: Callable[..., Any]

    def client_ip(self, request: HttpRequest) -> str:
        """Return the address of the client."""

    def put_rate(self, ask: PathCosts, scope: str, rate: RateText, key: Any,
                 cost: Cost, varies: bool = False) -> None:
        """Add the limits of `rate`, counted by `scope`, to `ask`."""


class Rule:
    """One limit or path of limits, for the requests of some views."""

    def __init__(self, path: PathOf, *, group: str | None = None,
                 key: Key | None = None, rate: RateOf | None = None,
                 method: str | Collection[str] | None = ALL,
                 block: bool = True, cost: CostOf = 1,
                 deduct_when: DeductWhen | None = None,
                 reserve: Reserve = False,
                 exempt_when: Callable[..., Any] | None = None,
                 on_breach: Breach | None = None,
                 error_message: str | Callable[[], str] | None = None) -> None:
        self.reserve = reserve_of(reserve)
        if rate is None:
            if key is not None or group is not None:
                raise TypeError("a key and a group are for a rate: "
                                'ratelimit(key="ip", rate="5/m")')
            check_path(path)
        elif path:
            raise TypeError("a path of the tree and a rate exclude each other")
        elif self.reserve:
            raise TypeError("reserve is for a path of the tree: a rate holds "
                            "nothing")
        if group is not None and (not group or "*" in group):
            raise ValueError(f"a group must be a name without *, is {group!r}")
        #: Segments, or one function that returns the path, or None for none.
        self.path = path if callable(path) else tuple(path)
        self.group = group
        self.rate = _rate_function(rate)
        self.methods = methods_of(method)
        self._of_methods = "" if method is None else _written(method)
        self.block = block
        self.cost = cost
        self.deduct_when = deduct_when
        self.exempt_when = exempt_when
        self.on_breach = on_breach
        self.error_message = error_message
        self.key = None if key is None else key_function(key)

    def scope_of(self, group: str) -> str:
        """Return the name by which a rate is counted: views of one group share
        it, unless their rates are for different methods."""
        return group + self._of_methods

    def needs_user(self, site: Site) -> bool:
        """Whether the path depends on ``request.user``."""
        parts: Iterable[object] = (self.key or site.key,)
        if self.rate is None:
            parts = (self.path,) if callable(self.path) else self.path
        return any(getattr(part, "needs_user", False) for part in parts)

    def put(self, ask: PathCosts, site: Site, group: str, request: HttpRequest,
            args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Add the paths of `request` to `ask`, if the rule applies to it.

        Results of async key functions are not awaited yet.
        """
        if self.methods is not None and request.method not in self.methods:
            return
        if self.exempt_when is not None and self.exempt_when(request, *args,
                                                             **kwargs):
            return
        cost = (self.cost(request, *args, **kwargs) if callable(self.cost)
                else self.cost)
        rate: Any = self.rate
        if rate is None:
            path = self._path_of_tree(group, request, args, kwargs)
            if path is not None:
                ask.add(path, cost)
            return
        if callable(rate):
            rate = rate(group, request)
            if rate is None:
                return
        site.put_rate(ask, self.scope_of(group), rate,
                      self._caller(site, group, request), cost,
                      callable(self.rate))

    def _caller(self, site: Site, group: str, request: HttpRequest) -> Any:
        key = self.key or site.key
        if key is keys.ip:  # the most frequent key
            return site.client_ip(request)
        found = (key(request) if getattr(key, "of_request", False)
                 else key(group, request))
        return segment_of(found, key, _place(group))

    def _path_of_tree(self, group: str, request: HttpRequest,
                      args: tuple[Any, ...], kwargs: dict[str, Any]
                      ) -> list[Any] | None:
        where = _place(group)
        if callable(self.path):
            found = self.path(request, *args, **kwargs)
            if isinstance(found, (str, bytes)):
                raise not_a_path(where, self.path)
            return None if found is None else [
                segment_of(one, self.path, where) for one in found]
        return [segment_of(part(request, *args, **kwargs), part, where)
                if callable(part) else part for part in self.path]


def _written(method: str | Collection[str]) -> str:
    """Return the part of a bucket's name that names its methods: those that
    were given, without the HEAD that GET implies."""
    written = (method,) if isinstance(method, str) else method
    return "@" + ",".join(sorted({one.upper() for one in written}))


def _place(group: str) -> str:
    """Return where a rule is, for messages."""
    return f"{group or PATHS}: "


#: The rules of all decorated views, each with the groups by which it is
#: counted: for the system checks and `manage.py limitree`.
known: weakref.WeakKeyDictionary[Rule, set[str]] = weakref.WeakKeyDictionary()


def check_path(path: Any) -> Any:
    """Return `path`; raises TypeError if it cannot be a path of the tree."""
    if callable(path):
        return path
    if not isinstance(path, (list, tuple)) or not path:
        raise TypeError('must be a path such as ("ip", keys.ip) or a rate such '
                        'as rate="5/m"')
    for part in path:
        if not isinstance(part, (str, bytes)) and not callable(part):
            raise TypeError("a path is made of texts and functions, there is a "
                            f"{type(part).__name__} in it")
    return path


def key_function(key: Key) -> Callable[..., Any]:
    """Return the function of `key`.

    Raises TypeError or ValueError if there is none.  A dotted path is imported
    when the function is first needed.
    """
    if callable(key):
        return key
    if not isinstance(key, str):
        raise TypeError("a key must be a text or a function, not "
                        f"{type(key).__name__}")
    if key in _KEYS:
        return _KEYS[key]
    kind, colon, name = key.partition(":")
    if colon and name and kind in _KEY_MAKERS:
        return _KEY_MAKERS[kind](name)
    if "." in key and not colon:
        return _Imported(key)
    raise ValueError(f"no such key {key!r}: there are ip, user, user_or_ip, "
                     "get:x, post:x, header:x and where a function lies")


class _Imported:
    """A function by its dotted path, imported when it is first needed."""

    def __init__(self, path: str) -> None:
        self._path = path

    @functools.cached_property
    def _function(self) -> Callable[..., Any]:
        return cast("Callable[..., Any]", import_string(self._path))

    @property
    def needs_user(self) -> bool:
        return getattr(self._function, "needs_user", False)

    @property
    def of_request(self) -> bool:
        return getattr(self._function, "of_request", False)

    def __call__(self, *args: Any) -> Any:
        return self._function(*args)


def check_rate(rate: Any) -> Any:
    """Return `rate`; raises ConfigError or TypeError if it is not valid."""
    PlainLimits().rule(NOTHING.sub("1/", text_of_rate(rate)), "any")
    return rate


def text_of_rate(rate: Any) -> str:
    """Return a rate as text; it may be (count, seconds)."""
    if isinstance(rate, tuple) and len(rate) == 2:
        return f"{rate[0]}/{rate[1]}"
    if not isinstance(rate, str):
        raise TypeError('a rate must be a text such as "5/m", not '
                        f"{type(rate).__name__}")
    return rate


def _rate_function(rate: RateOf | None) -> RateOf | None:
    if rate is None or callable(rate):
        return rate
    if isinstance(rate, str) and "." in rate:
        return _Imported(rate)
    check_rate(rate)
    return rate


def describe(rule: Rule) -> str:
    """Return a rule in words, for lists of limits."""
    if rule.rate is not None:
        text = (f"{named(rule.rate)}()" if callable(rule.rate)
                else text_of_rate(rule.rate))
    else:
        text = path_text(rule.path)
    if rule.methods is not None:
        text += f" ({', '.join(sorted(rule.methods))})"
    return text
