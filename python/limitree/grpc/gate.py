"""What both interceptors have in common: who calls, and what is limited."""

from __future__ import annotations

import urllib.parse
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Union

import grpc

from limitree.aio import AsyncLimiter
from limitree.clients import ClientIp, client_ip
from limitree.decision import Decision
from limitree.demand import Cost
from limitree.errors import StoreError
from limitree.functions import Asking
from limitree.grpc.trailers import Trailers, trailers_of
from limitree.headers import Style, check_style, problem
from limitree.limiter import Limiter
from limitree.limits import Limits
from limitree.plain import PlainLimits
from limitree.rate_limit import Breach, RateLimit, Step
from limitree.response_holds import Holds, Reserve, reserve_of
from limitree.web import is_one_of, paths_of

Metadata = Mapping[str, Union[str, bytes]]


class Call:
    """A call that begins.

    ``method`` is ``"/package.Service/Method"``, ``metadata`` what the client
    has sent; texts of the same name are joined by ", ".  ``peer`` is the
    address of the connection as gRPC writes it: ``"ipv4:127.0.0.1:50051"``.
    ``context`` is the ServicerContext.
    """

    def __init__(self, method: str, context: Any) -> None:
        self.method = method
        self.context = context
        self.peer: str = context.peer()
        metadata: dict[str, str | bytes] = {}
        for name, value in context.invocation_metadata() or ():
            before = metadata.get(name)
            metadata[name] = (f"{before}, {value}" if isinstance(before, str)
                              else value)
        self.metadata: Metadata = metadata

    @property
    def address(self) -> str | None:
        """The address in `peer`, None if it has none, as on a Unix socket."""
        kind, _, rest = self.peer.partition(":")
        if kind not in ("ipv4", "ipv6"):
            return None
        host = urllib.parse.unquote(rest).rpartition(":")[0]
        return host.strip("[]")


class Ended(NamedTuple):
    """How a call has ended, for functions that say what it costs."""

    code: grpc.StatusCode


class _Method(NamedTuple):
    """The method of a call, as a Where."""

    url: str
    method: str = "RPC"

    def route(self, method: str | None = None) -> str:
        return self.url.lstrip("/").replace("*", "%2A")


class Refusal(NamedTuple):
    """How a call that must not go on is ended."""

    code: grpc.StatusCode
    details: str
    trailers: Trailers


def refusal_of(error: StoreError) -> Refusal:
    """Return the answer where the store could not decide."""
    return Refusal(grpc.StatusCode.UNAVAILABLE, "the limits are not known",
                   (("retry-after", "1"),))


class CallRateLimit(RateLimit):
    """A RateLimit whose functions get a Call."""

    @classmethod
    def key_function(cls, key: Any) -> Callable[..., Any]:
        """Return a function that finds the caller."""
        if isinstance(key, ClientIp):
            return lambda call: key(call.address, call.metadata.get(key.header))
        return super().key_function(key)


class Gate:
    """The limits before the methods of a server.

    ``limits``, ``store`` and ``options`` make a limiter, or ``limits`` is one,
    which stays open.  ``path`` is a function of the Call that returns a path of
    the tree, a list of paths, or None for a call without limits.  ``rules`` are
    RateLimits, decided in the same step; their functions get the Call, and a
    text counts for each method, unless it has ``by="app"`` or a ``scope``.
    ``at`` is the name of a method, ``"/package.Service/*"`` all of a service.
    ``key`` identifies the caller of texts, by default the address of the peer;
    ``strategy`` is the algorithm of texts that name none.  ``cost`` is a
    number, a dict of units, or a function of the Call.  With ``reserve``,
    limits with ``hold`` or ``concurrent`` are held until the call has ended; a
    duration is the hold.  ``exclude`` are names of methods without limits.
    ``on_breach`` is called for each denial, with the Call and the Decision.

    A denied call ends with RESOURCE_EXHAUSTED, one that the store could not
    decide with UNAVAILABLE.  The trailing metadata of a denial has the headers
    of `headers`, ``grpc-retry-pushback-ms``, and a google.rpc.RetryInfo in
    ``grpc-status-details-bin``.
    """

    def __init__(self, limits: Limits | Limiter | AsyncLimiter | None = None,
                 store: str | None = None, *,
                 path: Callable[[Call], Any] | None = None,
                 rules: Iterable[RateLimit] = (),
                 key: Callable[..., Any] | ClientIp | None = None,
                 strategy: str | None = None,
                 cost: Cost | Callable[[Call], Any] = 1,
                 reserve: Reserve = False, exclude: Iterable[str] = (),
                 headers: Style = "ietf", on_breach: Breach | None = None,
                 **options: Any) -> None:
        self._rules = list(rules)
        if path is None and not self._rules:
            raise TypeError("the interceptor needs a path, rules, or both")
        check_style(headers, "delta")
        self._path = path
        self._cost = cost
        self._reserve = reserve_of(reserve)
        self._style: Style = headers
        self._is_excluded = is_one_of(exclude)
        self.plain = PlainLimits("rpc", strategy)
        self.key = CallRateLimit.key_function(key or client_ip())
        self.on_breach = on_breach
        limiter = self._open(limits, store, options)
        for rule in self._rules:
            rule.check(limiter, "rules")
        if self._rules:
            self._update()

    def _open(self, limits: Any, store: str | None, options: dict[str, Any]
              ) -> Limiter:
        """Set the limiter that is asked; return it as one for threads."""
        raise NotImplementedError

    def _update(self) -> None:
        """Tell the limiter of new texts."""
        raise NotImplementedError

    def _asking(self, step: Step, call: Call) -> Asking:
        """Put what a call is charged on into `step`."""
        if self._path is not None:
            found = paths_of((yield self._path(call)), self._path)
            if found:
                cost = self._cost
                if callable(cost):
                    cost = yield cost(call)
                step.ask.paths = list(found)
                step.ask.costs = [cost] * len(step.ask.paths)
                step.ask.defer(0, None, self._reserve)
        yield from step.asking(self._rules, self, call, _Method(call.method))

    def _refusing(self, step: Step, call: Call, decision: Decision) -> Asking:
        """Call on_breach, and return the Refusal."""
        _, message = yield from step.answering(self, call, decision)
        details = message or str(problem(decision)["detail"])
        return Refusal(grpc.StatusCode.RESOURCE_EXHAUSTED, details,
                       trailers_of(decision, details, self._style))


def ended(context: Any, failed: bool) -> Ended:
    """Return how a call has ended, as far as its handler knows."""
    code = context.code()
    if not isinstance(code, grpc.StatusCode):  # a number, or None
        code = next((one for one in grpc.StatusCode
                     if one.value[0] == (code or 0)), grpc.StatusCode.OK)
    if failed and code is grpc.StatusCode.OK:
        code = grpc.StatusCode.UNKNOWN
    return Ended(code)


def used_nothing(holds: Holds, context: Any) -> bool:
    """Whether a call that has raised an error has got nothing: no message and
    no status of its handler, and its client has not gone away."""
    if holds.started or ended(context, False).code is not grpc.StatusCode.OK:
        return False
    is_active = getattr(context, "is_active", None)
    return is_active is None or bool(is_active())


def with_behavior(handler: Any, behavior: Any) -> Any:
    """Return `handler` with another function for its calls."""
    make = {(False, False): grpc.unary_unary_rpc_method_handler,
            (False, True): grpc.unary_stream_rpc_method_handler,
            (True, False): grpc.stream_unary_rpc_method_handler,
            (True, True): grpc.stream_stream_rpc_method_handler}[
        bool(handler.request_streaming), bool(handler.response_streaming)]
    return make(behavior, handler.request_deserializer,
                handler.response_serializer)


def behavior_of(handler: Any) -> Any:
    """Return the function for the calls of `handler`."""
    return getattr(handler, "_".join(
        "stream" if streams else "unary" for streams in (
            handler.request_streaming, handler.response_streaming)))
