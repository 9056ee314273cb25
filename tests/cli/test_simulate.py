"""limitree simulate: one traffic, every algorithm."""

import xml.etree.ElementTree

import pytest
from command import ROOT, bad, good

NAMES = ["gcra", "fixed_window", "sliding_log", "sliding_window",
         "sliding_tail", "leaky_bucket"]


def rows(out):
    return {words[0]: [int(word) for word in words[1:]]
            for words in (line.split() for line in out.splitlines()[2:])}


def test_all_algorithms():
    seen = rows(good("simulate"))
    assert list(seen) == NAMES
    for admitted, most in seen.values():
        assert 300 < admitted <= 700
        assert 100 <= most <= 200
    assert seen["fixed_window"][1] > 180
    assert seen["sliding_log"][1] == 100
    assert seen["sliding_window"][1] == 100


def test_one_algorithm_and_another_limit():
    seen = rows(good("simulate", "--algorithms", "sliding_log", "--count",
                     "10", "--period", "1m"))
    assert list(seen) == ["sliding_log"]
    assert seen["sliding_log"][1] == 10


def test_picture(tmp_path):
    picture = tmp_path / "picture.svg"
    good("simulate", "--svg", picture)
    root = xml.etree.ElementTree.parse(picture).getroot()
    assert root.tag.endswith("svg")
    words = "".join(root.itertext())
    assert all(name in words for name in NAMES)


def test_the_picture_of_the_docs_is_up_to_date():
    assert (good("simulate", "--svg", "-") ==
            (ROOT / "docs" / "algorithms.svg").read_text())


# ---- Leases ------------------------------------------------------------------


def leases(*words):
    """Returns requests, and what was admitted and asked without and with."""
    lines = good("simulate", "--lease", "100ms", "--count", "1000", "--period",
                 "1s", *words).splitlines()
    numbers = [[int(word.replace(",", "")) for word in line.split()[-3:-1]]
               for line in lines[2:]]
    return int(lines[0].split()[0].replace(",", "")), *numbers


def test_leases_save_round_trips_below_the_limit():
    offered, without, leased = leases()
    assert offered == 9000
    assert without == [9000, 9000]
    assert leased[0] == 9000
    assert leased[1] <= 0.15 * 9000


@pytest.mark.parametrize("load", ["110", "200", "1000"])
def test_leases_are_never_over(load):
    offered, without, leased = leases("--load", load, "--processes", "4")
    assert offered == 100 * int(load)
    # A burst, and what drains in ten seconds.
    assert leased[0] <= without[0] <= 11_000
    assert leased[0] >= 0.96 * without[0]
    assert leased[1] <= without[1] <= offered


def test_the_picture_of_leases_is_up_to_date():
    assert (good("simulate", "--lease", "100ms", "--count", "1000", "--period",
                 "1s", "--load", "120", "--svg", "-") ==
            (ROOT / "docs" / "leases.svg").read_text())


@pytest.mark.parametrize("words, message", [
    (["--lease", "600ms"], "--lease must be from 1ms to half of --period"),
    (["--lease", "0s"], "--lease must be from 1ms to half of --period"),
    (["--lease", "100ms", "--count", "1"], "--lease needs a --count of 2"),
    (["--lease", "100ms", "--algorithms", "gcra"], "--algorithms"),
    (["--load", "120"], "--lease"),
    (["--lease", "100ms", "--processes", "65"], "not a number from 1 to 64"),
])
def test_usage_of_leases(words, message):
    assert message in bad(2, "simulate", "--period", "1s", *words)


@pytest.mark.parametrize("words, message", [
    (["--algorithms", "sliding"], "no algorithm is called 'sliding'"),
    (["--period", "1us"], "--period must not be shorter than 1ms"),
    (["--count", "0"], "not a number from 1 to"),
])
def test_usage(words, message):
    assert message in bad(2, "simulate", *words)


def test_a_file_that_cannot_be_written():
    assert "/nowhere/picture.svg" in bad(1, "simulate", "--svg",
                                         "/nowhere/picture.svg")
