"""Failed logins are counted, success forgives, nobody is locked out."""

import asyncio
import importlib.util
import pathlib
import threading

import pytest

from limitree import AsyncLimiter, Limiter
from limitree.errors import ConfigError
from limitree.logins import AsyncLogins, Logins
from limitree.testing import ManualClock

SECRET = "sixteen bytes or more"
SITE = {"schema": {"site": {"limits": "9/second"}}}


@pytest.fixture(name="limiter")
def make_limiter():
    return Limiter(SITE, clock=ManualClock())


def fails(logins, account, address, device=None):
    """Return how many attempts fail until one is denied."""
    for count in range(1000):
        if logins.attempt(account, address, device).decision.limited:
            return count
    return None


def test_failures_are_counted_by_pair_account_and_address(limiter):
    logins = Logins(limiter, secret=SECRET)
    assert fails(logins, "alex", "192.0.2.1") == 5
    assert fails(logins, "alex", "2001:db8::1") == 5
    assert fails(logins, "alex", "2001:db8::2") == 0  # of the same network
    assert sum(fails(logins, "alex", f"198.51.100.{i}") for i in range(9)) == 10
    assert fails(logins, "bea", "192.0.2.1") == 5  # another account
    # What was denied was charged nowhere: 100 of the address less 10.
    left = sum(fails(logins, f"user{i}", "192.0.2.1") for i in range(30))
    assert left == 90


def test_success_forgives_no_more_than_it_should(limiter):
    logins = Logins(limiter, secret=SECRET)
    for _ in range(4):
        logins.attempt("alex", "192.0.2.1")
    attempt = logins.attempt("alex", "192.0.2.1")
    assert attempt.decision.allowed and not attempt.is_known
    attempt.succeed()
    assert fails(logins, "alex", "192.0.2.1") == 5
    with pytest.raises(RuntimeError):
        attempt.succeed()
    with pytest.raises(RuntimeError):
        logins.attempt("alex", "192.0.2.1").succeed()
    # An attacker who logs in to an account of their own in between.
    guesses = 0
    for i in range(200):
        guesses += logins.attempt(f"user{i}", "192.0.2.9").decision.allowed
        own = logins.attempt("attacker", "192.0.2.9")
        if own.decision.allowed:
            own.succeed()
    assert guesses in (99, 100)


def test_the_owner_is_not_locked_out(limiter):
    logins = Logins(limiter, secret=SECRET)
    device = logins.attempt("alex", "192.0.2.1").succeed()
    assert sum(fails(logins, "alex", f"198.51.100.{i}") for i in range(20)
               ) == 20
    assert fails(logins, "alex", "192.0.2.1") == 0  # a new browser
    attempt = logins.attempt("alex", "198.51.100.7", device)
    assert attempt.decision.allowed and attempt.is_known
    assert attempt.succeed() == device
    assert fails(logins, "alex", "192.0.2.1", device) == 10


def test_tokens_are_of_one_account(limiter):
    logins = Logins(limiter, secret=SECRET)
    device = logins.attempt("attacker", "192.0.2.9").succeed()
    other = Logins(limiter, secret=SECRET[::-1], name="other")
    forged = other.attempt("alex", "192.0.2.9").succeed()
    for token in (device, forged, "", ".", "x", "x" * 22 + ".", device + "x",
                  device[:-1], "\u00e4" * 22 + device[22:], "a" * 10**6):
        assert not logins.attempt("alex", "192.0.2.1", token).is_known, token
        limiter.reset("login", "pair", "alex", "192.0.2.1")
    assert logins.attempt("attacker", "192.0.2.9", device).is_known


def test_tokens_are_of_one_name(limiter):
    logins = Logins(limiter, secret=SECRET)
    admins = Logins(limiter, secret=SECRET, name="admins")
    device = logins.attempt("alex", "192.0.2.9").succeed()
    assert not admins.attempt("alex", "192.0.2.1", device).is_known
    assert logins.attempt("alex", "192.0.2.1", device).is_known


def test_guesses_at_once_do_not_slip_through(limiter):
    logins = Logins(limiter, secret=SECRET)
    allowed = []

    def guess():
        for _ in range(50):
            if logins.attempt("alex", "192.0.2.1").decision.allowed:
                allowed.append(1)
    threads = [threading.Thread(target=guess) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(allowed) == 5


def test_async():
    async def use():
        async with AsyncLimiter(SITE) as limiter:
            logins = AsyncLogins(limiter, secret=SECRET.encode(), pair="2/hour")
            assert (await logins.attempt("alex", "192.0.2.1")).decision.allowed
            attempt = await logins.attempt("alex", "192.0.2.1")
            device = await attempt.succeed()
            again = await logins.attempt("alex", "192.0.2.1", device)
            assert again.is_known and again.decision.allowed
            assert (await logins.attempt("alex", "192.0.2.1")).decision.allowed
    asyncio.run(use())


def test_a_store_that_fails_does_not_undo_a_login():
    nowhere = "redis+unix:///nowhere/redis.sock"

    async def use():
        async with AsyncLimiter(SITE, nowhere, on_store_error="local") as one:
            logins = AsyncLogins(one, secret=SECRET)
            for _ in range(30):
                attempt = await logins.attempt("alex", "192.0.2.1")
                assert attempt.decision.allowed
                await attempt.succeed()

    asyncio.run(use())
    with Limiter(SITE, nowhere, on_store_error="local") as one:
        logins = Logins(one, secret=SECRET)
        for _ in range(30):  # each one is given back
            attempt = logins.attempt("alex", "192.0.2.1")
            assert attempt.decision.allowed
            device = attempt.succeed()
        assert logins.attempt("alex", "192.0.2.1", device).is_known


def test_mistakes(limiter):
    with pytest.raises(ValueError, match="at least 16 bytes, has 5"):
        Logins(limiter, secret="short")
    with pytest.raises(TypeError, match="str or bytes, is NoneType"):
        Logins(limiter, secret=None)
    with pytest.raises(TypeError, match="use Logins$"):
        AsyncLogins(limiter, secret=SECRET)
    with pytest.raises(TypeError, match="use AsyncLogins$"):
        Logins(AsyncLimiter(SITE), secret=SECRET)
    with pytest.raises(ConfigError):
        Logins(limiter, secret=SECRET, pair="5 or so")
    Logins(limiter, secret=SECRET)
    with pytest.raises(ConfigError, match="login"):
        Logins(limiter, secret=SECRET)


def test_what_a_client_sends(limiter):
    logins = Logins(limiter, secret=SECRET)
    for wrong, what in [((None, "::1"), "account"), (("a", None), "address"),
                        (("a", "::1", 5), "device")]:
        with pytest.raises(TypeError, match=f"^{what} must be str, not "):
            logins.attempt(*wrong)
    # JSON may have half of a character.
    half = "\ud83d"
    device = logins.attempt(half, "192.0.2.1").succeed()
    assert fails(logins, half, "192.0.2.1") == 5
    assert logins.attempt(half, "192.0.2.1", device).is_known
    assert fails(logins, "\ud83e", "192.0.2.1") == 5  # another account


def test_the_example():
    pytest.importorskip("flask")
    path = pathlib.Path(__file__).parents[2] / "examples/login/app.py"
    spec = importlib.util.spec_from_file_location("login_example", path)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)

    def codes(client, *passwords):
        return [client.post("/", data={"account": " Alex", "password": one}
                            ).status_code for one in passwords]

    owner, attacker = (example.app.test_client() for _ in range(2))
    assert codes(owner, "wrong", "secret") == [401, 200]
    assert owner.get_cookie("device").http_only
    assert codes(attacker, *"abcdef") == [401] * 5 + [429]
    assert codes(attacker, "secret") == [429]
    assert codes(owner, "secret") == [200]  # from the same address
    assert attacker.post("/", data={"account": "alex"}).headers["Retry-After"]
