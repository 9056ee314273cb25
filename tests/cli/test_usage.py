"""Help, version, exit codes, and command lines that make no sense."""

import pytest
from command import BOTH_PATHS, EXAMPLE, WEB, bad, environment, good, run


def test_version():
    out = good("--version")
    assert out.startswith("limitree 0.")
    assert out.count("\n") == 1


@pytest.mark.parametrize("command", [
    "check", "convert", "explain", "try", "suggest", "replay", "show", "reset",
    "serve"])
def test_help_of_each_command_has_an_example(command):
    out = good(command, "--help")
    assert f"limitree {command} examples/" in out
    assert all(len(line) <= 80 for line in out.splitlines()), out


def test_help_lists_the_commands_and_exit_codes():
    out = good("--help")
    for word in ("check", "convert", "explain", "try", "suggest", "replay",
                 "ping", "show", "reset", "serve", "Exit codes"):
        assert word in out


@pytest.mark.parametrize("words", [
    [],
    ["chekc"],
    ["check"],
    ["check", EXAMPLE, "more"],
    ["check", "--loud", EXAMPLE],
    ["convert", EXAMPLE],
    ["convert", "--from", "boulder", EXAMPLE],
    ["convert", "--merge-domains", EXAMPLE],
    ["explain", EXAMPLE],
    ["try", EXAMPLE],
    ["try", EXAMPLE, "user", "alex", "--times", "0"],
    ["try", EXAMPLE, "user", "alex", "--times", "x"],
    ["try", EXAMPLE, "user", "alex", "--cost", "-1"],
    ["try", EXAMPLE, "user", "alex", "--cost", "tokens"],
    ["try", EXAMPLE, "user", "alex", "--cost", "tokens="],
    ["try", EXAMPLE, "user", "alex", "--cost", "1", "--cost", "2"],
    ["try", EXAMPLE, "user", "alex", "--every", "soon"],
    ["try", EXAMPLE, "user", "alex", "--then"],
    ["try", EXAMPLE, "user", "alex", "--then", "user", "alex", "--times"],
    ["replay", WEB],
    ["replay", WEB, "--path"],
    ["replay", WEB, "--path", ""],
    ["replay", WEB, "--path", "ip,{address}"],
    ["replay", WEB, *BOTH_PATHS, "--top", "-1"],
    ["replay", WEB, *BOTH_PATHS, "--max-buckets", "0"],
    ["replay", WEB, *BOTH_PATHS, "--max-flips", "1"],
    ["replay", WEB, *BOTH_PATHS, "--compare", WEB, "--max-flips", "-1"],
    ["replay", WEB, *BOTH_PATHS, "--compare", "-"],
    ["replay", "-", *BOTH_PATHS],
    ["replay", WEB, "-", "-", *BOTH_PATHS],
])
def test_usage_errors(words):
    done = run(*words)
    assert done.code == 2, done.err
    assert done.out == ""
    assert done.err.startswith("limitree: ")
    assert done.err.count("\n") == 1
    assert done.err[len("limitree: ")] not in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def test_usage_errors_say_what_is_wrong():
    assert bad(2) == "limitree: a command is required; see --help\n"
    assert bad(2, "chekc") == (
        "limitree: no command is called 'chekc', there are check, convert, "
        "explain, try, replay, suggest, simulate, ping, show, reset, top, "
        "serve; see --help\n")
    assert bad(2, "check") == "limitree: limits is required; see --help\n"
    assert bad(2, "try", EXAMPLE, "user", "--times", "0") == (
        "limitree: --times: '0' is not a number from 1 to 100000; see --help\n")
    assert bad(2, "try", EXAMPLE, "user", "--cost", "tokens=-1") == (
        "limitree: --cost: '-1' is not a number from 0 to 9223372036854775807; "
        "see --help\n")
    assert bad(2, "try", EXAMPLE, "user", "--cost", "a=1", "--cost", "a=1") == (
        "limitree: --cost: comes twice for a; see --help\n")
    assert bad(2, "try", EXAMPLE, "user", "--every", "soon") == (
        "limitree: --every: must be a duration such as 500ms, 15s, 3m, 2h, 1d, "
        'is "soon"; see --help\n')
    assert bad(2, "try", EXAMPLE, "user", "--after", "102 years") == (
        "limitree: --after: must be at most 100 years; see --help\n")
    assert bad(2, "simulate", "--period", "-1s") == (
        "limitree: --period: must not be negative, is -1s; see --help\n")
    assert bad(2, "replay", WEB, "--path", "ip,{address}").startswith(
        "limitree: --path 'ip,{address}': no field is called {address}; ")


@pytest.mark.parametrize("command, option", [
    (("replay", WEB, "--path", "a"), "--compare"),
    (("replay", WEB, "--path", "a"), "--html"),
    (("suggest", "--path", "a"), "--svg"),
    (("simulate",), "--svg"),
])
def test_a_file_has_a_name(command, option):
    """An empty variable of a script does not turn a check off."""
    assert bad(2, *command, option, "") == (
        f"limitree: {option}: must name a file; see --help\n")


def test_standard_output_has_one_use():
    assert bad(2, "replay", WEB, "--path", "a", "--json", "--html", "-") == (
        "limitree: --json and --html - would both print; see --help\n")
    assert bad(2, "suggest", "--path", "a", "--json", "--svg", "-") == (
        "limitree: --json and --svg - would both print; see --help\n")


@pytest.mark.parametrize("command", ["check", "explain", "try", "replay",
                                     "ping", "show", "reset"])
def test_segments_may_look_like_commands(command):
    out = good("explain", EXAMPLE, "user", command, "trade")
    assert command in out
    good("try", EXAMPLE, "user", command)


def test_segments_may_look_like_options():
    assert "--times" in good("explain", EXAMPLE, "--", "user", "--times")
    assert "--then" in good("try", EXAMPLE, "--", "user", "--then")


def test_missing_terminfo_is_no_trouble():
    good("check", EXAMPLE, env=environment(TERM=None, LC_ALL="nowhere"))
