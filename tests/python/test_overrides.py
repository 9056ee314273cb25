"""Ids of every kind, and files of ids that have their own limits."""

import pytest

import limitree

LIMITS = """
schema:
  account:
    key: integer
    overrides: accounts.csv
    children:
      "*": {limits: {count: 3, period: 1h}}
"""


@pytest.fixture
def limits(tmp_path):
    """A limits.yaml with its overrides next to it, in another folder."""
    (tmp_path / "accounts.csv").write_text("id,count,period\n42,5,1h\n")
    file = tmp_path / "limits.yaml"
    file.write_text(LIMITS)
    return file


def test_are_found_beside_the_limits(limits):
    limiter = limitree.Limiter(limits)
    assert limiter.peek("account", "42").limit == 5
    assert limiter.peek("account", "43").limit == 3


def test_an_id_is_one_caller_however_it_is_written(limits):
    limiter = limitree.Limiter(limits)
    for written in ("42", "042", "0042"):
        limiter.authorize("account", written)
    assert limiter.peek("account", "42", cost=0).remaining == 2


def test_a_bad_id_names_its_segment(limits):
    with pytest.raises(ValueError) as refused:
        limitree.Limiter(limits).authorize("account", "alex")
    assert str(refused.value) == 'segment 1 "alex" is not a whole number'


def test_a_reload_takes_both_files_or_neither(limits):
    limiter = limitree.Limiter(limits)
    assert limiter.authorize("account", "42", cost=4).remaining == 1
    accounts = limits.with_name("accounts.csv")
    accounts.write_text("id,count,period\n42,9,1h\nx,1,1h\n7,0,1h\n")
    with pytest.raises(limitree.ConfigError) as refused:
        limiter.reload()
    assert str(refused.value).splitlines()[0].startswith(f"{accounts}:3:1: ")
    assert limiter.peek("account", "42", cost=0).remaining == 1
    accounts.write_text("id,count,period\n42,9,1h\n")
    limiter.reload()
    assert limiter.peek("account", "42", cost=0).limit == 9


def test_limits_as_text_look_into_the_working_directory(limits, monkeypatch):
    with pytest.raises(limitree.ConfigError, match="no such file"):
        limitree.Limiter(LIMITS)
    monkeypatch.chdir(limits.parent)
    assert limitree.Limiter(LIMITS).peek("account", "42").limit == 5
