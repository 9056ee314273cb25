"""limitree try: the numbers in its tables, and their layout."""

import re

import pytest
from command import EXAMPLE, WEB, bad, good


def rows(text):
    """Returns the rows of all tables, cell by cell."""
    lines = [line for line in text.splitlines()
             if re.match(r" *\d+  ", line)]
    return [re.split(r"  +", line.strip()) for line in lines]


def responses(text):
    return [re.search(r"\[.*\]", line).group()
            for line in text.splitlines() if "[" in line]


def test_trades_until_limited():
    out = good("try", EXAMPLE, "user", "alex", "trade", "--times", "8")
    assert responses(out) == [
        "[0, 6, 5, -1, 2]", "[0, 6, 4, -1, 4]", "[0, 6, 3, -1, 6]",
        "[0, 6, 2, -1, 8]", "[0, 6, 1, -1, 10]", "[0, 6, 0, -1, 12]",
        "[1, 6, 0, 2, 12]", "[1, 6, 0, 2, 12]"]


def test_levels_side_by_side():
    out = good("try", EXAMPLE, "user", "alex", "trade", "--times", "7")
    table = rows(out)
    assert table[0][-6:] == ["15/16", "-", "2s", "5/6", "-", "1.5s"]
    assert table[6][-6:] == ["10/16", "-", "12s", "0/6", "1.5s", "9s"]
    assert table[6][:3] == ["7", "limited", "[1, 6, 0, 2, 12]"]


def test_steps_share_their_buckets():
    out = good("try", EXAMPLE, "user", "alex", "trade", "--times", "8",
               "--then", "user", "alex", "withdrawal", "--times", "2")
    assert "user alex trade, 8 times at once\n" in out
    assert "\nuser alex withdrawal, 2 times at once\n" in out
    # Six trades have been charged to the user.
    assert rows(out)[8][-6:] == ["9/16", "-", "14s", "5/6", "-", "1.5s"]


def test_time_passes_as_told():
    out = good("try", EXAMPLE, "user", "alex", "trade", "--times", "8",
               "--every", "1500ms", "--then", "user", "alex", "trade",
               "--after", "1m")
    table = rows(out)
    assert all(row[2] == "allowed" for row in table)
    assert [row[1] for row in table] == [
        "0s", "1.5s", "3s", "4.5s", "6s", "7.5s", "9s", "10.5s", "1m11s"]
    assert table[8][-6:] == ["15/16", "-", "2s", "5/6", "-", "1.5s"]


def test_retry_after_is_exact():
    """One trade fits 1.5 s after the bucket is empty, and none 1 ns earlier."""
    def last(wait):
        return rows(good("try", EXAMPLE, "user", "alex", "trade", "--times",
                         "6", "--then", "user", "alex", "trade", "--after",
                         wait))[-1][2]
    assert last("1.5s") == "allowed"
    assert last("1499999999ns") == "limited"


def test_cost():
    out = good("try", EXAMPLE, "user", "alex", "trade", "--cost", "7")
    assert "user alex trade, cost 7\n" in out
    assert rows(out)[0][1:] == ["limited", "[1, 6, 6, -1, 0]", "16/16", "-",
                                "0s", "6/6", "never", "0s"]
    out = good("try", EXAMPLE, "user", "alex", "trade", "--cost", "0",
               "--times", "2")
    assert rows(out)[1][1:3] == ["allowed", "[0, 6, 6, -1, 0]"]


UNITS = """\
schema:
  key:
    limits:
      - {name: rpm, count: 3, period: 1m}
      - {name: tpm, count: 100, period: 1m, unit: tokens}
"""


def test_costs_in_other_units():
    out = good("try", "-", "key", "--cost", "tokens=60", "--times", "2",
               "--then", "key", "--cost", "tokens=40", "--cost", "2",
               "--then", "key", "--cost", "0", text=UNITS)
    assert "key, 2 times at once, 60 tokens\n" in out
    assert "\nkey, cost 2, 40 tokens\n" in out
    table = rows(out)
    assert table[0][-6:] == ["2/3", "-", "20s", "40/100 tokens", "-", "36s"]
    assert table[1][1] == "limited" and table[1][-2] == "12s"
    assert table[2][-6:] == ["0/3", "-", "1m", "0/100 tokens", "-", "1m"]
    assert table[3][1] == "allowed"


HOLDS = """\
schema:
  key:
    limits:
      - {name: tpm, count: 100, period: 1m, unit: tokens, hold: 10m}
      - {name: slots, concurrent: 1, hold: 30s}
"""


def test_reservations():
    out = good("try", "-", "key", "--reserve", "--cost", "tokens=60",
               "--times", "2", "--then", "key", "--reserve", "--hold", "5s",
               "--cost", "tokens=10", "--after", "30s", text=HOLDS)
    assert "key, 2 times at once, 60 tokens, reserved\n" in out
    assert "key, 10 tokens, reserved for 5s\n" in out
    table = rows(out)
    assert [row[2] for row in table] == ["allowed", "limited", "allowed"]
    assert "40/100 tokens" in table[0] and "0/1" in table[0]
    assert "30/100 tokens" in table[2]


def test_slots_must_be_reserved():
    assert "reserve" in bad(1, "try", "-", "key", "--cost", "tokens=1",
                            text=HOLDS)
    assert "--hold requires --reserve" in bad(
        2, "try", "-", "key", "--hold", "1s", text=HOLDS)


@pytest.mark.parametrize("costs, message", [
    ((), "key#tpm counts tokens, and the request names none"),
    (("request=1",), "key#tpm counts tokens, and the request names none"),
    (("tokens=1", "euro=1"), 'no limit counts "euro", they count tokens'),
])
def test_refused_costs(costs, message):
    words = [word for cost in costs for word in ("--cost", cost)]
    assert bad(1, "try", "-", "key", *words, text=UNITS) == (
        f"limitree: {message}\n")


def test_explain_names_the_unit():
    assert "100 tokens per 1m" in good("explain", "-", "key", text=UNITS)


def test_shadow_levels_are_marked():
    assert "(shadow)" in good("try", WEB, "ip", "203.0.113.5")


def test_path_without_limits():
    out = good("try", WEB, "ip", "192.0.2.10")
    assert responses(out) == ["[0, -1, -1, -1, 0]"]


def test_refused_paths():
    assert bad(1, "try", EXAMPLE, "usr", "alex").startswith(
        "limitree: unknown root")
    assert bad(1, "try", WEB, "ip", "localhost").startswith("limitree: ")


def test_control_characters_stay_out():
    assert "\033" not in good("try", EXAMPLE, "user", "\033[2J")
