"""The extension, with the arguments and the defaults of slowapi."""

from __future__ import annotations

import asyncio
import copy
import functools
import inspect
import logging
import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, cast

from anyio import from_thread
from starlette.config import Config
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response
from starlette.websockets import WebSocket

from limitree import denials
from limitree.decision import Decision
from limitree.errors import StoreError
from limitree.headers import Headers
from limitree.lifespan import LimiterLifespan
from limitree.limits import NO_LIMITS, of_redis_py
from limitree.plain import PlainLimit, PlainLimits, parse, text_of_name
from limitree.rate_limit import Step
from limitree.record import Record
from limitree.site import RouteLimit
from limitree.slowapi.errors import RateLimitExceeded
from limitree.starlette import extension
from limitree.starlette.scope import Connection

__all__ = ["Limiter", "_rate_limit_exceeded_handler"]

_MARK = "_limitree_slowapi"
_NAMES = {"X-RateLimit-Limit": "RATELIMIT_HEADER_LIMIT",
          "X-RateLimit-Remaining": "RATELIMIT_HEADER_REMAINING",
          "X-RateLimit-Reset": "RATELIMIT_HEADER_RESET",
          "Retry-After": "RATELIMIT_HEADER_RETRY_AFTER"}


class _Mark:
    """The limits on one function; other decorators copy the attribute."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.limits: list[RouteLimit] = []
        self.overrides = False


class _Told:
    """The decisions about a request: ``request.state.view_rate_limit``."""

    def __init__(self, record: Record, is_reported: bool) -> None:
        self.record = record
        self.is_reported = is_reported  # by a middleware


class Limiter(extension.Limiter):
    """Limits the requests of Starlette and FastAPI applications.

    Limits without a strategy count in fixed windows, for each URL unless
    ``key_style`` is "endpoint", and there are no headers without
    ``headers_enabled``.  The limits of decorators are decided when their
    function is called, all those of one function in one step.  Settings
    RATELIMIT_* are read from the environment, and from the file
    ``config_filename`` or ".env".  Other ``options`` are those of
    limitree.AsyncLimiter.
    """

    def __init__(self, key_func: Callable[..., Any],
                 default_limits: Iterable[Any] = (),
                 application_limits: Iterable[Any] = (),
                 headers_enabled: bool = False, strategy: str | None = None,
                 storage_uri: str | None = None,
                 storage_options: Mapping[str, Any] | None = None,
                 auto_check: bool = True, swallow_errors: bool = False,
                 in_memory_fallback: Iterable[Any] = (),
                 in_memory_fallback_enabled: bool = False,
                 retry_after: str | None = None, key_prefix: str = "",
                 enabled: bool = True, config_filename: str | None = None,
                 key_style: str = "url", **options: Any) -> None:
        config = _config(config_filename)
        if key_style not in ("url", "endpoint"):
            raise ValueError(f"key_style must be url or endpoint, is "
                             f"{key_style!r}")
        swallow_errors = config("RATELIMIT_SWALLOW_ERRORS", bool,
                                swallow_errors)
        falls_back = config("RATELIMIT_IN_MEMORY_FALLBACK_ENABLED", bool, False)
        spare = _texts(in_memory_fallback) or _texts(
            config("RATELIMIT_IN_MEMORY_FALLBACK", default=None))
        options = {**of_redis_py(storage_options or {}), **options}
        if spare:
            options.setdefault("on_store_error", "raise")
        elif swallow_errors and not in_memory_fallback_enabled | falls_back:
            options.setdefault("on_store_error", "allow")
        prefix = key_prefix or config("RATELIMIT_KEY_PREFIX", default="")
        if prefix:
            options.setdefault("prefix", prefix)
        strategy = strategy or config("RATELIMIT_STRATEGY",
                                      default="fixed-window")
        has_headers = headers_enabled or config("RATELIMIT_HEADERS_ENABLED",
                                                bool, False)
        self._by: Any = "path" if key_style == "url" else "route"
        self._auto_check = auto_check
        self._names = {usual: config(name, default=usual)
                       for usual, name in _NAMES.items()}
        super().__init__(
            key_func, strategy=strategy,
            store=storage_uri or config("RATELIMIT_STORAGE_URL",
                                        default="memory://"),
            default_limits=_texts(default_limits) or _texts(
                config("RATELIMIT_DEFAULT", default=None)),
            application_limits=_texts(application_limits) or _texts(
                config("RATELIMIT_APPLICATION", default=None)),
            headers="legacy" if has_headers else "none", reset="epoch",
            retry_after=cast(Any, retry_after or config(
                "RATELIMIT_HEADER_RETRY_AFTER_VALUE", default="delta-seconds")),
            enabled=config("RATELIMIT_ENABLED", bool, enabled), **options)
        #: What decides while the store fails.
        self._spare: Limiter | None = None
        if spare:
            self._spare = self._with(spare, strategy, options.get("clock"))

    def _with(self, texts: list[Any], strategy: str, clock: Any) -> Limiter:
        """Return a limiter of all routes by these limits, in memory."""
        made = copy.copy(self)
        made.plain = PlainLimits(strategy=strategy, root="route")
        made._lifespan = LimiterLifespan(NO_LIMITS, "memory://",
                                         {"clock": clock})
        made._everywhere = [self._limit(text) for text in texts]
        return made

    @property
    def logger(self) -> logging.Logger:
        """Gets a record for each denial, at most ten in a second."""
        return denials.logger

    def reset(self) -> None:  # type: ignore[override]
        """Forget all buckets, which are in this process.

        Raises RuntimeError for those in a store.
        """
        self._lifespan.forget()

    # ---- Decorators ---------------------------------------------------------

    def _limit(self, *limits: Any, **options: Any) -> RouteLimit:
        if options.get("scope") is None:
            options.setdefault("by", self._by)
        return super()._limit(*limits, **options)

    def _decorator(self, limit: RouteLimit, override_defaults: bool
                   ) -> Callable[[Any], Any]:
        def put(function: Any) -> Any:
            mark: _Mark | None = getattr(function, _MARK, None)
            if mark is None or mark.function is not function:
                function = self._limited(function)
                mark = getattr(function, _MARK)
            assert mark is not None
            mark.limits.insert(0, limit)
            mark.overrides |= override_defaults
            return function
        return put

    def _limited(self, function: Any) -> Any:
        place, name = _place_of(function)

        def connection_of(args: Any, kwargs: Any) -> HTTPConnection:
            found = kwargs.get(name, args[place] if place < len(args) else None)
            kind = WebSocket if name == "websocket" else Request
            if not isinstance(found, kind):
                raise TypeError(f"parameter `{name}` must be an instance of "
                                f"{kind.__module__}.{kind.__name__}")
            return found

        if inspect.iscoroutinefunction(function):
            @functools.wraps(function)
            async def limited(*args: Any, **kwargs: Any) -> Any:
                connection = connection_of(args, kwargs)
                await self._decide(connection, mark)
                return self._reported(connection, kwargs,
                                      await function(*args, **kwargs))
        else:
            @functools.wraps(function)
            def limited(*args: Any, **kwargs: Any) -> Any:
                connection = connection_of(args, kwargs)
                if self.enabled:
                    self._decide_sync(connection, mark)
                return self._reported(connection, kwargs,
                                      function(*args, **kwargs))
        mark = _Mark(limited)
        setattr(limited, _MARK, mark)
        return limited

    # ---- Requests -----------------------------------------------------------

    def limits_of(self, endpoint: Any, method: str) -> list[RouteLimit]:
        """Return the limits that the middleware decides."""
        if not self._auto_check or hasattr(endpoint, _MARK):
            return []
        return super().limits_of(endpoint, method)

    async def _decide(self, connection: HTTPConnection, mark: _Mark) -> None:
        """Decide the limits of a function that is called."""
        if self.enabled and self._auto_check:
            endpoint = connection.scope.get("endpoint")
            await self.ask([
                *(one for one in self._everywhere if one.applies_to(endpoint)
                  and not (one.is_default and mark.overrides)), *mark.limits],
                connection, Connection(connection.scope))

    def _decide_sync(self, connection: HTTPConnection, mark: _Mark) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            from_thread.run(self._decide, connection, mark)
            return
        raise RuntimeError(f"{mark.function.__qualname__} would block the event"
                           " loop: make it async, or call it in a thread")

    async def authorize(self, connection: HTTPConnection, step: Step) -> Any:
        """Return the Decision on `step`, as limitree.starlette.Limiter."""
        scope = connection.scope
        told = getattr(connection.state, "view_rate_limit", None)
        if told is None:
            is_reported = "limitree" in scope
            record = scope.setdefault("limitree", Record())
            told = _Told(record, is_reported)
            connection.state.view_rate_limit = told
        try:
            return await super().authorize(connection, step)
        except StoreError:
            if self._spare is None:
                raise
            return await self._spare.ask(self._spare._everywhere, connection,
                                         Connection(scope))

    def exceeded(self, decision: Decision, step: Step, message: str | None,
                 response: Any) -> RateLimitExceeded:
        """Return the error of a request that was denied."""
        return RateLimitExceeded(decision, _denying(decision, step), message,
                                 response)

    def _headers_of(self, decisions: list[Decision]) -> Headers:
        found = self._headers.headers(
            decisions, self.limiter._limiter.clock, always=True)
        return [(self._names.get(name, name), value) for name, value in found]

    def _reported(self, connection: HTTPConnection, kwargs: Mapping[str, Any],
                  result: Any) -> Any:
        """Return `result`, with the headers that no middleware adds."""
        told = getattr(connection.state, "view_rate_limit", None)
        if told is None or told.is_reported or self._headers.style == "none":
            return result
        self._inject_headers(result if isinstance(result, Response)
                             else kwargs.get("response"), told)
        return result

    def _inject_headers(self, response: Any, told: _Told | None) -> Any:
        """Add headers to `response`, for exception handlers of applications.

        `told` is ``request.state.view_rate_limit``.
        """
        if (told is not None and not told.is_reported
                and told.record.decisions):
            if not isinstance(response, Response):
                raise TypeError("parameter `response` must be an instance of "
                                "starlette.responses.Response")
            for name, value in self._headers_of(told.record.decisions):
                if name != "Retry-After" or name not in response.headers:
                    response.headers[name] = value
        return response


def _rate_limit_exceeded_handler(request: Request, exc: Exception) -> Response:
    """Answer a denied request: a 429 that says in JSON which limit it was.

    ``exc`` is a RateLimitExceeded; the type is what Starlette calls it.
    """
    detail = cast(RateLimitExceeded, exc).detail
    response = JSONResponse({"error": f"Rate limit exceeded: {detail}"},
                            status_code=429)
    told = getattr(request.state, "view_rate_limit", None)
    request.app.state.limiter._inject_headers(response, told)
    return response


def _config(name: str | None) -> Config:
    if name is None and not os.path.isfile(".env"):
        return Config()
    return Config(name or ".env")


def _texts(found: Any) -> list[Any]:
    """Return limits, each a text or a function, in a list."""
    if found is None:
        return []
    return [found] if isinstance(found, str) or callable(found) else list(found)


def _place_of(function: Any) -> tuple[int, str]:
    """Return which parameter of `function` is the request, and its name."""
    for place, name in enumerate(inspect.signature(function).parameters):
        if name in ("request", "websocket"):
            return place, name
    raise TypeError('No "request" or "websocket" argument on function '
                    f'"{function}"')


def _denying(decision: Decision, step: Step) -> PlainLimit | None:
    """Return the limit that denies, if it is one in words."""
    for level in decision.levels or ():
        if level.limited and level.mode != "shadow":
            path = step.ask.paths[level.path]
            if path[0] == "route":
                return parse(text_of_name(path[-1]))[0]
    return None
