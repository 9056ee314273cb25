"""The effect of --store, --set and LIMITREE_STORE on commands."""

import pytest
from command import EXAMPLE, bad, environment, good, run

MEMORY = ("--store", "memory://")
SECRET = "redis://app:s3cret@[::1/0"  # a bracket is missing


def test_ping_tells_who_answered_and_how_fast():
    out = good("ping", *MEMORY)
    assert out.startswith("memory:// answered in ")
    assert out.count("\n") == 1


def test_the_store_may_come_from_the_environment():
    env = environment(LIMITREE_STORE="memory://")
    assert "memory://" in good("ping", env=env)
    # The command line takes precedence.
    assert "must be memory://" in bad(
        2, "ping", "--store", "mongodb://a", env=env)


@pytest.mark.parametrize("words", [
    ["ping"],
    ["show", EXAMPLE, "user", "alex"],
    ["reset", EXAMPLE, "user", "alex"],
])
@pytest.mark.parametrize("value", [None, ""])
def test_commands_that_need_a_store_say_so(words, value):
    message = bad(2, *words, env=environment(LIMITREE_STORE=value))
    assert message == (
        "limitree: no store is given: --store URL, or LIMITREE_STORE in the "
        "environment; see --help\n")


def test_show_tells_what_is_left():
    out = good("show", EXAMPLE, "user", "alex", "trade", *MEMORY)
    rows = [line.split() for line in out.splitlines()]
    assert rows[0][:2] == ["limit", "left"]
    assert rows[1] == ["user:*", "16/16", "-", "-"]
    assert rows[2] == ["user:*/trade", "6/6", "-", "-"]


def test_show_names_the_unit():
    text = ("schema: {key: {limits: [{name: rpm, count: 3, period: 1m}, "
            "{name: tpm, count: 9, period: 1m, unit: tokens}, "
            "{name: euro, count: 7, period: 1m, unit: cents}]}}")
    out = good("show", "-", "key", *MEMORY, text=text)
    assert [line.split() for line in out.splitlines()[1:]] == [
        ["key#rpm", "3/3", "-", "-"],
        ["key#tpm", "9/9", "tokens", "-", "-"],
        ["key#euro", "7/7", "cents", "-", "-"]]
    assert "9/9 tokens" in good("reset", "-", "key", *MEMORY, text=text)


def test_reset_tells_what_is_left():
    for words in ((), ("--leaf",)):
        out = good("reset", EXAMPLE, "user", "alex", "trade", *words, *MEMORY)
        assert "user:*/trade    6/6" in out


def test_paths_without_limits():
    for command in ("show", "reset"):
        assert good(command, "-", "free", *MEMORY,
                    text="schema: {free: {}}") == (
                        "there is no limit on this path\n")


def test_refused_paths_and_files():
    for command in ("show", "reset"):
        assert bad(1, command, EXAMPLE, "usr", "alex", *MEMORY).startswith(
            "limitree: unknown root")
        assert bad(1, command, "nowhere.yaml", "user", *MEMORY) == (
            "limitree: nowhere.yaml: no such file or directory\n")
        assert bad(1, command, "-", "user", *MEMORY,
                   text="schema: {user: {limits: [0, 0, 1]}}").startswith(
                       "standard input:1:")


def test_try_in_a_store():
    out = good("try", EXAMPLE, "user", "alex", "trade", "--times", "7", *MEMORY)
    assert "[1, 6, 0, 2, 12]" in out
    env = environment(LIMITREE_STORE="nonsense")
    good("try", EXAMPLE, "user", "alex", env=env)
    assert "must be memory://" in bad(
        2, "try", EXAMPLE, "user", "alex", "--store", "env", env=env)


def test_time_in_a_store_passes_by_itself():
    for option in ("--every", "--after"):
        assert "--every and --after need" in bad(
            2, "try", EXAMPLE, "user", "alex", option, "1s", *MEMORY)


@pytest.mark.parametrize("setting, wrong", [
    ("timeout", "'timeout' is not NAME=VALUE"),
    ("timeout=soon", "timeout: must be a duration from 1ms to 1m"),
    ("patience=2s", 'there is no option "patience", there are: store, '),
    ("tls_verify=off", "tls_verify: needs a store with TLS"),
])
def test_settings_that_make_no_sense(setting, wrong):
    assert wrong in bad(2, "ping", *MEMORY, "--set", setting)


def test_settings_reach_the_library():
    good("ping", *MEMORY, "--set", "timeout=1s", "--set", "prefix=a:=b")
    # An empty value is valid, too.
    good("ping", *MEMORY, "--set", "prefix=")


@pytest.mark.parametrize("words", [
    ["ping"], ["show", EXAMPLE, "user"], ["reset", EXAMPLE, "user"]])
def test_passwords_are_not_shown(words):
    for done in (run(*words, "--store", SECRET),
                 run(*words, env=environment(LIMITREE_STORE=SECRET))):
        assert done.code == 2
        assert done.err.startswith("limitree: store: ")
        assert "s3cret" not in done.out + done.err
