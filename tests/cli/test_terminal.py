"""Colors, block characters and the progress bar: on a terminal only."""

import os
import subprocess

from command import (BOTH_PATHS, COMMAND, EXAMPLE, EXAMPLE_LOG, WEB,
                     environment, good, log_line, on_terminal)

TRY = ("try", EXAMPLE, "user", "alex", "trade", "--times", "8")
REPLAY = ("replay", WEB, EXAMPLE_LOG, *BOTH_PATHS)
RED = "\033[31m"
BLOCK = "\u2588"


def test_colour_on_a_terminal_only():
    assert RED in on_terminal(*TRY).out
    assert "\033" not in good(*TRY)
    assert RED in on_terminal(*REPLAY).out
    assert "\033" not in good(*REPLAY)


def test_no_colour_where_it_is_not_wanted():
    assert "\033" not in on_terminal(*TRY, env=environment(NO_COLOR="1")).out
    assert "\033" not in on_terminal(*TRY, env=environment(TERM="dumb")).out
    assert "\033" not in on_terminal(*TRY, env=environment(TERM=None)).out
    assert RED in on_terminal(*TRY, env=environment(NO_COLOR="")).out


def test_block_characters_on_utf8_terminals_only():
    assert BLOCK in on_terminal(*REPLAY).out
    plain = on_terminal(*REPLAY, env=environment(LC_ALL="C")).out
    assert plain.isascii()
    assert "####" in plain
    assert good(*REPLAY).isascii()


def test_same_words_with_and_without_colour():
    shown = on_terminal(*TRY).out.replace("\r\n", "\n")
    for code in ("0", "1", "2", "31", "32", "33"):
        shown = shown.replace(f"\033[{code}m", "")
    assert shown == good(*TRY)


def test_narrow_terminals_get_a_row_for_each_level():
    shown = on_terminal(*TRY, columns=60).out
    assert all(len(line) <= 60 for line in
               on_terminal(*TRY, columns=60,
                           env=environment(NO_COLOR="1")).out.splitlines())
    assert "response, levels" in shown


def test_progress_on_a_terminal_only(tmp_path):
    """A slow replay shows its progress; the bar is gone in the end."""
    log = tmp_path / "a.log"
    lines = 200_000 if os.environ.get("LIMITREE_SANITIZED") else 2_000_000
    log.write_text(log_line(0) * lines, encoding="ascii")
    words = ("replay", "--json", WEB, log, "--path", "ip,{remote_addr}")
    shown = on_terminal(*words)
    assert "lines\033[K" in shown.err and "%" in shown.err
    assert shown.err.endswith("\r\033[K")
    assert shown.out.startswith("{")
    done = subprocess.run([COMMAND, *map(str, words)], capture_output=True,
                          check=True, env=environment(), timeout=120)
    assert done.stderr == b""
