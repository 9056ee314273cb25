"""The examples of the pages on Python and of the README work as printed."""

import pathlib
import re
import shutil

import pytest

import limitree
from limitree import default

ROOT = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.S | re.M)


def blocks_of(page):
    """Yields each block with blank lines before it, as many as in the page."""
    text = (ROOT / page).read_text()
    for match in BLOCK.finditer(text):
        before = text.count("\n", 0, match.start()) + 1
        yield "\n" * before + match[1]


@pytest.mark.parametrize("page", ["README.md", "docs/python.md",
                                  "docs/client-ip.md", "docs/fastapi.md",
                                  "docs/flask.md", "docs/telemetry.md"])
def test_page(page, tmp_path, monkeypatch, limitree_clock):
    monkeypatch.setattr("limitree.limiter.default_clock", None)
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    names, tests = {"__name__": page}, 0
    for block in blocks_of(page):
        exec(compile(block, page, "exec"), names)
    monkeypatch.setattr("limitree.limiter.default_clock", limitree_clock)
    for name in [name for name in names if name.startswith("test_")]:
        names[name](limitree_clock)
        tests += 1
    assert len(names) > 2
    assert tests == {"docs/python.md": 1, "docs/flask.md": 5}.get(page, 0)


def test_every_call_is_in_the_table():
    page = (ROOT / "docs/python.md").read_text()
    for kind in (limitree.Limiter, limitree.Decision):
        for name in dir(kind):
            if not name.startswith("_") and name not in (
                    "close", "closed", "is_remote", "reload"):
                assert re.search(rf"`{name}[`(]", page), name


def test_the_module_functions_are_those_of_the_default():
    assert limitree.configure is default.configure
