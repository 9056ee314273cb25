"""Reservations: costs known afterwards, and how many at once."""

import copy
import datetime
import pickle

import pytest

import limitree
from holding import LIMITS, left, reserve
from servers import PATIENT


@pytest.fixture
def limiter(holding, clock):
    with limitree.Limiter(LIMITS, holding, clock=clock,
                          timeout=PATIENT) as made:
        yield made


# ---- Settling ---------------------------------------------------------------


def test_what_was_used_is_charged(limiter):
    held = reserve(limiter)
    assert held.allowed and held.held == 2
    assert left(limiter) == [59, 600, 1]
    assert held.settle(tokens=81) == 2
    assert left(limiter) == [59, 919, 2]
    assert held.settle(tokens=900) == 0
    assert held.cancel() == 0 and held.extend("1m") == 0
    assert left(limiter) == [59, 919, 2]


@pytest.mark.parametrize("args, units, tokens", [
    ((), {}, 600), ((None,), {}, 600), (({},), {}, 600), ((7,), {}, 600),
    (({"tokens": 0},), {}, 1000), (({"request": 0},), {}, 600),
    (({"tokens": 5, "request": 3},), {}, 995), ((), {"tokens": 999}, 1),
    ((), {"request": 1, "tokens": 5000}, 0)])
def test_forms_of_a_settlement(limiter, args, units, tokens):
    assert reserve(limiter).settle(*args, **units) == 2
    assert left(limiter) == [59, tokens, 2]
    other = limiter.reserve("key", "b", cost={"tokens": 400})
    assert limiter.settle(other.receipt, *args, **units) == 2
    assert left(limiter, "key", "b") == [59, tokens, 2]


def test_a_cost_by_its_name(limiter):
    assert reserve(limiter).settle(cost={"tokens": 1}) == 2
    assert limiter.settle(reserve(limiter).receipt, cost={"tokens": 1}) == 2
    assert left(limiter) == [58, 998, 2]


def test_the_cost_of_a_limit_multiplies(limiter):
    held = limiter.reserve("day", cost=20)
    assert left(limiter, "day") == [60]
    assert held.settle(30) == 1
    assert left(limiter, "day") == [40]


def test_several_paths(limiter):
    paths = [("key", "a"), ("key", "b"), ("plain",)]
    held = limiter.reserve_all(paths, {"request": [1, 2, 3], "tokens": 10},
                               part=["charge", "charge", "check"], hold="1m")
    assert held.allowed and held.held == 4
    assert left(limiter, "key", "b") == [58, 990, 0]
    assert left(limiter, "plain") == [5]
    assert limiter.settle(held.receipt, {"request": [1, 2, 3],
                                         "tokens": 4}) == 4
    for name in "ab":
        assert left(limiter, "key", name)[1:] == [996, 2]
    with pytest.raises(ValueError, match="there are 3 paths and 2 costs"):
        held.settle([1, 2])


def test_cancel_and_extend(limiter, clock):
    held = reserve(limiter, 700, hold=5)
    assert held.extend("60s") == 2
    clock.advance(59)
    assert left(limiter) == [59, 300, 1]
    assert limiter.extend(held.receipt, hold=datetime.timedelta(minutes=1)) == 2
    clock.advance(59)
    assert left(limiter) == [59, 300, 1]
    assert held.cancel() == 2
    assert left(limiter) == [59, 1000, 2]
    other = reserve(limiter)
    assert limiter.cancel(other.receipt) == 2
    assert limiter.cancel(other.receipt.encode()) == other.cancel() == 0


@pytest.mark.parametrize("hold", ["90s", "1m30s", 90, 90.0,
                                  datetime.timedelta(seconds=90)])
def test_what_nobody_settles(limiter, clock, hold):
    held = reserve(limiter, 700, hold=hold)
    free = limiter.reserve("day", hold=hold)
    clock.advance(89.999999)
    assert left(limiter) == [59, 300, 1] and left(limiter, "day") == [98]
    clock.advance(0.000001)
    assert left(limiter) == [59, 300, 2] and left(limiter, "day") == [100]
    assert held.settle() == free.settle() == 0


def test_each_limit_says_how_long(limiter, clock):
    reserve(limiter)
    clock.advance(30)
    assert left(limiter) == [59, 600, 2]


def test_slots(limiter, clock):
    first, second = reserve(limiter, 1), reserve(limiter, 1)
    clock.advance(10)
    denied = reserve(limiter, 1, levels=True)
    assert denied.limited and denied.held == 0
    assert denied.retry_after == 20
    assert [level.limited for level in denied.levels] == [False, False, True]
    assert denied.settle() == 0
    second.settle()
    assert reserve(limiter, 1).allowed
    assert first.settle() == 2


# ---- What comes back --------------------------------------------------------


def test_a_reservation_is_a_decision(limiter):
    held = reserve(limiter, levels=True)
    attributes = [name for name in dir(limitree.Decision) if name[0] != "_"]
    for name in attributes:
        if not callable(getattr(held, name)):
            assert getattr(held, name) == getattr(held.decision, name)
    assert {"held", "remaining", "levels", "source"} <= set(attributes)
    assert held.as_cell() == (0, 2, 1, -1, 600 + 8640 * 400)
    assert held.headers() == held.decision.headers()
    assert held.headers("legacy", reset="delta")
    with pytest.raises(ValueError):
        held.problem()
    assert reserve(limiter, 601).problem()["status"] == 429
    for thing in (held, held.decision):
        with pytest.raises(TypeError, match="`limited` or `allowed`"):
            bool(thing)
    assert isinstance(held, limitree.Reservation)
    assert repr(held) == f"<Reservation {held.decision!r} held=2>"
    assert limiter.peek("plain").held == 0
    for use in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="pass on its receipt"):
            use(held)


def test_a_path_without_holds_is_charged(limiter):
    held = limiter.reserve("plain")
    assert held.allowed and held.held == 0
    assert left(limiter, "plain") == [4]
    assert held.settle() == 0
    with limiter.reserve("plain", cost=2) as held:
        assert held.remaining == 2
    assert left(limiter, "plain") == [2]


def test_a_shadow_holds_if_it_fits(limiter):
    first, other = limiter.reserve("watched"), limiter.reserve("watched")
    assert (first.held, first.shadowed) == (1, False)
    assert (other.held, other.limited, other.shadowed) == (0, False, True)


# ---- Blocks -----------------------------------------------------------------


def test_a_block_settles_as_held(limiter):
    with reserve(limiter) as held:
        assert left(limiter) == [59, 600, 1]
    assert left(limiter) == [59, 600, 2]
    assert held.settle() == 0


def test_a_block_that_settles(limiter):
    with reserve(limiter) as held:
        assert held.settle(tokens=81) == 2
        with reserve(limiter) as other:
            other.cancel()
    assert left(limiter) == [58, 919, 2]


@pytest.mark.parametrize("error", [KeyError, KeyboardInterrupt])
def test_a_block_that_fails(limiter, error):
    with pytest.raises(error):
        with reserve(limiter):
            raise error
    assert left(limiter) == [59, 1000, 2]
    with pytest.raises(error):
        with reserve(limiter) as held:
            held.settle(tokens=1)
            raise error
    assert left(limiter) == [58, 999, 2]


def test_a_block_with_a_mistake(limiter):
    with pytest.raises(ValueError, match='no limit counts "cents"'):
        with reserve(limiter) as held:
            held.settle(cents=81)
    assert left(limiter) == [59, 1000, 2]


def test_a_block_that_is_denied(limiter):
    with reserve(limiter, 1001) as held:
        assert held.limited and held.retry_after == float("inf")
    assert left(limiter) == [60, 1000, 2]
    with pytest.raises(KeyError):
        with reserve(limiter, 1001):
            raise KeyError
    assert left(limiter) == [60, 1000, 2]


def test_a_block_in_a_limiter_that_was_closed(limiter):
    with pytest.raises(KeyError):  # and not what cancelling raises
        with reserve(limiter):
            limiter.close()
            raise KeyError
    with pytest.raises(RuntimeError, match="closed"):
        reserve(limiter)


def test_a_store_that_fails_in_a_block(limiter, monkeypatch):
    """What may have been settled is not cancelled."""
    asked = []

    def fail(kind, *args):
        asked.append(kind)
        raise limitree.StoreTimeout("no answer", "timeout")

    with pytest.raises(limitree.StoreTimeout):
        with reserve(limiter) as held:
            monkeypatch.setattr(limiter, "_settle_hold",
                                lambda *args: fail("settle"))
            monkeypatch.setattr(limiter, "_cancel_hold",
                                lambda *args: fail("cancel"))
            held.settle(tokens=1)
    assert asked == ["settle"]
    with pytest.raises(KeyError):
        with reserve(limiter):
            raise KeyError
    with pytest.raises(limitree.StoreTimeout):
        with limiter.reserve("day"):
            pass
    assert asked == ["settle", "cancel", "settle"]


# ---- Mistakes ---------------------------------------------------------------


@pytest.mark.parametrize("receipt, error, message", [
    ("", ValueError, "this is not a receipt of limitree, or it was changed"),
    ("lr1.AAAA", ValueError, "this is not a receipt"),
    (b"\xff\0", ValueError, "this is not a receipt"),
    ("lr1." + "A" * 70_000, ValueError, "a receipt has at most 65536 bytes"),
    ("\ud800", UnicodeEncodeError, "surrogates"),
    (None, TypeError, "receipt must be str or bytes, not NoneType"),
    (7, TypeError, "receipt must be str or bytes, not int")])
def test_receipts_that_are_none(limiter, receipt, error, message):
    for call in (limiter.settle, limiter.cancel,
                 lambda text: limiter.extend(text, "1m")):
        with pytest.raises(error, match=message):
            call(receipt)


def test_a_receipt_that_was_changed(limiter):
    receipt = reserve(limiter).receipt
    assert receipt.startswith("lr1.") and receipt == receipt.strip()
    for i in range(len(receipt)):
        other = "A" if receipt[i] != "A" else "B"
        with pytest.raises(ValueError, match="this is not a receipt"):
            limiter.cancel(receipt[:i] + other + receipt[i + 1:])
    assert limiter.cancel(receipt) == 2


def test_a_receipt_that_is_too_long(limiter):
    held = limiter.reserve_all([("key", "k"), ("plain",)] + [
        ("key", "x" * 60_000)], {"tokens": 1})
    with pytest.raises(ValueError, match="a receipt has at most 65536 bytes"):
        held.receipt
    assert held.settle(tokens=3) == 4


@pytest.mark.parametrize("hold, error, message", [
    (0, ValueError, "^hold must be more than 0 and at most 1d, is 0$"),
    (1e-10, ValueError, "more than 0 and at most 1d, is 1e-10"),
    (-1, ValueError, "at most 1d, is -1"),
    ("0s", ValueError, "hold"), ("86400000000001ns", ValueError, "at most 1d"),
    (float("inf"), ValueError, "at most 1d, is inf"),
    (float("nan"), ValueError, "hold must be seconds or a text"),
    (datetime.timedelta(days=1, microseconds=1), ValueError, "at most 1d"),
    (10**30, ValueError, "at most 1d"),
    ("soon", limitree.ConfigError, "^hold must be a duration"),
    (True, TypeError, "hold must be seconds or a text such as '500ms', not "
                      "bool"), ([], TypeError, "hold must be seconds or a")])
def test_holds_that_are_wrong(limiter, hold, error, message):
    held = reserve(limiter)
    for call in (lambda: reserve(limiter, hold=hold),
                 lambda: held.extend(hold),
                 lambda: limiter.extend(held.receipt, hold),
                 lambda: limiter.reserve_all([("plain",)], hold=hold)):
        with pytest.raises(error, match=message):
            call()
    assert held.extend("1d") == 2 and held.extend(86_400) == 2
    assert reserve(limiter, 1, hold="24h").allowed


@pytest.mark.parametrize("cost, error, message", [
    (-1, ValueError, "^cost must not be negative, is -1$"),
    ({"request": -1}, ValueError, "^cost must not be negative, is -1$"),
    ([-1], ValueError, "^cost must not be negative, is -1$"),
    ({"tokens": -1}, ValueError, "cost in tokens must not be negative, is -1"),
    ({"cents": 1}, ValueError, 'no limit counts "cents", they count tokens'),
    ({"tokens": 1.5}, TypeError, "cost in tokens must be int, not float"),
    ("7", TypeError, "cost must be int, not str"),
    (2**63, OverflowError, "cost must be at most"),
    ({b"tokens": 1}, TypeError, "the unit of a cost must be str, not bytes")])
def test_settlements_that_are_wrong(limiter, cost, error, message):
    held = reserve(limiter)
    for call in (lambda: held.settle(cost),
                 lambda: limiter.settle(held.receipt, cost)):
        with pytest.raises(error, match=message):
            call()
    assert held.settle(tokens=1) == 2


def test_a_cost_and_units(limiter):
    held = reserve(limiter)
    for call in (held.settle, lambda *args, **units: limiter.settle(
            held.receipt, *args, **units)):
        with pytest.raises(TypeError, match="not both$"):
            call({"tokens": 1}, tokens=1)
        with pytest.raises(ValueError, match='no limit counts "token"'):
            call(token=1)
    assert left(limiter) == [59, 600, 1]


@pytest.mark.parametrize("path, options, error, message", [
    ((), {}, ValueError, "the path is empty"),
    (("kez", "k"), {}, limitree.UnknownRoot, 'unknown root "kez"'),
    (("key", None), {}, TypeError, r"path\[1\] must be str or bytes, not Non"),
    (("key", "k"), {}, ValueError, "counts tokens, and the request names none"),
    (("key", "k"), {"cost": -1}, ValueError, "cost must not be negative"),
    (("key", "k"), {"cost": [1]}, TypeError, "cost must be int, not list"),
    (("plain",), {"levels": 1}, TypeError, "levels must be bool, not int"),
    (("plain",), {"part": "check"}, TypeError, "unexpected keyword")])
def test_requests_that_are_wrong(limiter, path, options, error, message):
    with pytest.raises(error, match=message):
        limiter.reserve(*path, **options)
    assert left(limiter) == [60, 1000, 2]


def test_what_is_over_at_once_takes_no_slot(limiter):
    for call in (limiter.authorize, limiter.spend, limiter.acquire):
        with pytest.raises(ValueError, match="^key:[*]#slots limits what is "
                           "held at once: reserve its units, and settle them"):
            call("key", "k", cost={"tokens": 1})
    assert limiter.peek("key", "k", cost={"tokens": 1}).allowed
    assert left(limiter) == [60, 1000, 2]


def test_paths_that_are_wrong(limiter):
    with pytest.raises(TypeError, match="paths must be a sequence of paths"):
        limiter.reserve_all("key")
    with pytest.raises(ValueError, match="part must be charge, check or"):
        limiter.reserve_all([("plain",)], part="hold")


def test_after_a_reload(limiter):
    held = reserve(limiter)
    limiter.reload("schema: {plain: {limits: 5/d}}")
    with pytest.raises(limitree.UnknownRoot):
        held.settle()
    limiter.reload(LIMITS)
    assert held.settle(tokens=1) == 2
    assert left(limiter) == [59, 999, 2]


def test_a_reset_forgets_what_is_held(limiter):
    held = reserve(limiter)
    limiter.reset("key", "k")
    assert left(limiter) == [60, 1000, 2]
    assert held.settle() == 0
