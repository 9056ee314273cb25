"""The response to a denied request, and the headers of every response.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from asgiref.sync import async_to_sync, iscoroutinefunction, sync_to_async
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase

from limitree import web
from limitree.decision import Decision
from limitree.django.record import Record
from limitree.errors import ClientGone, LimitExceeded, StoreError
from limitree.headers import Headers, combined, dated

if TYPE_CHECKING:
    from limitree.django.site import Site


def too_many(site: Site, request: HttpRequest, error: LimitExceeded) -> Any:
    """Return the response to a request that raised `error`.

    VIEW of LIMITREE makes it; without VIEW, it is a 429 with problem+json.
    """
    view = site.conf.view
    response = getattr(error, "response", None)
    if response is not None or view is None:
        return response or plain_response(error)
    if iscoroutinefunction(view):
        view = async_to_sync(view)
    return view(request, error)


async def too_many_awaited(site: Site, request: HttpRequest,
                           error: LimitExceeded) -> Any:
    """The same on the event loop."""
    view = site.conf.view
    response = getattr(error, "response", None)
    if response is not None or view is None:
        return response or plain_response(error)
    if not iscoroutinefunction(view):  # it may wait, as views may
        view = sync_to_async(view)
    return await view(request, error)


def plain_response(error: ClientGone | LimitExceeded | StoreError
                   ) -> HttpResponse:
    """Return the response to a request that was denied, or not decided."""
    answer = web.answer_to(error)
    return HttpResponse(answer.body, status=answer.status,
                        headers=dict(answer.headers))


def add_headers(site: Site, record: Record, response: HttpResponseBase) -> None:
    """Add headers about the decisions to `response`."""
    conf = site.conf
    decisions = record.decisions
    if len(decisions) == 1 and decisions[0].levels is not None:
        pairs = decisions[0].headers(conf.headers, conf.headers_reset)
    elif conf.headers == "ietf" and any(
            one.levels is None for one in decisions):
        pairs = _of_limiters_elsewhere(decisions)
    else:
        pairs = combined(decisions, conf.headers, conf.headers_reset)
    if conf.retry_after == "http-date":
        pairs = dated(pairs, site.limiter.clock)
    headers = response.headers
    for name, value in pairs:
        # If a view ran although it was over a limit, there is nothing to retry.
        if name != "Retry-After" or response.status_code >= 400:
            headers[name] = value


def _of_limiters_elsewhere(decisions: list[Decision]) -> Headers:
    """Return the headers if some decisions do not know their limits."""
    named = [one for one in decisions if one.levels is not None]
    pairs = combined(named) if named else []
    waits = [pair for pair in combined(decisions, "legacy")
             if pair[0] == "Retry-After"]
    return pairs + waits
