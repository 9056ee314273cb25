"""What tokens cost, as LiteLLM knows it."""

from __future__ import annotations

import time
from collections import OrderedDict
from typing import Any

from limitree.litellm.paths import router_of_proxy
from limitree.litellm.usage import Usage

_KEPT = 60.0  # seconds: the router looks at every deployment of a model
_MODELS = 1000


class Prices:
    """The prices of one input and one output token, in dollars."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, tuple[float, tuple[float, float]]] = (
            OrderedDict())

    def of(self, model: str) -> tuple[float, float]:
        """Return those of the most expensive deployment of `model`."""
        now = time.monotonic()
        until, prices = self._known.get(model, (0.0, (0.0, 0.0)))
        if now < until:
            return prices
        prices = _ask(model)
        self._known[model] = now + _KEPT, prices
        self._known.move_to_end(model)
        if len(self._known) > _MODELS:
            self._known.popitem(last=False)
        return prices


def _ask(model: str) -> tuple[float, float]:
    router = router_of_proxy()
    try:
        info = router.get_model_group_info(model_group=model)
        return (info.input_cost_per_token or 0.0,
                info.output_cost_per_token or 0.0)
    except Exception:  # not a model of the router, or of an older LiteLLM
        return 0.0, 0.0


def dollars_of(logging: Any, usage: Usage) -> float | None:
    """Return what LiteLLM takes for these tokens; None if it does not know.

    `logging` is the object of the call, which knows the deployment that has
    answered and its prices.
    """
    import litellm  # type: ignore[import-not-found]
    calculate = (getattr(logging, "response_cost_calculator", None)
                 or getattr(logging, "_response_cost_calculator", None))
    if calculate is None:
        return None
    answer = litellm.ModelResponse(usage=litellm.Usage(
        prompt_tokens=usage.input, completion_tokens=usage.output,
        total_tokens=usage.total))
    try:
        return number_of(calculate(result=answer))
    except Exception:
        return None


def number_of(dollars: Any) -> float | None:
    """Return `dollars` if it is a price."""
    if isinstance(dollars, bool) or not isinstance(dollars, (int, float)):
        return None
    return float(dollars)
