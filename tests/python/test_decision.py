"""What a Decision and its levels say."""

import gc
import math
import sys

import pytest

import limitree


def test_allowed(limiter):
    decision = limiter.authorize("user", "alex", "trade")
    assert decision.allowed is True and decision.limited is False
    assert (decision.limit, decision.remaining) == (6, 5)
    assert decision.retry_after is None
    assert decision.reset_after == 2.0
    assert decision.next_after == 0.0
    assert decision.source == "store"
    assert decision.levels is None
    assert decision.as_cell() == (0, 6, 5, -1, 2)


def test_limited(limiter):
    for _ in range(6):
        assert limiter.authorize("user", "alex", "trade").allowed
    decision = limiter.authorize("user", "alex", "trade")
    assert decision.limited is True and decision.allowed is False
    assert decision.retry_after == decision.next_after == 1.5
    assert decision.reset_after == 12.0
    assert decision.as_cell() == (1, 6, 0, 2, 12)
    assert "limited=True" in repr(decision)
    assert "retry_after=1.5" in repr(decision)


def test_never_is_not_allowed(limiter):
    decision = limiter.authorize("user", "alex", "trade", cost=7)
    assert decision.limited
    assert decision.retry_after == decision.next_after == math.inf
    assert decision.as_cell()[3] == -1


def test_unlimited(limiter):
    decision = limiter.authorize("free")
    assert decision.unlimited is True and decision.allowed is True
    assert decision.as_cell() == (0, -1, -1, -1, 0)
    assert decision.headers() == []
    assert not limiter.authorize("job").unlimited


def test_neither_true_nor_false(limiter):
    decision = limiter.authorize("job")
    with pytest.raises(TypeError, match="`limited` or `allowed`"):
        bool(decision)
    with pytest.raises(TypeError):
        assert decision or True


def test_a_denial_is_true(limiter):
    """A denial by authorize_action_for_user, which returns None otherwise."""
    call = limiter.authorize_action_for_user
    assert not call("alex", "trade", 6) and not call("a", "trade", levels=True)
    assert call("alex", "trade")
    assert call("alex", "trade", levels=True)
    with pytest.raises(TypeError):
        bool(limiter.authorize("user", "alex", "trade"))


@pytest.mark.parametrize("name", ["limited", "limit", "retry_after", "levels",
                                  "headers", "new"])
def test_immutable(limiter, name):
    decision = limiter.authorize("job", levels=True)
    for thing in (decision, decision.levels[0]):
        with pytest.raises(AttributeError):
            setattr(thing, name, 1)


@pytest.mark.parametrize("kind", [limitree.Decision, limitree.Level])
def test_made_by_a_limiter_only(kind):
    with pytest.raises(TypeError):
        kind()
    with pytest.raises(TypeError):
        type("Mine", (kind,), {})


def test_levels(limiter):
    limiter.authorize("user", "alex")
    decision = limiter.authorize("user", "alex", "trade", cost=2, levels=True)
    user, trade = decision.levels
    assert (user.policy, trade.policy) == ("user:*", "user:*/trade")
    assert (user.limit, user.remaining, user.window) == (16, 13, 32.0)
    assert (trade.limit, trade.remaining, trade.window) == (6, 4, 9.0)
    assert (trade.cost, trade.path, trade.mode) == (2, 0, "enforce")
    assert trade.charged is True and trade.limited is False
    assert (trade.retry_after, trade.reset_after) == (None, 3.0)
    assert trade.next_after == 0.0
    assert trade.grows_after == 1.5
    assert repr(trade) == ("Level(policy='user:*/trade', unit='request', "
                           "limit=6, remaining=4, limited=False)")


def test_levels_outlive_the_limiter():
    limiter = limitree.Limiter("schema: {job: {limits: [0, 1, 60]}}")
    levels = limiter.authorize("job", levels=True).levels
    limiter.close()
    del limiter
    gc.collect()
    assert levels[0].policy == "job"


def test_shadow():
    limiter = limitree.Limiter({"schema": {"job": {"limits": {
        "burst": 1, "count": 1, "period": 60, "mode": "shadow"}}}}, levels=True)
    assert not limiter.authorize("job").shadowed
    decision = limiter.authorize("job")
    assert decision.allowed and decision.shadowed
    assert decision.levels[0].mode == "shadow" and decision.levels[0].limited
    assert decision.headers() == []


def test_many_levels():
    """If there are more levels than a decision keeps, it has the first ones."""
    limits = [{"name": f"l{i}", "burst": 1000 - i, "count": 1, "period": 1}
              for i in range(70)]
    limiter = limitree.Limiter({"schema": {"job": {"limits": limits}}})
    decision = limiter.authorize("job", levels=True)
    assert decision.limit == 931
    assert [level.limit for level in decision.levels] == [
        1000 - i for i in range(64)]


def test_used_again_after_it_was_freed(limiter):
    """Freed decisions are reused; decisions that are still held are not."""
    held = [limiter.peek("user", str(cost), cost=cost, levels=cost % 2 == 0)
            for cost in range(200)]
    for kept in (held[::3], held):
        for cost in range(300):
            assert limiter.peek("user", "x", cost=cost).limit == 16
        for decision in kept:
            cost = held.index(decision)
            assert decision.limited is (cost > 16)
            assert (decision.levels is None) is (cost % 2 == 1)
    kind = limitree.Decision
    del held, kept, decision
    gc.collect()
    before = sys.getrefcount(kind)
    for _ in range(1000):
        limiter.peek("user", "x", levels=True)
    assert sys.getrefcount(kind) <= before + 64
