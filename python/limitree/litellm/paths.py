"""Whom a request of LiteLLM's proxy counts for."""

from __future__ import annotations

from typing import Any, NamedTuple

from limitree.demand import Segment

_MAX_SEGMENT = 4096  # a longer name is one of an attacker


class Caller(NamedTuple):
    """What is known of a request; None for what it does not have."""

    key: str | None  #: the hash of the virtual key
    user: str | None  #: the owner of the key
    team: str | None
    organization: str | None
    customer: str | None  #: the `user` of the body: the end user
    models: tuple[str, ...]  #: their public names, without aliases; mostly one
    data: dict[str, Any]  #: the body of the request
    auth: Any  #: LiteLLM's UserAPIKeyAuth


def default_paths(caller: Caller) -> list[tuple[Segment, ...]]:
    """Return the paths of a request.

    A path whose first name is not in the limits does not count.
    """
    whole: list[tuple[Segment, ...]] = [
        (root, name) for root, name in (
            ("key", caller.key), ("user", caller.user), ("team", caller.team),
            ("organization", caller.organization),
            ("customer", caller.customer)) if name]
    if caller.team and caller.user:
        whole.append(("team", caller.team, "user", caller.user))
    if not caller.models:
        return whole
    return [(*path, "model", model) for model in caller.models
            for path in (*whole, ())]


def caller_of(auth: Any, data: dict[str, Any]) -> Caller:
    """Return the caller of a request that LiteLLM has let in."""
    model = data.get("model")
    # "a,b" asks both, and "a,a" twice.
    names = model.split(",") if isinstance(model, str) else []
    models = [_name(group_of(name.strip())) for name in names]
    return Caller(_name(getattr(auth, "api_key", None)),
                  _name(getattr(auth, "user_id", None)),
                  _name(getattr(auth, "team_id", None)),
                  _name(getattr(auth, "org_id", None)),
                  _name(getattr(auth, "end_user_id", None)),
                  tuple(name for name in models if name), data, auth)


def group_of(model: str) -> object:
    """Return the public name of `model`.

    A client may also name an alias, or the id of a deployment: each would be a
    way around the limits of the model.
    """
    router = router_of_proxy()
    if router is None:
        return model
    alias = (getattr(router, "model_group_alias", None) or {}).get(model)
    if isinstance(alias, dict):
        alias = alias.get("model")
    if isinstance(alias, str):
        return alias
    deployment = router.get_deployment(model_id=model)
    return model if deployment is None else deployment.model_name


def router_of_proxy() -> Any:
    """Return the router of the proxy, or None before there is one."""
    import sys
    proxy = sys.modules.get("litellm.proxy.proxy_server")
    return getattr(proxy, "llm_router", None)


def segment(name: Segment) -> Segment:
    """Return `name` in a form that any text has: JSON may hold half a pair."""
    if isinstance(name, str):
        return name.encode("utf-8", "surrogatepass")
    return name


def _name(value: object) -> str | None:
    """Return `value` if it can name a caller."""
    if not isinstance(value, str) or not 0 < len(value) <= _MAX_SEGMENT:
        return None
    return value
