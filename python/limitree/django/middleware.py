"""The middleware: limits for every request, 429 for denied ones, headers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from typing import Any, cast

from asgiref.sync import (
    iscoroutinefunction,
    markcoroutinefunction,
    sync_to_async,
)
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from limitree.django.current import current
from limitree.django.decorators import default_of
from limitree.django.ending import settle_with
from limitree.django.exceptions import Ratelimited
from limitree.django.keys import load_user
from limitree.django.record import Record, begin
from limitree.django.response import (
    add_headers,
    plain_response,
    too_many,
    too_many_awaited,
)
from limitree.errors import ClientGone, LimitExceeded, StoreError
from limitree.functions import run, run_awaited

GetResponse = Callable[[HttpRequest], Any]


class LimitreeMiddleware:
    """Limits all views, under WSGI and under ASGI.

    It asks for DEFAULT and PATHS of LIMITREE before the view is known, and for
    VIEW_DEFAULT before the view runs.  It turns a
    Ratelimited or LimitExceeded of a view into a 429, and a StoreError into a
    503.  It charges deferred costs, and adds the headers to each response, even
    a stream.

    The constructor raises ImproperlyConfigured if the settings are wrong, so a
    server that starts has limits.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response
        self._is_async = iscoroutinefunction(get_response)
        #: Called by Django.
        self.process_view: Callable[..., Any] = self._before_view
        if self._is_async:
            markcoroutinefunction(self)
            self.process_view = self._before_view_awaited
        current()

    def __call__(self, request: HttpRequest
                 ) -> HttpResponseBase | Awaitable[HttpResponseBase]:
        if self._is_async:
            return self._answer_awaited(request)
        record = begin(request, Record(True, self._is_async))
        try:
            response = self._answer(request, record)
        except (ClientGone, StoreError) as error:
            record.holds.denied = True
            response = plain_response(error)
        except BaseException:
            record.holds.failed = True
            record.holds.end()
            raise
        return self._finished(record, response)

    def _finished(self, record: Record, response: Any) -> HttpResponseBase:
        if record.holds:
            settle_with(response, record.holds, self._is_async)
        if record.decisions:
            add_headers(current(), record, response)
        return cast("HttpResponseBase", response)

    def _answer(self, request: HttpRequest, record: Record) -> Any:
        site = current()
        ask = site.ask_of(request)
        if ask is not None:
            decision = ask.authorize(site.limiter)
            record.note(decision, ask, site)
            if decision.limited:
                told = run(site.breached((), request, decision))
                return too_many(site, request, Ratelimited(decision, *told))
            ask.pass_on()
        response = self.get_response(request)
        # The view has done its work, so a 503 would be wrong; the limiter has
        # logged that its store fails.
        with contextlib.suppress(StoreError):
            for place, ask in record.deferred:
                record.charged(place, ask.charge(site.limiter, response))
        if record.denial is not None and response.status_code == 403:
            # It was handled as a permission error, as REST framework does.
            return too_many(site, request,
                            Ratelimited(record.denial, *record.told))
        return _told_by_throttles(record, response)

    async def _answer_awaited(self, request: HttpRequest) -> HttpResponseBase:
        record = begin(request, Record(True, self._is_async))
        record.holds.use_loop()
        try:
            response = await self._ask_awaited(request, record)
        except (ClientGone, StoreError) as error:
            record.holds.denied = True
            response = plain_response(error)
        except BaseException as error:
            # A client that goes away, which cancels, has used something.
            record.holds.failed = isinstance(error, Exception)
            # Behind a view that still runs in the thread of the request.
            await asyncio.shield(sync_to_async(record.holds.end)())
            raise
        return self._finished(record, response)

    async def _ask_awaited(self, request: HttpRequest, record: Record) -> Any:
        site = current()
        if site.requests_need_user:
            await load_user(request)
        ask = site.ask_of(request)
        if ask is not None:
            await ask.settle()
            decision = await ask.authorize(site.awaited)
            record.note(decision, ask, site)
            if decision.limited:
                told = await run_awaited(site.breached((), request, decision))
                return await too_many_awaited(site, request,
                                              Ratelimited(decision, *told))
            ask.pass_on()
        response = await self.get_response(request)
        with contextlib.suppress(StoreError):  # as above
            for place, ask in record.deferred:
                record.charged(place, await ask.charge(
                    site.awaited, response))
        if record.denial is not None and response.status_code == 403:
            return await too_many_awaited(
                site, request, Ratelimited(record.denial, *record.told))
        return _told_by_throttles(record, response)

    def _before_view(self, request: Any, view: Any, args: Any, kwargs: Any
                     ) -> Any:
        site, record = current(), request.limitree
        step = None if site.is_exempt(request) else default_of(site, view)
        if step is None:
            return None
        try:
            denial = step.decide(site, record, request, args, kwargs)
        except (ClientGone, StoreError) as error:
            record.holds.denied = True
            return plain_response(error)
        if denial is None:
            return None
        return too_many(site, request, Ratelimited(denial, *record.told))

    async def _before_view_awaited(self, request: Any, view: Any, args: Any,
                                   kwargs: Any) -> Any:
        site, record = current(), request.limitree
        step = None if site.is_exempt(request) else default_of(site, view)
        if step is None:
            return None
        try:
            denial = await step.decide_awaited(site, record, request, args,
                                               kwargs)
        except (ClientGone, StoreError) as error:
            record.holds.denied = True
            return plain_response(error)
        if denial is None:
            return None
        return await too_many_awaited(site, request,
                                      Ratelimited(denial, *record.told))

    def process_exception(self, request: HttpRequest, error: Exception
                          ) -> HttpResponseBase | None:
        """Turn the exception of a view into a response; called by Django."""
        record: Record = request.limitree  # type: ignore[attr-defined]
        if not isinstance(error, (ClientGone, StoreError, LimitExceeded)):
            record.holds.failed = True
            return None
        record.holds.denied = True
        if not isinstance(error, LimitExceeded):
            return plain_response(error)
        if not any(error.decision is one for one in record.decisions):
            record.decisions.append(error.decision)
        return cast("HttpResponseBase", too_many(current(), request, error))


def _told_by_throttles(record: Record, response: Any) -> Any:
    """Return the response of an on_breach in place of REST framework's."""
    told = record.told[1]
    return told if told is not None and response.status_code == 429 else (
        response)
