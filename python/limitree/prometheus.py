"""Counters for prometheus_client, next to those of the program itself.

    prometheus_client.REGISTRY.register(Collector(limiter))

A program that has no registry can serve ``limiter.prometheus()`` as it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import Metric
from prometheus_client.registry import Collector as _Collector

from limitree.samples import MAX_POLICIES, Limiters, read

__all__ = ["Collector"]


class Collector(_Collector):
    """Collects from one limiter, or from several by their names.

    With names every series has a label ``limiter``; a registry takes one
    Collector.  Limits beyond the first ``max_policies`` of a limiter are summed
    up, and there are no series for callers, so the number of series is bounded
    for every tree.
    """

    def __init__(self, limiters: Limiters, *,
                 max_policies: int = MAX_POLICIES) -> None:
        self._limiters = limiters
        self._max_policies = max_policies

    def collect(self) -> Iterator[Metric]:
        """Yield the current metrics; prometheus_client calls this."""
        for family in read(self._limiters, self._max_policies).values():
            metric = Metric(family.name.removesuffix("_total"), family.help,
                            family.kind)
            for sample in family.samples:
                metric.add_sample(sample.name, sample.labels, sample.value)
            yield metric
