"""Commands on a file of shm://, which other processes have open."""

import os
import re
import stat

import pytest
from command import EXAMPLE, bad, good

PATH = (EXAMPLE, "user", "alex", "trade")


@pytest.fixture(name="url")
def fixture_url(tmp_path):
    return f"shm://{tmp_path}/limits"


def try_twice(url):
    good("try", *PATH, "--times", "2", "--store", url)


def test_several_processes_charge_the_same_buckets(url):
    assert "[1, 6, 0, 2, 12]" not in good(
        "try", *PATH, "--times", "6", "--store", url)
    assert "[1, 6, 0, 2, 12]" in good("try", *PATH, "--store", url)


def test_show_and_reset(url):
    try_twice(url)
    for command, left in (("show", 4), ("reset", 6), ("show", 6)):
        out = good(command, *PATH, "--store", url)
        assert re.search(rf"user:\*/trade +{left}/6 ", out), out


def test_show_changes_nothing(url, tmp_path):
    """Its limits may be others than those of the service."""
    def limits(text):
        path = tmp_path / "limits.yaml"
        path.write_text(f"schema: {{user: {{limits: {text}}}}}\n")
        return str(path)
    daily = limits("1 per 1d burst 4")
    good("try", daily, "user", "--times", "4", "--store", url)
    good("show", limits("1 per 1s"), "user", "--store", url)
    out = good("show", limits("1 per 1d burst 4"), "user", "--store", url)
    assert re.search(r"user +0/4 +1d +4d", out), out


def test_ping_tells_what_the_file_is(url, tmp_path):
    try_twice(url + "?max_buckets=5000")
    size = os.stat(tmp_path / "limits").st_size
    lines = good("ping", "--store", url).splitlines()
    assert lines[0].startswith(f"{url} answered in ")
    assert lines[1] == f"file:      {tmp_path}/limits, format 2"
    assert re.fullmatch(rf"bytes:     [0-9,]+ in memory of {size:,}", lines[2])
    assert lines[3] == "buckets:   2 of 5,000"
    assert lines[4] == "processes: 0"
    assert len(lines) == 5


def test_a_folder_with_an_at_sign(tmp_path):
    (tmp_path / "a@b").mkdir()
    url = f"shm://{tmp_path}/a@b/limits"
    try_twice(url)
    assert good("ping", "--store", url).startswith(f"{url} answered in ")


@pytest.mark.parametrize("words", [["ping"], ["show", *PATH], ["reset", *PATH]])
@pytest.mark.parametrize("parameters", ["", "?mode=0660"])
def test_looking_makes_no_file(url, tmp_path, words, parameters):
    assert bad(1, *words, "--store", url + parameters) == (
        f"limitree: {tmp_path}/limits: cannot be opened: No such file or "
        "directory\n")
    assert not list(tmp_path.iterdir())


def test_a_file_with_a_mode(url, tmp_path):
    try_twice(url + "?mode=0660")
    assert stat.S_IMODE(os.stat(tmp_path / "limits").st_mode) == 0o660


def test_urls_that_make_no_sense():
    assert bad(2, "ping", "--store", "shm://a/b") == (
        "limitree: store: shm:// needs a name, as in shm://myapp, or an "
        "absolute path, as in shm:///var/lib/myapp/limits\n")


def test_a_file_that_is_damaged(url, tmp_path):
    (tmp_path / "limits").write_bytes(b"x" * 5000)
    assert bad(1, "ping", "--store", url) == (
        f"limitree: {tmp_path}/limits: is not a file of limitree; reset=1 in "
        "the URL makes it anew\n")
    good("ping", "--store", url + "?reset=1")
