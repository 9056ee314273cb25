"""The answers to requests that were denied, or could not be decided."""

from __future__ import annotations

import contextlib
from typing import Any, cast

from starlette.exceptions import HTTPException
from starlette.responses import Response
from starlette.websockets import WebSocket, WebSocketDisconnect

from limitree import web
from limitree.asgi import can_respond, close_code
from limitree.decision import Decision
from limitree.errors import ClientGone, LimitExceeded, StoreError
from limitree.headers import problem


class RateLimitExceeded(HTTPException, LimitExceeded):
    """A request was denied; without your own handler the answer is a 429.

    ``detail`` is the message of the limit, if it has one.
    """

    def __init__(self, decision: Decision, message: str | None = None,
                 response: Response | None = None) -> None:
        HTTPException.__init__(
            self, 429, message or str(problem(decision)["detail"]))
        self.decision = decision
        self.message = message  #: of the limit, or None
        self.response = response  #: of an on_breach, or None


async def rate_limit_exceeded_handler(connection: Any, error: Exception
                                      ) -> Response | None:
    """Answer a denied request: with a 429, or by closing the websocket.

    Others, which could not be decided, get a 503 or a 400.
    """
    answer = web.answer_to(cast("LimitExceeded", error))
    response: Response | None = getattr(error, "response", None)
    if response is None:
        response = Response(answer.body, answer.status, dict(answer.headers))
    if not isinstance(connection, WebSocket):
        return response
    with contextlib.suppress(OSError, WebSocketDisconnect):  # client is gone
        if can_respond(connection.scope):
            await connection.send_denial_response(response)
        else:
            await connection.close(close_code(answer), answer.reason)
    return None


#: For errors of a limiter, unless the application has its own handlers.
HANDLERS: dict[Any, Any] = dict.fromkeys(
    (RateLimitExceeded, LimitExceeded, StoreError, ClientGone),
    rate_limit_exceeded_handler)
