"""Leases in the service: most answers about a hot caller need no Redis."""

from servers import redis_server
from service import eventually, pb, request

LIMITS = """
schema:
  user: {children: {"*": {limits: {count: 100000, period: 100s, lease: 1s}}}}
"""


def test_a_hot_caller_is_leased(serve, tmp_path):
    limits = tmp_path / "leased.yaml"
    limits.write_text(LIMITS, encoding="utf-8")
    with redis_server() as (url, _):
        limiter = serve("--store", url, limits=limits).limiter()

        def is_leased():
            decision = limiter.Authorize(request("user", "alex"))
            assert not decision.limited
            return decision.source == pb.SOURCE_LEASE

        eventually(is_leased)
        # What is forgotten is asked of Redis again.
        limiter.Reset(pb.ResetRequest(segments=["user", "alex"]))
        decision = limiter.Authorize(request("user", "alex"))
        assert decision.source == pb.SOURCE_STORE
