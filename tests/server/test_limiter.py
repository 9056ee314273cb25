"""limitree.v1.Limiter, by a client of grpcio."""

import grpc
import pytest
from service import error_of, path, pb, request

HOUR = 3600 * 10**9
TRADE = ("user", "alex", "trade")


@pytest.fixture(name="limiter")
def make_limiter(service):
    return service.limiter()


def test_a_decision_has_its_levels(limiter):
    decision = limiter.Authorize(request(*TRADE))
    assert not decision.limited
    assert (decision.limit, decision.remaining) == (3, 2)
    assert not decision.HasField("retry_after_ns")
    assert decision.level == 1
    assert decision.level_count == 2
    assert 0 < decision.reset_after_ns <= HOUR // 3
    assert decision.binding_reset_after_ns == decision.reset_after_ns
    user, trade = decision.levels
    assert (user.policy, user.limit, user.remaining) == ("user:*", 100, 99)
    assert (trade.policy, trade.limit, trade.cost) == ("user:*/trade", 3, 1)
    assert trade.charged and not trade.limited
    assert trade.mode == pb.MODE_ENFORCE
    assert trade.window_ns == HOUR


def test_the_fourth_is_limited_and_charges_nothing(limiter):
    for _ in range(3):
        assert not limiter.Authorize(request(*TRADE)).limited
    decision = limiter.Authorize(request(*TRADE))
    assert decision.limited
    assert 0 < decision.retry_after_ns <= HOUR // 3
    assert decision.remaining == 0
    user, trade = decision.levels
    assert (user.limited, user.charged, user.remaining) == (False, False, 97)
    assert (trade.limited, trade.charged) == (True, False)
    assert trade.retry_after_ns == decision.retry_after_ns
    assert not user.HasField("retry_after_ns")


def test_a_cost_above_the_capacity_never_fits(limiter):
    decision = limiter.Authorize(request(*TRADE, cost=4))
    assert decision.limited
    assert decision.retry_after_ns == 2**63 - 1


def test_peek_spend_refund_and_reset(limiter):
    assert not limiter.Peek(request(*TRADE, cost=3)).limited
    assert limiter.Authorize(request(*TRADE, cost=0)).remaining == 3
    assert not limiter.Spend(request(*TRADE, cost=10)).limited
    assert limiter.Authorize(request(*TRADE)).limited
    assert limiter.Refund(request(*TRADE, cost=2)).remaining == 2
    limiter.Reset(pb.ResetRequest(segments=TRADE, leaf_only=True))
    decision = limiter.Peek(request(*TRADE, cost=0))
    assert [level.remaining for level in decision.levels] == [92, 3]
    limiter.Reset(pb.ResetRequest(segments=TRADE))
    decision = limiter.Peek(request(*TRADE, cost=0))
    assert [level.remaining for level in decision.levels] == [100, 3]


def test_several_paths_are_decided_together(limiter):
    both = pb.DecideRequest(
        paths=[path(*TRADE, cost=3), path("user", "kim", "trade")], cost=4)
    decision = limiter.Authorize(both)  # kim's 4 do not fit
    assert decision.limited
    assert not any(level.charged for level in decision.levels)
    assert [level.path for level in decision.levels] == [0, 0, 1, 1]
    both.paths[1].part = pb.PART_SPEND_IF_FITS
    decision = limiter.Authorize(both)
    assert not decision.limited
    assert [level.charged for level in decision.levels] == [
        True, True, True, False]


def test_without_levels(limiter):
    decision = limiter.Authorize(request(*TRADE, omit_levels=True))
    assert decision.level_count == 2
    assert not decision.levels


def test_without_a_limit(limiter):
    decision = limiter.Authorize(request("free"))
    assert decision.unlimited
    assert not decision.HasField("limit")
    assert not decision.HasField("level")


def test_segments_are_any_text(limiter):
    for name in ("", "a:b", "\u00e4\u6f22", "x" * 1000, "\n%\x00"):
        decision = limiter.Authorize(request("user", name, "trade"))
        assert decision.remaining == 2, name


@pytest.mark.parametrize("method", ["Authorize", "Peek", "Spend", "Refund"])
def test_errors_are_statuses(limiter, method):
    call = getattr(limiter, method)
    invalid = grpc.StatusCode.INVALID_ARGUMENT
    assert error_of(lambda: call(request("nobody"))) == (
        grpc.StatusCode.NOT_FOUND,
        "unknown root \"nobody\", the tree has: user, free, huge")
    code, message = error_of(lambda: call(request(*TRADE, cost=-1)))
    assert code == invalid and "cost" in message
    code, message = error_of(lambda: call(pb.DecideRequest()))
    assert code == invalid and "path" in message
    code, message = error_of(lambda: call(request()))
    assert code == invalid and "path" in message


def test_an_unknown_part_is_an_error(limiter):
    code, message = error_of(lambda: limiter.Authorize(
        pb.DecideRequest(paths=[path(*TRADE, part=7)])))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "part" in message


def test_reset_of_nothing_is_an_error(limiter):
    code, _ = error_of(lambda: limiter.Reset(pb.ResetRequest()))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    code, _ = error_of(lambda: limiter.Reset(
        pb.ResetRequest(segments=["nobody"])))
    assert code == grpc.StatusCode.NOT_FOUND


def test_all_workers_share_the_buckets(serve):
    service = serve("--workers", 4)
    remaining = [service.limiter().Authorize(request("user", "alex")).remaining
                 for _ in range(20)]
    assert remaining == list(range(99, 79, -1))


def test_a_path_with_thousands_of_segments(limiter):
    code, _ = error_of(lambda: limiter.Authorize(
        pb.DecideRequest(paths=[path(*TRADE)] * 5000)))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    decision = limiter.Authorize(pb.DecideRequest(
        paths=[path("user", str(i)) for i in range(2000)]))
    assert decision.level_count == len(decision.levels) == 2000
