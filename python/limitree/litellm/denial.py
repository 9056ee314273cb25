"""The answer to a request that is denied, as LiteLLM's own limits give it."""

from __future__ import annotations

import math
from typing import Any, NoReturn, cast

from limitree.reservation import AsyncReservation

# The names that clients of OpenAI know, and the unit of each.
_UNITS = {"requests": "request", "tokens": "tokens"}


def headers_of(reservation: AsyncReservation) -> dict[str, str]:
    """Return the headers about the limits of a request."""
    headers = dict(reservation.headers())
    for name, unit in _UNITS.items():
        counted = [level for level in reservation.levels or ()
                   if level.unit == unit and level.mode == "enforce"]
        if not counted:
            continue
        tightest = min(counted, key=lambda level: level.remaining)
        headers |= {
            f"x-ratelimit-limit-{name}": str(tightest.limit),
            f"x-ratelimit-remaining-{name}": str(tightest.remaining),
            f"x-ratelimit-reset-{name}": f"{math.ceil(tightest.reset_after)}s"}
    return headers


def refuse(reservation: AsyncReservation, model: str | None) -> NoReturn:
    """Raise the error that LiteLLM's proxy answers as a 429.

    With this error of its own, the proxy asks the fallbacks of the model.
    """
    problem = reservation.decision.problem()
    # Without the store there may be no levels.
    limits = ", ".join(cast("list[str]", problem.get("violated-policies", [])))
    detail = f"Rate limit exceeded: {limits or model}. {problem['detail']}"
    headers = headers_of(reservation)
    try:
        from litellm.proxy.common_utils import (  # type: ignore
            proxy_rate_limit_error as own,
        )
    except ImportError:  # an older LiteLLM
        from fastapi import HTTPException
        raise HTTPException(429, detail, headers) from None
    raise own.ProxyRateLimitError(detail=detail, headers=headers, model=model,
                                  rate_limit_type=_type_of(reservation))


def _type_of(reservation: AsyncReservation) -> Any:
    """Return what LiteLLM's counters of denials say."""
    units = {level.unit for level in reservation.levels or () if level.limited}
    if units & {"tokens", "input_tokens", "output_tokens"}:
        return "tokens"
    return "requests" if units == {"request"} else None
