"""The end of a response, which settles what its request holds."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from typing import Any

from django.http.response import HttpResponseBase

from limitree.response_holds import Holds


def settle_with(response: HttpResponseBase, holds: Holds, is_async: bool
                ) -> None:
    """Settle `holds` when `response` is closed, as servers do at its end."""
    # Django makes responses of errors such as Http404, which say something.
    holds.failed &= response.status_code >= 500
    holds.answer(response, response.streaming)
    end = _End(response, holds)
    if response.streaming:
        stream: Any = response
        if stream.is_async:
            stream.streaming_content = _watched(stream.streaming_content, end)
        elif holds.renews and not is_async:
            stream.streaming_content = _renewing(stream.streaming_content,
                                                 holds)
    # As Django itself does; there is nothing public for it.
    closers: Any = getattr(response, "_resource_closers")
    closers.append(end)


class _End:
    """Called at the end of a response."""

    def __init__(self, response: HttpResponseBase, holds: Holds) -> None:
        self._headers = response.headers
        self._holds = holds

    def __call__(self) -> None:
        self._holds.start(self._headers.items())
        self._holds.end()

    async def awaited(self) -> None:
        """The same on the event loop, if it need not wait for a thread."""
        if self._holds.can_be_awaited:
            self._holds.start(self._headers.items())
            await self._holds.end_awaited()

    def __del__(self) -> None:
        # Nobody closes a response if an outer middleware fails or replaces it,
        # or if the client of an ASGI server is gone.
        if not self._holds:
            return
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self()
            return
        with contextlib.suppress(RuntimeError):  # the process ends
            loop.run_in_executor(None, self)


def _renewing(parts: Iterator[bytes], holds: Holds) -> Iterator[bytes]:
    for part in parts:
        holds.renew()
        yield part


async def _watched(parts: AsyncIterator[bytes], end: _End
                   ) -> AsyncIterator[bytes]:
    """Yield `parts`, and settle if they break: Django does not close then."""
    try:
        async for part in parts:
            yield part
    except Exception:
        await end.awaited()
        raise
