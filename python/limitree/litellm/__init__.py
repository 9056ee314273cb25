"""Limits for the proxy of LiteLLM: requests, tokens, money, how many at once.

    # config.yaml
    litellm_settings:
      callbacks: ["limitree.litellm.handler"]

``handler`` takes the file of its limits from LIMITREE_LIMITS and the store from
LIMITREE_STORE; ``Handler(...)`` makes another one.  docs/litellm.md has all of
it.  This module needs ``litellm[proxy]`` only when one of the two is used.
"""

from __future__ import annotations

from limitree.litellm.paths import Caller, default_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from limitree.litellm.hooks import Handler

    handler: Handler

__all__ = ["Caller", "Handler", "default_paths", "handler"]

# Hidden from type checkers: for them, any name would be one of the package.
if not TYPE_CHECKING:
    def __getattr__(name: str) -> object:
        if name not in ("Handler", "handler"):
            raise AttributeError(f"module {__name__!r} has no attribute "
                                 f"{name!r}")
        from limitree.litellm.hooks import Handler
        globals()["Handler"] = Handler
        if name == "handler":
            # Made once: all workers of a loop share what it has learnt.
            globals()["handler"] = Handler()
        return globals()[name]
