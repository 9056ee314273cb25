"""Requests of Envoy: the part of Limiter that is about descriptors."""

from __future__ import annotations

from limitree.holds import HoldingLimiter
from limitree.limits import read_descriptors
from limitree.locks import ForkLock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from limitree.demand import Segment
    from limitree.envoy import (
        Descriptors,
        DescriptorStats,
        EnvoyResponse,
        EnvoyStats,
        Request,
    )
    from limitree.limits import Limits


class DescriptorLimiter(HoldingLimiter):
    """The part of Limiter that is about descriptors.

    Importing limitree.envoy takes long, and most programs do not need it.
    """

    _descriptors: Limits | None
    _swapping: ForkLock

    def reload_descriptors(self, descriptors: Limits | None = None) -> None:
        """Replace the descriptors; None reads their files again.

        Raises ConfigError and OSError as the constructor does; the old ones
        then stay.
        """
        if descriptors is None:
            descriptors = self._descriptors
        files = [] if descriptors is None else read_descriptors(descriptors)
        with self._swapping:
            self._reload_descriptors(files)
            self._descriptors = descriptors

    def should_rate_limit(self, domain: Segment, descriptors: Descriptors,
                          hits_addend: int = 1, *, metadata: bool = False
                          ) -> EnvoyResponse:
        """Answer a request of Envoy by the descriptors of this limiter.

        Each of `descriptors` is a dict of entries, a list of pairs, or a
        Descriptor.  `hits_addend` is for those without their own; 0 means 1, as
        in Envoy's message.  With `metadata` the response has the dynamic
        metadata.  Raises ValueError for an empty domain or list, TypeError,
        StoreError and StoreTimeout.
        """
        from limitree import envoy
        return self._ask_envoy(
            envoy.request(domain, descriptors, hits_addend, metadata))

    def peek_descriptors(self, domain: Segment, descriptors: Descriptors,
                         hits_addend: int = 1, *, metadata: bool = False
                         ) -> EnvoyResponse:
        """Answer what should_rate_limit would answer now.

        Nothing is charged or held, and statistics do not count it.
        """
        from limitree import envoy
        return self._ask_envoy(
            envoy.request(domain, descriptors, hits_addend, metadata,
                          looks=True))

    def _ask_envoy(self, request: Request) -> EnvoyResponse:
        from limitree import envoy
        if self._has_greenlets:
            from limitree import greenlets
            answer = greenlets.should_rate_limit(self, request)
            if answer is not NotImplemented:
                return envoy.response(answer)
        return envoy.response(self._should_rate_limit(*request))

    def reset_descriptors(self, domain: Segment, descriptors: Descriptors
                          ) -> None:
        """Forget the buckets that should_rate_limit would reach.

        Raises what should_rate_limit raises.
        """
        from limitree import envoy
        forget, asked = self._reset_descriptors, envoy.read(descriptors)
        self._aside(lambda: forget(domain, asked))

    def descriptor_stats(self) -> list[DescriptorStats]:
        """Return the hits of rules, by their names in metrics."""
        from limitree.envoy import DescriptorStats
        return [DescriptorStats(key, **values)
                for key, values in self._descriptor_stats()]

    def envoy_stats(self) -> EnvoyStats:
        """Return the counters of requests of Envoy."""
        from limitree.envoy import EnvoyStats
        [(_, values)] = self._envoy_stats()
        return EnvoyStats(**values)
