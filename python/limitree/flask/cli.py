"""``flask limitree``: lists the limits, and shows the buckets of a caller."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click
import flask
from flask.cli import AppGroup

from limitree.decision import Decision
from limitree.errors import StoreError
from limitree.limiter import shown_store
from limitree.web import table

if TYPE_CHECKING:
    from limitree.flask.rules import Bound
    from limitree.flask.site import Site
    from limitree.web import Path

commands = AppGroup("limitree", help="Limits of this application.")

_METHODS = ("HEAD", "OPTIONS")  # that Flask adds to others


@commands.command("limits")
def list_limits() -> None:
    """List the limits of every route."""
    rows: list[Sequence[str]] = [("route", "method", "endpoint", "limits")]
    for site in _sites():
        for route in flask.current_app.url_map.iter_rules():
            methods = sorted(route.methods or ())
            shown = [method for method in methods
                     if method not in _METHODS] or methods
            for method in shown:
                bounds = site.bounds(route.endpoint, method)
                texts = [_describe(bound) for bound in bounds]
                rows.append((str(route), method, route.endpoint,
                             "; ".join(texts) or "-"))
    click.echo("\n".join(table(rows)))


@commands.command("show")
@click.argument("segments", nargs=-1, required=True)
@click.option("--path", is_flag=True,
              help="SEGMENTS are a path of the tree: user alex trade")
def show(segments: tuple[str, ...], path: bool) -> None:
    """Show where a caller stands: by the key of plain limits, or by a path."""
    rows: list[Sequence[str]] = [("limit", "left", "of", "full in")]
    for site in _sites():
        for one in _paths(site, segments, path):
            decision = _ask(site, one)
            for level in decision.levels or ():
                rows.append((level.policy, str(level.remaining),
                             str(level.limit), f"{level.reset_after:.1f} s"))
    click.echo("\n".join(table(rows)))


@commands.command("reset")
@click.argument("segments", nargs=-1, required=True)
@click.option("--path", is_flag=True,
              help="SEGMENTS are a path of the tree: user alex trade")
def reset(segments: tuple[str, ...], path: bool) -> None:
    """Give a caller full buckets: by the key of plain limits, or by a path."""
    for site in _sites():
        if not site.core.is_shared:
            raise click.ClickException(
                "the buckets are in the memory of the server's process, where "
                "only it can forget them: set LIMITREE_STORE, for example to "
                "shm://myapp")
        for one in _paths(site, segments, path):
            try:
                site.core.reset(*one)
            except (StoreError, ValueError) as error:
                raise click.ClickException(str(error)) from None
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
    return list(flask.current_app.extensions.get("limitree", {}).values())


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
        text = f"{_name(rule.text)}()"
    elif rule.paths is not None:
        text = f"path {_name(rule.paths)}()"
    else:
        text = "path " + " ".join(
            f"{_name(part)}()" if callable(part) else str(part)
            for part in rule.path)
    if rule.shared and isinstance(rule.scope, str):
        text += f" @{rule.scope}"
    return text


def _name(function: object) -> str:
    return getattr(function, "__name__", type(function).__name__)
