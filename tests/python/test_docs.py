"""The examples of the pages work as printed, from the top of a page to its end,
in a folder that holds nothing but the files the page gives.

docs/django.md is a whole project: test_django_docs.py runs it.  A worker runs
docs/celery.md in test_celery.py.
"""

import pathlib
import re
import sys
import types

import pytest

import limitree
from limitree import default

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import docs_blocks  # noqa: E402

#: How many functions `test_...` each page has.
PAGES = {"README.md": 0, "docs/aiohttp.md": 0, "docs/blocks.md": 0,
         "docs/boulder.md": 0,
         "docs/client-ip.md": 0,
         "docs/descriptors.md": 0,
         "docs/fastapi.md": 0, "docs/flask.md": 7, "docs/frameworks.md": 3,
         "docs/grpc.md": 0,
         "docs/litellm.md": 0, "docs/litestar.md": 0, "docs/logins.md": 0,
         "docs/outbound.md": 0,
         "docs/python.md": 1, "docs/quart.md": 0, "docs/redis.md": 0,
         "docs/reservations.md": 0, "docs/sanic.md": 0,
         "docs/shared-memory.md": 0,
         "docs/telemetry.md": 0}


@pytest.mark.parametrize("page", PAGES)
def test_page(page, tmp_path, monkeypatch, request):
    monkeypatch.setattr(default, "_limiter", None)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # as if Python was started there
    module = types.ModuleType(page)
    monkeypatch.setitem(sys.modules, page, module)  # Litestar looks there
    names, run = vars(module), 0
    for block in docs_blocks.blocks_of(ROOT, page):
        if "shm://" in block.text and sys.platform != "linux":
            continue
        if block.file:
            docs_blocks.save(block, tmp_path)
        elif block.language == "python":
            # So that line numbers in errors are those of the page.
            text = docs_blocks.in_folder("\n" * block.line + block.text,
                                         tmp_path)
            exec(compile(text, page, "exec"), names)
            run += 1
    assert run
    # As for a test of a program: its modules have been imported before.
    clock = request.getfixturevalue("limitree_clock")
    tests = [name for name in names if name.startswith("test_")]
    for name in tests:
        names[name](clock)
    assert len(tests) == PAGES[page]


def test_every_page_is_run():
    assert {page for page in docs_blocks.list_pages(ROOT)
            if any(block.language == "python"
                   for block in docs_blocks.blocks_of(ROOT, page))
            } == {*PAGES, "docs/celery.md", "docs/django.md"}


def test_every_call_is_in_the_table():
    page = (ROOT / "docs/python.md").read_text()
    for kind in (limitree.Limiter, limitree.Decision):
        for name in dir(kind):
            if not name.startswith("_") and name not in (
                    "close", "closed", "is_remote", "is_shared", "reload"):
                assert re.search(rf"`{name}[`(]", page), name


def test_the_module_functions_are_those_of_the_default():
    assert limitree.configure is default.configure
