"""Commands against a redis-server that each test starts."""

import pytest
from command import EXAMPLE, bad, environment, good, run
from redis_server import make_start  # noqa: F401

PASSWORD = "s3cret"
TRADE = ("user", "alex", "trade")


def rows(text):
    return {line.split()[0]: line.split()[1:]
            for line in text.splitlines()[1:]}



HOLDS = ("schema: {key: {limits: [{name: tpm, count: 100, period: 1m, "
         "unit: tokens, hold: 10m}, {name: slots, concurrent: 3, "
         "hold: 1h}]}}")


def test_show_lists_what_is_held(start):
    url = start().url
    assert "held" not in good("show", "-", "key", "--store", url, text=HOLDS)
    good("try", "-", "key", "--store", url, "--reserve", "--cost",
         "tokens=60", "--then", "key", "--reserve", "--cost", "tokens=7",
         text=HOLDS)
    out = good("show", "-", "key", "--store", url, text=HOLDS)
    held = [line.split() for line in out.split("held\n")[1].splitlines()]
    assert held[0] == "key#tpm 67 tokens in 2 holds".split()
    assert [row[1:4] for row in held[1:3]] == [
        ["60,", "ends", "in"], ["7,", "ends", "in"]]
    assert held[3] == "key#slots 2 in 2 holds".split()
    assert [row[0] for row in held[4:]] == [row[0] for row in held[1:3]]
    assert all(len(row[0]) == 32 for row in held[4:])
    out = good("reset", "-", "key", "--store", url, text=HOLDS)
    assert "held" not in out and "3/3" in out


def test_ping(start):
    server = start()
    for url in (server.url, f"redis+unix://{server.path}"):
        out = good("ping", "--store", url)
        assert out.startswith(f"{url} answered in ")


def test_ping_without_an_answer(start):
    server = start()
    server.stop()
    assert bad(1, "ping", "-u", server.url).startswith("limitree: ")


def test_passwords_come_from_the_environment(start):
    server = start("--requirepass", PASSWORD)
    url = f"redis://:{PASSWORD}@127.0.0.1:{server.port}"
    out = good("ping", env=environment(LIMITREE_STORE=url))
    assert out.startswith(f"redis://127.0.0.1:{server.port} answered in ")
    assert PASSWORD not in out
    wrong = environment(LIMITREE_STORE=url.replace(PASSWORD, "wr0ng"))
    done = run("ping", env=wrong)
    assert done.code == 1
    assert "wr0ng" not in done.err


def test_passwords_come_from_files(start, tmp_path):
    server = start("--requirepass", PASSWORD)
    file = tmp_path / "password"
    file.write_text(PASSWORD + "\n", "ascii")
    out = good("ping", "-u", f"{server.url}?password_file={file}")
    assert out.startswith(f"{server.url} answered in ")
    good("ping", "-u", server.url, "--set", f"password_file={file}")
    file.write_text("", "ascii")
    assert bad(2, "ping", "-u", f"{server.url}?password_file={file}") == (
        f"limitree: password_file: {file}: is empty\n")


def test_the_walk_through(start):
    store = ("--store", start().url)
    out = good("try", EXAMPLE, *TRADE, "--times", "7", *store)
    assert out.count("allowed") == 6 and out.count("limited") == 1

    shown = rows(good("show", EXAMPLE, *TRADE, *store))
    assert shown["user:*/trade"][0] == "0/6"
    assert shown["user:*/trade"][1] != "-"
    assert shown["user:*"][0] == "10/16" and shown["user:*"][1] == "-"

    reset = rows(good("reset", EXAMPLE, *TRADE, "--leaf", *store))
    assert reset["user:*/trade"] == ["6/6", "-", "-"]
    assert reset["user:*"][0] == "10/16"
    reset = rows(good("reset", EXAMPLE, *TRADE, *store))
    assert reset["user:*"] == ["16/16", "-", "-"]


def test_showing_charges_nothing(start):
    store = ("--store", start().url)
    for _ in range(3):
        shown = rows(good("show", EXAMPLE, *TRADE, *store))
        assert shown["user:*"] == ["16/16", "-", "-"]


def test_prefixes_keep_programs_apart(start):
    store = ("--store", start().url)
    good("try", EXAMPLE, *TRADE, "--times", "6", *store)
    other = good("try", EXAMPLE, *TRADE, *store, "--set", "prefix=other:")
    assert "allowed" in other
    assert "limited" in good("try", EXAMPLE, *TRADE, *store)


def test_try_tells_who_denied(start):
    out = good("try", EXAMPLE, *TRADE, "--times", "9", "--store", start().url)
    assert out.count("limited (deny_cache)") == 3
    out = good("try", EXAMPLE, *TRADE, "--times", "2", "--store", start().url,
               "--set", "deny_cache=off")
    assert "deny_cache" not in out


@pytest.mark.parametrize("policy, answer", [
    ("allow", "allowed (allow)"), ("deny", "limited (deny)"),
    ("local", "allowed (local)")])
def test_try_tells_who_decided_for_a_store_that_is_down(start, policy, answer):
    server = start()
    server.stop()
    words = ("try", EXAMPLE, *TRADE, "--store", server.url)
    assert answer in good(*words, "--set", f"on_store_error={policy}")
    assert bad(1, *words).startswith("limitree: ")
    # on_store_error replaces the store's decisions, but not its buckets.
    for command in ("show", "reset"):
        assert bad(1, command, EXAMPLE, *TRADE, "--store", server.url, "--set",
                   f"on_store_error={policy}").startswith("limitree: ")
