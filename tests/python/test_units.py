"""Costs in several units: of calls, on all paths, in memory and in Redis."""

import asyncio
import pickle
import types

import pytest

import limitree
from limitree.decision import of_json
from limitree.path_costs import PathCosts
from servers import PATIENT, redis_server

LIMITS = """
schema:
  user:
    children:
      "*":
        limits:
          - {name: rpm, count: 3, period: 1m}
          - {name: tpm, count: 1000, period: 1m, unit: tokens}
        children: {chat: {}, image: {}}
  job: {limits: 9/d}
"""


@pytest.fixture
def limiter(clock):
    with limitree.Limiter(LIMITS, clock=clock, levels=True) as made:
        yield made


def left(limiter, *path):
    """Returns what is left at each level, with its unit."""
    levels = limiter.peek(*path, cost=0, levels=True).levels
    return {level.unit: level.remaining for level in levels}


# ---- Costs ------------------------------------------------------------------


def test_one_step_decides_about_all_units(limiter):
    assert limiter.authorize("user", "a", cost={"tokens": 812}).allowed
    denied = limiter.authorize("user", "a", cost={"request": 1, "tokens": 189})
    assert denied.limited and denied.retry_after == pytest.approx(0.06)
    assert left(limiter, "user", "a") == {"request": 2, "tokens": 188}
    for tokens, requests in ((188, 0), (0, 2)):
        cost = {"request": requests, "tokens": tokens}
        assert limiter.authorize("user", "a", cost=cost, levels=False).allowed
    assert left(limiter, "user", "a") == {"request": 0, "tokens": 0}


@pytest.mark.parametrize("levels", [False, True])
def test_every_call_takes_units(limiter, levels):
    cost = {"request": 2, "tokens": 600}
    assert limiter.peek("user", "a", cost=cost, levels=levels).allowed
    limiter.spend("user", "a", cost=cost, levels=levels)
    assert left(limiter, "user", "a") == {"request": 1, "tokens": 400}
    limiter.refund("user", "a", cost={"tokens": 100}, levels=levels)
    assert left(limiter, "user", "a") == {"request": 2, "tokens": 500}
    denied = limiter.authorize_action_for_user("a", "chat", cost,
                                               levels=levels)
    assert denied and denied.limited
    assert limiter.authorize_action_for_user(
        "a", "chat", cost={"tokens": 500}, levels=levels) is None
    assert left(limiter, "user", "a") == {"request": 1, "tokens": 0}


def test_units_are_on_all_paths(limiter):
    paths = [("user", "a"), ("user", "b"), ("job",)]
    assert limiter.authorize_all(paths, {"tokens": 10}).allowed
    limiter.spend_all(paths, {"request": [0, 1, 4], "tokens": 90})
    assert left(limiter, "user", "a") == {"request": 2, "tokens": 900}
    assert left(limiter, "user", "b") == {"request": 1, "tokens": 900}
    assert left(limiter, "job") == {"request": 4}
    limiter.refund_all(paths, {"tokens": 50}, levels=False)
    assert left(limiter, "user", "b") == {"request": 2, "tokens": 950}
    assert limiter.peek_all(paths, types.MappingProxyType({"tokens": 951}),
                            levels=False).limited


@pytest.mark.parametrize("cost, error, message", [
    (1, ValueError, "^user:[*]#tpm counts tokens, and the request names none$"),
    ({}, ValueError, "counts tokens, and the request names none"),
    ({"tokens": 1, "cents": 1}, ValueError, 'no limit counts "cents"'),
    ({"tokens": -1}, ValueError, "cost in tokens must not be negative, is -1"),
    ({"tokens": 1.5}, TypeError, "cost in tokens must be int, not float"),
    ({"tokens": 2**63}, OverflowError, r"cost in tokens must be at most 2\*\*"),
    ({"tokens": -2**64}, OverflowError, "cost in tokens must not be negative"),
    ({"request": None}, TypeError, "cost in request must be int, not NoneType"),
    ({"request": -1, "tokens": 1}, ValueError, "cost must not be negative"),
    ({b"tokens": 1}, TypeError, "the unit of a cost must be str, not bytes"),
    ({"\ud800": 1}, UnicodeEncodeError, "surrogates"),
    ([{"tokens": 1}], TypeError, "cost must be int, not (list|dict)")])
def test_costs_that_are_wrong(limiter, cost, error, message):
    with pytest.raises(error, match=message):
        limiter.authorize("user", "a", cost=cost)
    with pytest.raises(error, match=message):
        limiter.authorize_action_for_user("a", "chat", cost, levels=False)
    with pytest.raises(error, match=message):
        limiter.authorize_all([("user", "a")], cost)
    assert left(limiter, "user", "a") == {"request": 3, "tokens": 1000}


def test_one_path_has_no_list_of_requests(limiter):
    cost = {"request": [1], "tokens": 1}
    assert limiter.authorize_all([("user", "a")], cost).allowed
    with pytest.raises(TypeError, match="cost in request must be int"):
        limiter.authorize("user", "a", cost=cost)
    with pytest.raises(TypeError, match="cost in tokens must be int, not list"):
        limiter.authorize_all([("user", "a")], {"tokens": [1]})


@pytest.mark.parametrize("found", [None, [1], [("tokens", 1, 1)]])
def test_a_mapping_that_is_none(limiter, found):
    class Odd:
        keys = __getitem__ = None

        def items(self):
            return found

    with pytest.raises(TypeError):
        limiter.authorize("user", "a", cost=Odd())
    assert left(limiter, "user", "a")["request"] == 3


def test_helpers_take_units(limiter, clock):
    used = []

    @limiter.limit("user", "a", cost=lambda text: {"tokens": len(text)})
    def chat(text):
        used.append(len(text))

    chat("x" * 900)
    with pytest.raises(limitree.LimitExceeded):
        chat("x" * 101)
    assert used == [900]
    before = clock()
    assert limiter.acquire("user", "a", cost={"tokens": 400}).allowed
    assert clock() - before == 18 * 10**9


# ---- Levels -----------------------------------------------------------------


def test_levels_name_their_unit(limiter):
    decision = limiter.authorize("user", "a", cost={"tokens": 7})
    requests, tokens = decision.levels
    assert (requests.unit, requests.cost) == ("request", 1)
    assert (tokens.unit, tokens.cost, tokens.policy) == (
        "tokens", 7, "user:*#tpm")
    assert repr(tokens) == ("Level(policy='user:*#tpm', unit='tokens', "
                            "limit=1000, remaining=993, limited=False)")
    policies = dict(decision.headers())["RateLimit-Policy"].split(", ")
    assert policies[0].startswith('"user:*#rpm";q=')
    assert 'qu=' not in policies[0]
    assert policies[1].startswith('"user:*#tpm";q=1000;qu="tokens";w=')
    for other in (pickle.loads(pickle.dumps(decision)),
                  of_json(decision.__json__())):
        assert other == decision and hash(other) == hash(decision)
        assert [level.unit for level in other.levels] == ["request", "tokens"]
    limiter.close()
    assert tokens.unit == "tokens" and tokens != requests


# ---- Costs of web integrations ----------------------------------------------


def asked(*costs, **deferred):
    ask = PathCosts()
    for number, (path, cost) in enumerate(costs):
        ask.add(path, cost)
        when = deferred.get(f"when_{number}")
        if when is not None:
            ask.deferred[number] = when
    return ask


def test_each_path_keeps_its_requests(limiter):
    ask = asked((("user", "a"), {"request": 2, "tokens": 5}), (("job",), 3),
                (("user", "b"), {"tokens": 9}))
    assert ask.peek(limiter).allowed
    assert ask.authorize(limiter).allowed
    assert left(limiter, "user", "a") == {"request": 1, "tokens": 991}
    assert left(limiter, "user", "b") == {"request": 2, "tokens": 991}
    assert left(limiter, "job") == {"request": 6}


@pytest.mark.parametrize("charges, requests, tokens", [
    (False, 2, 990), (None, 2, 990), (True, 1, 890), ({"tokens": 812}, 1, 178),
    ({"request": 0, "tokens": 5}, 2, 985), ({"tokens": 0}, 1, 990)])
def test_what_a_response_costs(limiter, charges, requests, tokens):
    """One caller is charged at once on one path, and later on the other."""
    ask = asked((("user", "a", "chat"), {"tokens": 10}),
                (("user", "a", "image"), {"tokens": 100}),
                (("user", "b"), {"tokens": 10}), (("job",), 1),
                when_1=lambda response: charges)
    assert ask.authorize(limiter).allowed
    assert left(limiter, "user", "a") == {"request": 2, "tokens": 990}
    after = ask.charge(limiter, "response")
    assert left(limiter, "user", "a") == {"request": requests, "tokens": tokens}
    assert [level.remaining for level in after.levels] == [
        requests, tokens, 2, 990, 8]
    assert left(limiter, "user", "b") == {"request": 2, "tokens": 990}


def test_a_response_that_nobody_else_pays_for(limiter):
    ask = asked((("user", "a"), {"tokens": 1}),
                when_0=lambda tokens: {"tokens": tokens})
    assert ask.authorize(limiter).allowed
    assert left(limiter, "user", "a") == {"request": 3, "tokens": 1000}
    after = ask.charge(limiter, 400)
    assert [level.remaining for level in after.levels] == [2, 600]
    ask.charge(limiter, 4000)
    assert ask.authorize(limiter).limited


# ---- asyncio and Redis ------------------------------------------------------


SLOW = LIMITS.replace("1m", "100d")  # nothing comes back during a test


async def ask_awaited(url, **options):
    async with limitree.AsyncLimiter(SLOW, url, **options) as limiter:
        cost = {"request": 2, "tokens": 600}
        assert (await limiter.peek("user", "a", cost=cost)).allowed
        assert (await limiter.authorize("user", "a", cost=cost)).allowed
        assert (await limiter.authorize("user", "a", cost=cost)).limited
        denied = await limiter.authorize_action_for_user("a", "chat", cost)
        assert denied and denied.limited
        await limiter.refund("user", "a", cost=cost)
        after = await limiter.spend("user", "a", cost={"tokens": 1},
                                    levels=True)
        assert [(level.unit, level.remaining) for level in after.levels] == [
            ("request", 2), ("tokens", 999)]
        paths = [("user", "a"), ("job",)]
        for call in (limiter.authorize_all, limiter.spend_all,
                     limiter.refund_all, limiter.peek_all):
            after = await call(paths, {"request": [0, 1], "tokens": 9},
                               levels=True)
        assert [level.remaining for level in after.levels] == [2, 981, 7]
        for cost, error in (({"tokens": 1, "cents": 1}, ValueError), ([1],
                             TypeError), ({"tokens": "1"}, TypeError)):
            with pytest.raises(error):
                await limiter.authorize("user", "a", cost=cost)

        @limiter.limit("user", lambda who, tokens: who,
                       cost=lambda who, tokens: {"tokens": tokens})
        async def chat(who, tokens):
            return who

        assert await chat("b", 1000) == "b"
        with pytest.raises(limitree.LimitExceeded):
            await chat("b", 1000)
        assert (await limiter.acquire("user", "e", cost={"tokens": 1})).allowed
        ask = asked((("user", "c"), {"tokens": 1}), (("user", "d"), {
            "tokens": 0}), (("job",), 1), when_0=lambda response: {"tokens": 7})
        assert (await ask.authorize(limiter)).allowed
        assert (await ask.charge(limiter, "response")).allowed
        for name, tokens in (("c", 993), ("d", 1000)):
            seen = await limiter.peek("user", name, cost=0, levels=True)
            assert seen.levels[1].remaining == tokens


def test_asyncio():
    asyncio.run(ask_awaited("memory://"))


def test_redis():
    with redis_server() as (url, _):
        asyncio.run(ask_awaited(url, timeout=PATIENT))
        with limitree.Limiter(SLOW, url, timeout=PATIENT) as limiter:
            assert limiter.authorize("user", "r", cost={"tokens": 812}).allowed
            assert limiter.authorize("user", "r", cost={"tokens": 812}).limited
            assert left(limiter, "user", "r") == {"request": 2, "tokens": 188}
