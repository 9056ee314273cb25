"""The hooks of LiteLLM's proxy."""

from __future__ import annotations

import asyncio
import contextvars
import os
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger  # type: ignore

from limitree import web
from limitree.aio import AsyncLimiter
from limitree.errors import ConfigError, StoreError, UnknownRoot
from limitree.litellm import estimate
from limitree.litellm.denial import headers_of, refuse
from limitree.litellm.held import Held
from limitree.litellm.need import Need, UnitsOfTree, microdollars
from limitree.litellm.paths import Caller, caller_of, default_paths, segment
from limitree.litellm.prices import Prices, dollars_of, number_of
from limitree.litellm.usage import (
    NOTHING,
    Meter,
    Usage,
    get,
    plus,
    usage_of,
)
from limitree.reservation import AsyncReservation
from limitree.wait import Duration, seconds_of

PathsOf = Callable[[Caller], web.Paths]

# The request of this context.  The hooks after the answer run in copies of the
# context, and share the object.  The id of the call is not enough to find it: a
# client can choose it.
_current: contextvars.ContextVar[Held | None] = contextvars.ContextVar(
    "limitree.litellm", default=None)

# A new kind of unit needs one try, and after a reload all may be new.
_TRIES = 16

_MOST_MODELS = 32  # of one request, each of which has limits

_GONE = 499  # as the proxy says that a client has gone


class Handler(CustomLogger):  # type: ignore[misc]
    """Limits the requests to a proxy of LiteLLM.

    ``limiter`` is an AsyncLimiter; without it, LIMITREE_LIMITS names the file
    of the limits and LIMITREE_STORE the store, and this process decides while
    the store fails.  ``paths`` gets a Caller and returns one path, several, or
    None for a request without limits.  ``hold`` is for how long the units of a
    request are held if the proxy dies; they are held on while it runs.
    ``unknown_output`` is how many tokens the first answer of a model may have,
    if the request does not say it.  With ``headers`` answers say what is left.

    Raises ConfigError if limits are missing or not valid, and what AsyncLimiter
    raises.  All instances belong to the event loop of the proxy.
    """

    def __init__(self, limiter: AsyncLimiter | None = None, *,
                 paths: PathsOf = default_paths, hold: Duration = "10m",
                 unknown_output: int = 1000, headers: bool = True) -> None:
        super().__init__()
        self.limiter = limiter or _limiter_of_environment()
        self._paths = paths
        self._hold = seconds_of(hold, "hold")
        self._headers = headers
        self._learnt = estimate.Learnt(max(1, unknown_output))
        self._prices = Prices()
        self._units = UnitsOfTree()
        if paths is default_paths and not any(map(self._is_root, _ROOTS)):
            raise ConfigError("no top-level name of the limits is one of "
                              + ", ".join(_ROOTS))

    def __init_subclass__(cls) -> None:
        # The proxy skips hooks that a class has inherited: nothing would be
        # limited.
        raise TypeError("Handler has no subclasses: give it functions")

    # ---- Before the request is sent -----------------------------------------

    async def async_pre_call_hook(self, user_api_key_dict: Any, cache: Any,
                                  data: dict[str, Any], call_type: str) -> None:
        """Reserve what the request may take, or raise a 429."""
        if "mcp" in (call_type or ""):
            return  # a tool of a request that counts itself
        caller = caller_of(user_api_key_dict, data)
        if len(caller.models) > _MOST_MODELS:
            raise HTTPException(400, "The request names too many models.")
        await self._forget_first_try(caller, call_type)
        paths = self._paths_of(caller)
        if not paths:
            return
        need = await self._need_of(caller, call_type)
        try:
            reservation = await self._reserve(paths, need)
        except StoreError as error:
            answer = web.unavailable(error)
            raise HTTPException(answer.status, answer.reason,
                                {"Retry-After": "1"}) from None
        if reservation.limited:
            refuse(reservation, ", ".join(caller.models))
        logging = data.get("litellm_logging_obj")
        held = Held(reservation, data.get("litellm_call_id")
                    or get(logging, "litellm_call_id"), need.tokens,
                    self._hold, _current.get())
        held.models = caller.models
        held.call_type = call_type
        held.choices = estimate.choices(data)
        _cap(held, need, data)
        held.logging = logging
        _current.set(held)

    async def async_pre_call_deployment_hook(self, kwargs: dict[str, Any],
                                             call_type: Any) -> None:
        """Note that a provider is asked."""
        held = _find(kwargs)
        if held is not None:
            held.is_sent = True

    async def _forget_first_try(self, caller: Caller, call_type: str) -> None:
        """Cancel what this request has reserved for another model.

        If a callback after this one denies a model, the proxy begins again with
        its fallback, and no hook says so.
        """
        held = _current.get()
        if (held is not None and not held.is_sent
                and held.task is asyncio.current_task()
                and held.call_type == call_type
                and held.models != caller.models):
            await held.end(held.reservation.cancel)

    def _paths_of(self, caller: Caller) -> Sequence[web.Path]:
        paths = web.paths_of(self._paths(caller), self._paths)
        if self._paths is default_paths:
            paths = [path for path in paths if self._is_root(path[0])]
        return [[segment(part) for part in path] for path in paths]

    def _is_root(self, name: Any) -> bool:
        try:
            self.limiter.explain(name)
        except UnknownRoot:
            return False
        except ValueError:
            pass  # only with a name below it
        return True

    async def _need_of(self, caller: Caller, call_type: str) -> Need:
        model = caller.models[0] if caller.models else ""
        before = await asyncio.to_thread(
            estimate.input_tokens, caller.data, model,
            call_type in ("completion", "acompletion"))
        output = 0
        if call_type in estimate.WRITING:
            limit = estimate.output_limit(caller.data)
            if limit is None:
                limit = self._learnt.output(model)
            output = max(1, limit) * estimate.choices(caller.data)
        times = len(caller.models) or 1  # all of them are asked
        before, output = before * times, output * times
        prices = [self._prices.of(model) for model in caller.models
                  if self._units.counts("microdollars")]
        return Need(Usage(before, output, before + output),
                    max(prices, default=(0.0, 0.0), key=sum))

    async def _reserve(self, paths: Sequence[web.Path], need: Need
                       ) -> AsyncReservation:
        for _ in range(_TRIES):
            try:
                reservation = await self.limiter.reserve_all(
                    paths, self._units.named(need.costs()), hold=self._hold,
                    levels=True)
            except ValueError as error:
                if not self._units.learn(error):
                    raise
                continue
            if reservation.limited and need.shrink(reservation.levels or ()):
                continue
            return reservation
        raise ConfigError("the units of the limits change all the time")

    # ---- When there is an answer, or none -----------------------------------

    async def async_post_call_success_deployment_hook(
            self, request_data: dict[str, Any], response: Any, call_type: Any
            ) -> None:
        """Note what the answer took, before another callback may refuse it."""
        held = _find(request_data)
        usage = None if held is None else usage_of(response)
        # Twice for one answer, if LiteLLM translates between two interfaces.
        if held is not None and usage is not None:
            held.answer = max(usage, held.answer or NOTHING)

    async def async_post_call_success_hook(
            self, data: dict[str, Any], user_api_key_dict: Any, response: Any
            ) -> None:
        """Settle by the answer, before the client gets it."""
        held = _find(data)
        if held is None or held.is_streaming:
            return
        if len(held.models) > 1:
            await self._settle(held, *self._sum_of(response, held.models))
            return
        hidden = getattr(response, "_hidden_params", None)
        if get(hidden, "cache_hit") is True:
            await held.end(held.reservation.cancel)
            return
        usage = usage_of(response)
        if usage is None and held.call_type not in estimate.WRITING:
            usage = NOTHING
        await self._settle(held, usage,
                           number_of(get(hidden, "response_cost")))

    async def async_post_call_failure_hook(
            self, request_data: dict[str, Any], original_exception: Exception,
            user_api_key_dict: Any, traceback_str: str | None = None) -> None:
        """Give back what was held, unless a provider has worked for it."""
        held = _find(request_data)
        if held is None:
            return
        if held.answer is not None:  # a callback has refused it
            await self._settle(held, held.answer if len(held.models) < 2
                               else None, None)
        elif _may_have_worked(original_exception):
            await held.end(held.reservation.settle)
        else:
            await held.end(held.reservation.cancel)

    async def async_log_success_event(self, kwargs: dict[str, Any],
                                      response_obj: Any, start_time: Any,
                                      end_time: Any) -> None:
        """Settle a request for which the proxy has run no other hook."""
        held = _find(kwargs)
        if (held is None or held.is_streaming or held.has_ended
                or len(held.models) > 1):  # of which this is one
            return
        if kwargs.get("cache_hit") is True:
            await held.end(held.reservation.cancel)
            return
        await self._settle(held, usage_of(response_obj),
                           number_of(kwargs.get("response_cost")))

    async def async_post_call_streaming_iterator_hook(
            self, user_api_key_dict: Any, response: Any,
            request_data: dict[str, Any]) -> AsyncIterator[Any]:
        """Pass on a stream, and settle when it ends or the client has gone."""
        held = _find(request_data)
        if held is None:
            async for chunk in response:
                yield chunk
            return
        held.is_streaming = True
        meter, is_whole, has_failed = Meter(), False, False
        try:
            async for chunk in response:
                meter.add(chunk)
                yield chunk
            is_whole = True
        except Exception:
            has_failed = True
            raise
        finally:
            held.is_streaming = False
            # The failure hook comes next if there was nothing.
            if not has_failed or meter.events:
                await self._settle_stream(held, meter, is_whole,
                                          get(response, "custom_llm_provider")
                                          == "cached_response")

    async def async_post_call_response_headers_hook(
            self, data: dict[str, Any], user_api_key_dict: Any, response: Any,
            request_headers: dict[str, str] | None = None,
            litellm_call_info: dict[str, Any] | None = None
            ) -> dict[str, str] | None:
        """Say what is left."""
        held = _find(data) if self._headers else None
        return None if held is None else headers_of(held.reservation)

    async def _settle_stream(self, held: Held, meter: Meter, is_whole: bool,
                             is_cached: bool) -> None:
        if is_cached:
            await held.end(held.reservation.cancel)
            return

        async def settle() -> None:
            usage = meter.usage if is_whole else None
            if usage is None:
                usage = await self._usage_so_far(held, meter)
            await self._charge(held, usage, None, learns=is_whole)

        await held.end(settle)

    async def _usage_so_far(self, held: Held, meter: Meter) -> Usage:
        """Return the tokens of a stream that nobody has counted to its end."""
        told = meter.usage or NOTHING
        written = await asyncio.to_thread(
            estimate.text_tokens, "".join(meter.texts), held.model)
        before = told.input or held.estimate.input
        after = max(told.output, written)
        return Usage(before, after, before + after)

    def _sum_of(self, answers: Any, models: tuple[str, ...]
                ) -> tuple[Usage | None, float]:
        """Return what the answers of several models took, None if one lacks.

        If the first to answer wins, nobody knows how far the others came.  The
        models share one object of the call, so LiteLLM's price of an answer may
        be that of another model.
        """
        usages = ([usage_of(answer) for answer in answers]
                  if isinstance(answers, list) else [])
        usage, dollars = NOTHING, 0.0
        if len(usages) != len(models):
            return None, 0.0
        for model, one in zip(models, usages):
            if one is None:
                return None, 0.0
            usage = plus(usage, one)
            dollars += Need(one, self._prices.of(model)).dollars
        return usage, dollars

    async def _settle(self, held: Held, usage: Usage | None,
                      dollars: float | None) -> None:
        if usage is None:
            await held.end(held.reservation.settle)
        else:
            await held.end(lambda: self._charge(held, usage, dollars))

    async def _charge(self, held: Held, usage: Usage, dollars: float | None,
                      learns: bool = True) -> None:
        output = usage.output // held.choices
        if (learns and output < held.cut_at
                and held.call_type in estimate.WRITING):
            self._learnt.add(held.model, output)
        used = {"input_tokens": usage.input, "output_tokens": usage.output,
                "tokens": usage.total, "microdollars": 0}
        if self._units.counts("microdollars") and usage != NOTHING:
            if dollars is None:
                dollars = dollars_of(held.logging, usage)
            if dollars is None:
                dollars = Need(usage, self._prices.of(held.model)).dollars
            used["microdollars"] = microdollars(dollars)
        await held.reservation.settle(self._units.named(used))


_ROOTS = ("key", "user", "team", "organization", "customer", "model")


def _limiter_of_environment() -> AsyncLimiter:
    limits = os.environ.get("LIMITREE_LIMITS")
    if not limits:
        raise ConfigError("there are no limits: set LIMITREE_LIMITS, or make a "
                          "limitree.litellm.Handler")
    return AsyncLimiter(limits, os.environ.get("LIMITREE_STORE")
                        or "memory://", **web.options_of({}))


def _cap(held: Held, need: Need, data: dict[str, Any]) -> None:
    """Note where an answer may be cut, which a limit without room does."""
    if estimate.output_limit(data) is not None:
        held.cut_at = 0  # by a client, whose other answers say nothing, too
    if need.is_shrunk:
        most = max(1, need.tokens.output // (
            held.choices * (len(held.models) or 1)))
        estimate.cap_output(data, held.call_type, most)
        held.cut_at = min(held.cut_at, most)


def _find(data: Any) -> Held | None:
    """Return the request that `data` of a hook is about, if it is limited.

    A tool may ask a model within a request, in the same context.  Routes that
    pass requests through give no id to some hooks.
    """
    held = _current.get()
    call_id = get(data, "litellm_call_id")
    while held is not None and call_id not in (None, held.call_id):
        held = held.outer
    return held


def _may_have_worked(error: BaseException) -> bool:
    """Return whether a provider may have worked until `error`.

    Nobody knows for how long, and a client can choose both: it is charged as
    held.
    """
    import litellm  # type: ignore
    if isinstance(error, HTTPException):
        return error.status_code == _GONE
    return bool(isinstance(error, litellm.Timeout))
