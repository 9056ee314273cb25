"""The counters of limiters as samples, for integrations that export them.

They come from the text that the core writes for Prometheus, so that all exports
agree.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple, Protocol, Union

#: Stands for the limits that have no series of their own.
OTHER = "(other)"

#: How many limits have their own series by default.
MAX_POLICIES = 1000

_SAMPLE = re.compile(r"(?P<name>[a-z_]+)(?:\{(?P<labels>.*)\})? (?P<value>\S+)")
_LABEL = re.compile(r'([a-z_]+)="((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(.)")


class Counting(Protocol):
    """The members of both limiters that this module needs."""

    @property
    def closed(self) -> bool:
        """See Limiter.closed."""

    def prometheus(self) -> str:
        """See Limiter.prometheus."""


Limiters = Union[Counting, Mapping[str, Counting]]


class Sample(NamedTuple):
    """One number."""

    name: str
    labels: dict[str, str]
    value: float


class Family(NamedTuple):
    """The samples of one name."""

    name: str
    kind: str  #: "counter", "gauge" or "histogram"
    help: str
    samples: list[Sample]


def read(limiters: Limiters, max_policies: int) -> dict[str, Family]:
    """Return the families of all limiters by their names.

    If they have names, a label ``limiter`` holds the name.  The first
    `max_policies` limits of a limiter, in the order in which they were loaded,
    have their own samples; all others share `OTHER`.  A closed limiter has no
    samples.
    """
    found: dict[str, Family] = {}
    if not isinstance(limiters, Mapping):
        _read_one(limiters, {}, max_policies, found)
        return found
    for name, limiter in limiters.items():
        _read_one(limiter, {"limiter": name}, max_policies, found)
    return found


def _read_one(limiter: Counting, labels: dict[str, str], max_policies: int,
              found: dict[str, Family]) -> None:
    if limiter.closed:
        return
    for family in _parse(limiter.prometheus()):
        samples = _bounded(family.samples, max_policies)
        into = found.setdefault(family.name, family._replace(samples=[]))
        into.samples.extend(one._replace(labels={**labels, **one.labels})
                            for one in samples)


def _parse(text: str) -> list[Family]:
    families: list[Family] = []
    help_of: dict[str, str] = {}
    for line in text.split("\n"):  # names may have other ends of lines
        if line.startswith("# HELP "):
            name, _, words = line[7:].partition(" ")
            help_of[name] = words
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            families.append(Family(name, kind, help_of[name], []))
        elif line:
            match = _SAMPLE.fullmatch(line)
            assert match is not None, line
            labels = {name: _ESCAPE.sub(_unescaped, value)
                      for name, value in _LABEL.findall(match["labels"] or "")}
            families[-1].samples.append(
                Sample(match["name"], labels, float(match["value"])))
    return families


def _unescaped(match: re.Match[str]) -> str:
    return "\n" if match[1] == "n" else match[1]


def _bounded(samples: list[Sample], max_policies: int) -> list[Sample]:
    """Return the samples of that many limits, and the sums of the others."""
    known: set[str] = set()
    kept: list[Sample] = []
    others: dict[tuple[str, ...], Sample] = {}
    for one in samples:
        policy = one.labels.get("policy")
        if policy is None or policy in known or len(known) < max_policies:
            if policy is not None:
                known.add(policy)
            kept.append(one)
            continue
        labels = {**one.labels, "policy": OTHER}
        key = (one.name, *labels.values())
        before = others.get(key)
        others[key] = Sample(one.name, labels,
                             one.value + (before.value if before else 0))
    return kept + list(others.values())
