"""`manage.py limitree`: shows and resets callers, asks the store."""

from __future__ import annotations

import math
import os
from argparse import ArgumentParser
from dataclasses import fields
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from limitree.django.checks import import_views, views
from limitree.django.current import current
from limitree.django.decorators import group_of, rules_of
from limitree.django.rule import describe
from limitree.django.site import ROOT, Site
from limitree.errors import StoreError
from limitree.limiter import shown_option, shown_store
from limitree.web import named, table


class Command(BaseCommand):
    """Shows what the limits are and who has used how much of them."""

    help = "Shows limits and who has used how much of them; resets a caller."

    def add_arguments(self, parser: ArgumentParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        actions.add_parser("check", help="print the limits of the settings")
        actions.add_parser("config", help="print the settings that apply")
        actions.add_parser("limits", help="print the limits of every URL")
        clear = actions.add_parser("clear", help="forget what a caller has "
                                   "used of the rates at views")
        clear.add_argument("--key", required=True,
                           help="the caller, as the key of a rate")
        clear.add_argument("--group", help="only of this group or view")
        actions.add_parser("ping", help="ask the store whether it is there")
        show = actions.add_parser("show", help="print a caller's buckets")
        reset = actions.add_parser("reset", help="forget a caller's buckets")
        for action in (show, reset):
            action.add_argument("path", nargs="+", metavar="segment",
                                help="as in: user alex trade")
        reset.add_argument("--leaf", action="store_true",
                           help="forget only the bucket of the last segment")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            site = current()
            path = options.get("path", ())
            if len(path) in (4, 5) and path[0] == ROOT:
                site.know_rate(path[1], path[-1], len(path) == 5)
            getattr(self, "_" + options["action"])(site, options)
        except (ImproperlyConfigured, ValueError, StoreError) as error:
            raise CommandError(str(error)) from error

    def _check(self, site: Site, options: dict[str, Any]) -> None:
        import_views()
        site.know_rates()
        found = [stats.policy for stats in site.limiter.limit_stats()]
        for policy in found:
            self.stdout.write(policy)
        self.stdout.write(f"{len(found)} limits")

    def _config(self, site: Site, options: dict[str, Any]) -> None:
        rows = [("setting", "value")]
        for one in fields(site.conf):
            value = getattr(site.conf, one.name)
            if one.name == "options":
                rows += [(name.upper(), shown_option(name, found))
                         for name, found in sorted(value.items())]
            elif one.name == "store":
                rows.append(("STORE", shown_store(value)))
            elif one.name == "limits":
                rows.append(("LIMITS", _shown_limits(value)))
            else:
                rows.append((one.name.upper(), _shown(value)))
        for line in table(rows):
            self.stdout.write(line)

    def _limits(self, site: Site, options: dict[str, Any]) -> None:
        rows = [("URL", "view", "limits")]
        for url, view in views():
            limits = "; ".join(map(describe, rules_of(view)))
            rows.append((url, group_of(view), limits or "-"))
        for line in table(rows):
            self.stdout.write(line)
        if site.conf.default:
            self.stdout.write(f"every request: {_shown(site.conf.default)}")
        if site.conf.view_default:
            self.stdout.write("every view without limits: "
                              f"{_shown(site.conf.view_default)}")
        for path in site.conf.paths:
            self.stdout.write(f"every request: path {_shown(path)}")

    def _clear(self, site: Site, options: dict[str, Any]) -> None:
        _require_shared(site)
        import_views()
        key, group = options["key"], options["group"]
        paths = site.paths_of(key, group)
        if not paths:
            raise CommandError("there are no rates" + (
                f" of {group!r}" if group else ""))
        for path in paths:
            site.limiter.reset(*path)
        self.stdout.write(f"cleared {len(paths)} buckets of {key}")

    def _ping(self, site: Site, options: dict[str, Any]) -> None:
        _require_shared(site)
        first = site.limiter.ping()
        again = site.limiter.ping()
        self.stdout.write(f"{again * 1000:.3f} ms, and {first * 1000:.3f} ms "
                          "to connect and ask")

    def _show(self, site: Site, options: dict[str, Any]) -> None:
        _require_shared(site)
        path = options["path"]
        levels = site.limiter.peek(*path, levels=True).levels
        held = site.limiter.peek(*path, cost=0, levels=True).levels
        if not levels or not held:
            self.stdout.write("there is no limit on this path")
            return
        rows = [("limit", "left", "one more in", "full again in")]
        rows += [(one.policy, f"{now.remaining}/{now.limit}",
                  _duration(one.retry_after), _duration(now.reset_after))
                 for one, now in zip(levels, held)]
        for line in table(rows, right=True):
            self.stdout.write(line)

    def _reset(self, site: Site, options: dict[str, Any]) -> None:
        _require_shared(site)
        site.limiter.reset(*options["path"], leaf=options["leaf"])
        self.stdout.write("reset " + " ".join(options["path"]))


def _require_shared(site: Site) -> None:
    """Raise CommandError or StoreError unless the store can be looked into."""
    if not site.limiter.is_shared:
        raise CommandError("the store is memory://: what other processes have "
                           "counted cannot be seen from here")
    site.limiter.ping()  # without a store, this process would decide


def _duration(seconds: float | None) -> str:
    """Return a time, rounded up so that waiting this long is enough."""
    if not seconds:
        return "-"
    if math.isinf(seconds):
        return "never"
    if seconds < 10:
        return f"{math.ceil(seconds * 10) / 10:g}s"
    minutes, rest = divmod(math.ceil(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "m"), (rest, "s")]
    return "".join(f"{number}{unit}" for number, unit in parts if number)


def _shown(value: Any) -> str:
    if value is None or value == ():
        return "-"
    if isinstance(value, tuple):
        return " ".join(_shown(one) for one in value)
    return f"{named(value)}()" if callable(value) else str(value)


def _shown_limits(limits: Any) -> str:
    if limits is None:
        return "-"
    if isinstance(limits, (str, os.PathLike)) and "\n" not in str(limits):
        return str(limits)
    return type(limits).__name__
