"""``flask limitree``: lists the limits, and shows the buckets of a caller.

``flask limiter`` is the same, as Flask-Limiter calls it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import click
import flask
from flask.cli import AppGroup
from werkzeug.exceptions import HTTPException

from limitree.decision import Decision
from limitree.errors import StoreError
from limitree.limiter import shown_option, shown_store
from limitree.web import named, path_text, table

if TYPE_CHECKING:
    from limitree.flask.rules import Bound
    from limitree.flask.site import Site
    from limitree.web import Path

commands = AppGroup("limitree", help="Limits of this application.")

_METHODS = ("HEAD", "OPTIONS")  # that Flask adds to others


def _of_routes(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options that choose routes."""
    for name, about in (("--method", "Only of this method, with --path."),
                        ("--path", "Only of the route that has this URL path."),
                        ("--endpoint", "Only of this endpoint.")):
        command = click.option(name, help=about)(command)
    return command


@commands.command("config")
def show_config() -> None:
    """Show the settings that apply."""
    rows: list[Sequence[str]] = [("setting", "value")]
    for site in _sites():
        found = site.settings
        rows += [
            ("LIMITREE_STORE", shown_store(found.store)),
            *((f"LIMITREE_OPTIONS[{name!r}]", shown_option(name, value))
              for name, value in sorted(found.options.items())),
            ("LIMITREE_KEY_FUNC", named(found.key)),
            ("LIMITREE_STRATEGY", found.strategy or "gcra"),
            ("LIMITREE_DEFAULT", _texts(found.default.texts)),
            ("LIMITREE_APPLICATION", _texts(found.application.texts)),
            ("LIMITREE_META", _texts(found.meta)),
            ("LIMITREE_LIMITS", "-" if found.limits is None else
             str(found.limits) if isinstance(found.limits, (str, os.PathLike))
             else type(found.limits).__name__),
            ("LIMITREE_PATH", named(found.path) if found.path else "-"),
            ("LIMITREE_HEADERS", found.style),
            ("LIMITREE_DECIDE", found.decide)]
    click.echo("\n".join(table(rows)))


@commands.command("limits")
@_of_routes
@click.option("--key", help="Also what is left of this caller.")
def list_limits(endpoint: str | None, path: str | None, method: str | None,
                key: str | None) -> None:
    """List the limits of every route."""
    rows: list[Sequence[str]] = [("route", "method", "endpoint", "limits")]
    for site in _sites():
        for route, shown in _routes(endpoint, path, method):
            for one in shown:
                bounds = site.bounds(route.endpoint, one)
                texts = [_describe(bound) for first in bounds
                         for bound in (first, *first.metas)]
                rows.append((str(route), one, route.endpoint,
                             "; ".join(texts) or "-"))
    click.echo("\n".join(table(rows)))
    if key is not None:
        click.echo()
        _show(one for site in _sites()
              for one in _paths_at(site, key, endpoint, path, method))


@commands.command("clear")
@_of_routes
@click.option("--key", required=True, help="The caller: a key of plain limits.")
@click.option("-y", "yes", is_flag=True, help="Do not ask before.")
def clear(endpoint: str | None, path: str | None, method: str | None,
          key: str, yes: bool) -> None:
    """Give a caller full buckets, of all routes or of some."""
    found = [one for site in _sites()
             for one in _paths_at(site, key, endpoint, path, method)]
    if not found:
        raise click.ClickException("there are no limits on these routes")
    if not yes:
        click.confirm(f"Forget {len(found)} buckets of {key}?", abort=True)
    _forget(found)
    click.echo(f"cleared {len(found)} buckets of {key}")


@commands.command("show")
@click.argument("segments", nargs=-1, required=True)
@click.option("--path", is_flag=True,
              help="SEGMENTS are a path of the tree: user alex trade")
def show(segments: tuple[str, ...], path: bool) -> None:
    """Show where a caller stands: by the key of plain limits, or by a path."""
    _show((site, one) for site in _sites()
          for one in _paths(site, segments, path))


@commands.command("reset")
@click.argument("segments", nargs=-1, required=True)
@click.option("--path", is_flag=True,
              help="SEGMENTS are a path of the tree: user alex trade")
def reset(segments: tuple[str, ...], path: bool) -> None:
    """Give a caller full buckets: by the key of plain limits, or by a path."""
    _forget((site, one) for site in _sites()
            for one in _paths(site, segments, path))
    click.echo("reset " + " ".join(segments))


@commands.command("ping")
def ping() -> None:
    """Check that the store answers."""
    for site in _sites():
        try:
            seconds = site.core.ping()
        except StoreError as error:
            raise click.ClickException(str(error)) from None
        click.echo(f"{shown_store(site.settings.store)} answered in "
                   f"{seconds * 1000:.3f} ms")


def _sites() -> list[Site]:
    found = list(flask.current_app.extensions.get("limitree", {}).values())
    if not found:
        raise click.ClickException(
            "this application has no limits: Limiter.init_app was not called, "
            "or LIMITREE_ENABLED is off")
    return found


def _routes(endpoint: str | None, path: str | None, method: str | None
            ) -> Iterator[tuple[Any, list[str]]]:
    """Yield the routes that options choose, and their methods."""
    routes = flask.current_app.url_map
    if path is not None:
        try:
            endpoint, _ = routes.bind("localhost").match(
                path, method=method or "GET")
        except HTTPException as error:
            raise click.ClickException(
                f"no route has {path!r}: {error.name}") from None
    if endpoint not in (None, *(one.endpoint for one in routes.iter_rules())):
        raise click.ClickException(f"there is no endpoint {endpoint!r}")
    for route in routes.iter_rules():
        if endpoint in (None, route.endpoint):
            methods = sorted(route.methods or ())
            shown = [one for one in methods if one not in _METHODS] or methods
            yield route, [one for one in shown
                          if method in (None, one)] if path else shown


def _paths_at(site: Site, key: str, endpoint: str | None, path: str | None,
              method: str | None) -> Iterator[tuple[Site, Path]]:
    """Yield the paths to the buckets of a caller at some routes."""
    chosen = {(route.endpoint, one)
              for route, shown in _routes(endpoint, path, method)
              for one in shown}
    rules = [rule for place in sorted(chosen)
             for rule in site.plain_rules_of(*place)]
    site.plain.update(site.core)
    seen = dict.fromkeys(one for rule in rules for one in rule.paths(key))
    yield from ((site, one) for one in seen)


def _show(paths: Iterable[tuple[Site, Path]]) -> None:
    rows: list[Sequence[str]] = [("limit", "left", "of", "full in")]
    for site, path in paths:
        for level in _ask(site, path).levels or ():
            rows.append((level.policy, str(level.remaining), str(level.limit),
                         f"{level.reset_after:.1f} s"))
    click.echo("\n".join(table(rows)))


def _forget(paths: Iterable[tuple[Site, Path]]) -> None:
    for site, path in paths:
        if not site.core.is_shared:
            raise click.ClickException(
                "the buckets are in the memory of the server's process, where "
                "only it can forget them: set LIMITREE_STORE, for example to "
                "shm://myapp")
        try:
            site.core.reset(*path)
        except (StoreError, ValueError) as error:
            raise click.ClickException(str(error)) from None


def _paths(site: Site, segments: tuple[str, ...], path: bool
           ) -> Iterator[Path]:
    if path:
        yield segments
        return
    if len(segments) != 1:
        raise click.UsageError("a caller of plain limits has one key; --path "
                               "is for paths of the tree")
    plain = site.known()
    plain.update(site.core)
    yield from plain.paths_of(segments[0])


def _ask(site: Site, path: Path) -> Decision:
    try:
        decision = site.core.peek(*path, cost=0, levels=True)
        if not decision.degraded:
            return decision
        site.core.ping()  # raises the reason, unless the store is back
        return site.core.peek(*path, cost=0, levels=True)
    except (StoreError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _describe(bound: Bound) -> str:
    rule = bound.rule
    if isinstance(rule.text, str):
        text = rule.text
    elif rule.text is not None:
        text = f"{named(rule.text)}()"
    else:
        text = path_text(rule.path if rule.paths is None else rule.paths)
    if rule.is_meta:
        text = f"meta {text}"
    elif rule.shared and isinstance(rule.scope, str):
        text += f" @{rule.scope}"
    return text


def _texts(texts: Iterable[object]) -> str:
    return "; ".join(one if isinstance(one, str) else f"{named(one)}()"
                     for one in (getattr(one, "text", one) for one in texts)
                     ) or "-"
