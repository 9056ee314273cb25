"""Tests of the checks of the sources: each check finds its mistakes."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))
sys.path.insert(0, str(ROOT / "tests" / "capi"))
import docs_code  # noqa: E402
import docs_facts  # noqa: E402
import docs_site  # noqa: E402
import import_circles  # noqa: E402
import layering  # noqa: E402
import recipes  # noqa: E402
import source_style  # noqa: E402
import symbols  # noqa: E402


def write(root, name, text):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("name, include", [
    ("core/tree/tree.cpp", '"base/plan.hpp"'),
    ("core/store/redis/redis_store.hpp", '"store/remote/wire/connection.hpp"'),
    ("core/text/yaml.cpp", "<yaml.h>"),
    ("capi/limitree.cpp", '"limiter/limiter.hpp"'),
    ("bindings/cli/main.cpp", "<limitree.h>"),
    ("server/worker.cpp", '"services/health.hpp"'),
    ("server/h2/stream.cpp", '"io/loop.hpp"'),
    ("core/store/redis/redis_store.cpp", '"io/loop.hpp"'),
    ("io/tls_stream.cpp", "<openssl/ssl.h>"),
])
def test_layering_allows(tmp_path, name, include):
    write(tmp_path, name, f"#include {include}\n")
    assert layering.check(tmp_path) == []


@pytest.mark.parametrize("name, include", [
    ("core/base/gcra.hpp", '"tree/tree.hpp"'),
    ("core/base/gcra.hpp", "<mutex>"),
    ("core/tree/tree.cpp", '"store/store.hpp"'),
    ("core/tree/tree.cpp", "<yaml.h>"),
    ("core/store/clock.hpp", '"store/memory/memory_store.hpp"'),
    ("core/store/redis/wire/reader.cpp", '"store/redis/script/call.hpp"'),
    ("core/extra/extra.hpp", "<vector>"),
    ("capi/limitree.h", "<stdbool.h>"),
    ("bindings/cli/main.cpp", '"limiter/limiter.hpp"'),
    ("io/loop.cpp", '"h2/stream.hpp"'),
    ("io/loop.cpp", '"store/clock.hpp"'),
    ("core/store/store.hpp", '"io/loop.hpp"'),
    ("server/h2/stream.cpp", "<openssl/ssl.h>"),
    ("server/worker.cpp", '"tree/tree.hpp"'),
    ("server/web/decision_pages.hpp", '"services/decision_services.hpp"'),
    ("server/attic/old.cpp", "<vector>"),
    ("examples/c/main.c", '"base/gcra.hpp"'),
])
def test_layering_refuses(tmp_path, name, include):
    write(tmp_path, name, f"// A comment.\n#include {include}\n")
    bad = layering.check(tmp_path)
    assert len(bad) == 1 and bad[0].startswith(name + ": ")


def package_with(root, files):
    write(root, "python/p/__init__.py", "")
    for name, text in files.items():
        write(root, f"python/p/{name}.py", text + "\n")
    return root / "python"


@pytest.mark.parametrize("files, told", [
    ({"a": "import p.b", "b": "import p.c", "c": "from . import a"},
     "p.c imports p.a"),
    ({"a": "import p.b", "b": "def f():\n    import p.a"}, "p.b imports p.a"),
    ({"a": "import p.b", "b": "if TYPE_CHECKING:\n    import p.a"},
     "p.b imports p.a"),
])
def test_import_circles_are_found(tmp_path, files, told):
    bad = import_circles.check(package_with(tmp_path, files))
    assert len(bad) == 1 and told in bad[0]


@pytest.mark.parametrize("files", [
    {"a": "from p.b import name", "b": "from p import c", "c": ""},
    # That module can be imported only with an optional package.
    {"a": "def f():\n    import p.b", "b": "import gevent, p.a"},
])
def test_import_circles_are_not_seen_where_there_are_none(tmp_path, files):
    assert import_circles.check(package_with(tmp_path, files)) == []


@pytest.mark.parametrize("files", [
    {"core/base/a.cpp": '#include "base/b.hpp"',
     "core/base/b.cpp": '#include "base/a.hpp"',
     "core/base/a.hpp": "", "core/base/b.hpp": ""},
    {"node/src/a.ts": "import { b } from './b.js';",
     "node/src/b.ts": "import type { A } from './a.js';"},
])
def test_circles_of_units_are_found(tmp_path, files):
    for name, text in files.items():
        write(tmp_path, name, text + "\n")
    bad = import_circles.check_units(tmp_path)
    folder = next(iter(files)).rpartition("/")[0]
    assert len(bad) == 1 and f"{folder}/a imports {folder}/b" in bad[0]


@pytest.mark.parametrize("name, text, wrong", [
    ("core/base/a.cpp", "// caf\u00e9\n", "is not ASCII"),
    ("core/base/a.cpp", "\tint x;\n", "has a tab"),
    ("core/base/a.cpp", "int x; \n", "ends with a blank"),
    ("core/base/a.cpp", "int x;", "no newline at the end"),
    ("dev", "# " + "x" * 79 + "\n", "81 columns"),
    ("core/base/a.cpp", "int x;\n" * 401, "401 lines"),
    ("core/base/a.hpp", "using std::string;\n", "using declaration"),
    ("core/base/a.cpp", "// TODO: later\n", "without its issue"),
])
def test_style_refuses(tmp_path, name, text, wrong):
    write(tmp_path, name, text)
    bad = source_style.check(tmp_path)
    assert bad and wrong in bad[0] and bad[0].startswith(name + ":")


def test_functions_of_a_header():
    header = """
        /* LIMITREE_API int32_t limitree_old(void); */
        LIMITREE_API const char *limitree_version(void);
        LIMITREE_API void limitree_set(
            limitree_config *config, void (*done)(void *user_data));
    """
    assert symbols.functions_of(header) == {"limitree_version", "limitree_set"}


@pytest.mark.parametrize("shown, output, same", [
    ("a\n...\nd\n", "a\nb\nc\nd\n", True),
    ("a\nb\n", "a\nc\n", False),
    ("a\n", "a\nb\n", False),
])
def test_output_shown_in_a_document(shown, output, same):
    assert docs_code.is_like(shown, output) is same


@pytest.mark.parametrize("name, text, wrong", [
    ("README.md", "`core/none.hpp`", "README.md: there is no core/none.hpp"),
    ("README.md", "[x](docs/none.md)", "README.md: there is no docs/none.md"),
    ("core/text/c.hpp", "", "docs/architecture.md: does not name core/text/"),
    ("docs/lost.md", "", "mkdocs.yml: has no place for docs/lost.md"),
])
def test_docs_facts_refuses(tmp_path, name, text, wrong):
    write(tmp_path, "core/base/a.hpp", "")
    write(tmp_path, "docs/architecture.md", "`core/base/`\n")
    write(tmp_path, "mkdocs.yml", "nav:\n      - architecture.md\n")
    assert docs_facts.check(tmp_path) == []
    write(tmp_path, name, text)
    assert docs_facts.check(tmp_path) == [wrong]


def test_docs_facts_compares_libraries(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- libraries -->\nIt needs `liba` and `libb`.\n",
                    encoding="ascii")
    assert list(docs_facts.wrong_libraries(page, {"liba", "libc", "libd"})) == [
        "page.md: does not say that libd is needed",
        "page.md: libb is not needed"]


RECIPE = "<!-- recipe two-2 -->\n| `core/http.cpp` | x |\n"


@pytest.mark.parametrize("name, text, wrong", [
    ("bindings/a.cpp", "two-2",
     "docs/http.md: bindings/a.cpp names two-2, but no recipe names it"),
    ("docs/http.md", RECIPE + "| `core/none.hpp` | x |",
     "docs/http.md: there is no core/none.hpp"),
    ("core/http.cpp", "", "docs/http.md: core/http.cpp does not name two-2"),
])
def test_recipes_refuse(tmp_path, monkeypatch, name, text, wrong):
    monkeypatch.setattr(recipes, "wrong_styles", lambda root: [])
    write(tmp_path, "core/http.cpp", "two-2")
    write(tmp_path, "docs/http.md", RECIPE)
    assert recipes.check(tmp_path) == []
    write(tmp_path, name, text)
    assert wrong in recipes.check(tmp_path)


@pytest.mark.parametrize("text, wrong", [
    ('<a href="../b/#part">x</a>', None),
    ('<a href="../c/">x</a>', "there is no ../c/"),
    ('<a href="../b/#none">x</a>', "nothing has the anchor of ../b/#none"),
    ("<p>these:\n* one</p>", "Markdown is left: * "),
])
def test_docs_site(tmp_path, monkeypatch, text, wrong):
    monkeypatch.setattr(docs_site, "wrong_reference", lambda root, site: [])
    write(tmp_path, "a/index.html", text)
    write(tmp_path, "b/index.html", '<h2 id="part">Part</h2>')
    assert docs_site.check(tmp_path, tmp_path) == (
        [f"a/index.html: {wrong}"] if wrong else [])


PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")


def test_actions_are_pinned_by_their_commits():
    """A tag can be moved to other code."""
    uses = [line.split("uses:")[1].strip()
            for path in (ROOT / ".github" / "workflows").glob("*.yml")
            for line in path.read_text(encoding="utf-8").splitlines()
            if re.match(r"\s*(- )?uses:", line)]
    assert len(uses) > 20
    assert [one for one in uses if not PINNED.fullmatch(one)] == []


@pytest.mark.parametrize("arguments, code, output", [
    (["--help"], 0, "Usage: format.sh [--check]"),
    (["--chekc"], 2, "unknown argument: --chekc"),
    (["--check", "core"], 2, "unknown argument: --check core"),
])
def test_format_takes_no_other_argument(tmp_path, arguments, code, output):
    """With a formatter that only tells that it ran."""
    ran = tmp_path / "ran"
    write(tmp_path, "clang-format-14",
          f'#!/bin/sh\n[ "$1" = --version ] && echo version 14.0 || '
          f'echo "$@" >>{ran}\n')
    (tmp_path / "clang-format-14").chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "scripts" / "format.sh"), *arguments], text=True,
        capture_output=True, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert (done.returncode, ran.exists()) == (code, False)
    assert output in done.stdout + done.stderr
