"""Tests of the checks of the sources: each check must find its mistakes."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.path.insert(0, str(pathlib.Path(__file__).parent / "capi"))
sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "scripts"))
import docs_code  # noqa: E402
import docs_facts  # noqa: E402
import docs_reference  # noqa: E402
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


GOOD_INCLUDES = [
    ("core/base/gcra.hpp", '"base/time.hpp"'),
    ("core/tree/tree.cpp", '"base/plan.hpp"'),
    ("core/text/yaml.cpp", "<yaml.h>"),
    ("core/text/yaml.cpp", '"base/status.hpp"'),
    ("core/tree/tree.cpp", '"text/yaml.hpp"'),
    ("core/descriptors/load.cpp", '"text/yaml.hpp"'),
    ("core/store/memory/memory_store.cpp", "<mutex>"),
    ("core/store/memory/memory_store.cpp", '"store/store.hpp"'),
    ("core/store/decorators/deny_cache.hpp", '"store/memory/memory_store.hpp"'),
    ("core/store/memory/private_memory.hpp", '"store/buckets/slot_table.hpp"'),
    ("core/store/redis/redis_store.hpp", '"store/redis/wire/connection.hpp"'),
    ("core/limiter/limiter.cpp", '"store/store.hpp"'),
    ("core/limiter/limiter.cpp", '"tree/tree.hpp"'),
    ("capi/limitree.cpp", '"limiter/limiter.hpp"'),
    ("capi/limitree.cpp", '"limitree.h"'),
    ("capi/limitree.h", "<stdint.h>"),
    ("bindings/cli/main.cpp", '"limitree.h"'),
    ("bindings/cli/main.cpp", "<limitree.h>"),
    ("bindings/cli/main.cpp", "<vector>"),
    ("bindings/cli/main.cpp", '"table.hpp"'),
    ("bindings/cli/serve.cpp", '"serve.hpp"'),
    ("server/worker.cpp", '"services/health.hpp"'),
    ("server/worker.cpp", '"worker.hpp"'),
    ("server/net/loop.cpp", "<sys/epoll.h>"),
    ("server/tls/stream.cpp", "<openssl/ssl.h>"),
    ("server/grpc/call.hpp", '"h2/stream.hpp"'),
    ("server/services/decision.hpp", '"limitree.h"'),
    ("server/http/request_reader.cpp", "<llhttp.h>"),
    ("server/http/http_stream.hpp", '"h2/stream.hpp"'),
    ("server/json/document.cpp", "<nlohmann/json.hpp>"),
    ("server/web/limiter_api.hpp", '"services/limiter_service.hpp"'),
    ("server/trace/otlp.cpp", "<protozero/pbf_writer.hpp>"),
    ("server/trace/tracer.hpp", '"stats/counter.hpp"'),
    ("examples/c/main.c", "<limitree.h>"),
]

BAD_INCLUDES = [
    ("server/net/loop.cpp", '"h2/stream.hpp"'),
    ("server/h2/stream.cpp", '"tls/context.hpp"'),
    ("server/h2/stream.cpp", "<openssl/ssl.h>"),
    ("server/grpc/call.cpp", "<nghttp2/nghttp2.h>"),
    ("server/grpc/call.cpp", '"services/health.hpp"'),
    ("server/grpc/call.cpp", '"stats/counter.hpp"'),
    ("server/stats/names.cpp", '"h2/stream.hpp"'),
    ("server/trace/exporter.cpp", "<re2/re2.h>"),
    ("server/grpc/call.cpp", "<protozero/pbf_reader.hpp>"),
    ("server/services/decision.cpp", '"worker.hpp"'),
    ("server/http/handler.cpp", '"json/document.hpp"'),
    ("server/http/handler.cpp", '"web/limiter_api.hpp"'),
    ("server/web/limiter_api.cpp", "<llhttp.h>"),
    ("server/web/limiter_api.cpp", "<nlohmann/json.hpp>"),
    ("server/json/writer.cpp", '"http/exchange.hpp"'),
    ("server/worker.cpp", '"tree/tree.hpp"'),
    ("server/attic/old.cpp", "<vector>"),
    ("bindings/cli/check.cpp", '"serve.hpp"'),
    ("core/base/gcra.hpp", '"tree/tree.hpp"'),
    ("core/base/gcra.hpp", "<mutex>"),
    ("core/base/gcra.hpp", '"time.hpp"'),
    ("core/base/gcra.hpp", '"limitree.h"'),
    ("core/tree/tree.cpp", '"store/store.hpp"'),
    ("core/tree/tree.cpp", "<store/store.hpp>"),
    ("core/tree/tree.cpp", "<yaml.h>"),
    ("core/text/yaml.hpp", '"tree/tree.hpp"'),
    ("core/tree/tree.cpp", '"descriptors/rule.hpp"'),
    ("core/descriptors/rule.hpp", '"tree/tree.hpp"'),
    ("core/descriptors/rule.hpp", '"store/store.hpp"'),
    ("core/base/gcra.hpp", '"text/number.hpp"'),
    ("core/store/store.hpp", '"text/number.hpp"'),
    ("core/store/store.hpp", '"tree/tree.hpp"'),
    ("core/store/store.hpp", '"limiter/limiter.hpp"'),
    ("core/store/store.hpp", '"store/memory/memory_store.hpp"'),
    ("core/store/buckets/cell.hpp", '"store/redis/redis_store.hpp"'),
    ("core/store/redis/redis_store.cpp", '"store/decorators/deny_cache.hpp"'),
    ("core/store/clock.hpp", '"store/memory/memory_store.hpp"'),
    ("core/store/buckets/cell.hpp", '"store/memory/private_memory.hpp"'),
    ("core/store/buckets/cell.hpp", '"store/decorators/deny_cache.hpp"'),
    ("core/store/buckets/cell.hpp", '"store/redis/common/url.hpp"'),
    ("core/store/decorators/deny_cache.hpp", '"store/redis/redis_store.hpp"'),
    ("core/store/redis/common/node.hpp", '"store/redis/wire/command.hpp"'),
    ("core/store/redis/wire/reader.cpp", '"store/redis/script/call.hpp"'),
    ("core/store/redis/script/call.hpp", '"store/redis/route/task.hpp"'),
    ("core/store/redis/route/task.hpp", '"store/redis/script/call.hpp"'),
    ("core/store/redis/route/task.hpp", '"store/redis/drivers/loop.hpp"'),
    ("core/store/redis/drivers/loop.hpp", '"store/redis/redis_store.hpp"'),
    ("core/store/redis/extra/extra.hpp", '"store/store.hpp"'),
    ("core/extra/extra.hpp", "<vector>"),
    ("capi/limitree.h", "<stdbool.h>"),
    ("capi/limitree.cpp", '"cli/table.hpp"'),
    ("bindings/cli/main.cpp", '"limiter/limiter.hpp"'),
    ("bindings/cli/main.cpp", "<base/gcra.hpp>"),
    ("bindings/cli/main.cpp", '"../python/module.hpp"'),
    ("examples/c/main.c", '"base/gcra.hpp"'),
]


def tree_with(root, name, include):
    write(root, "bindings/cli/table.hpp", "")
    write(root, "bindings/python/module.hpp", "")
    write(root, "capi/limitree.h", "")
    write(root, name, f"// A comment.\n#include {include}\n")
    return root


@pytest.mark.parametrize("name, include", GOOD_INCLUDES)
def test_layering_allows(tmp_path, name, include):
    assert layering.check(tree_with(tmp_path, name, include)) == []


@pytest.mark.parametrize("name, include", BAD_INCLUDES)
def test_layering_refuses(tmp_path, name, include):
    bad = layering.check(tree_with(tmp_path, name, include))
    assert len(bad) == 1 and bad[0].startswith(name + ": ")


LATER = "def f():\n    "
FOR_TYPES = "if TYPE_CHECKING:\n    "

CIRCLES = [
    ({"a": "import p.b", "b": "import p.a"}, "p.a imports p.b"),
    ({"a": "from p import b", "b": "from p.a import name"}, "p.a imports p.b"),
    ({"a": "from . import b", "b": "from .a import name"}, "p.a imports p.b"),
    ({"a": "import p.b", "b": "import p.c", "c": "import p.a"},
     "p.c imports p.a"),
    ({"a": "import p.b", "b": LATER + "import p.a"}, "p.b imports p.a"),
    ({"a": "import p.b", "b": FOR_TYPES + "import p.a"}, "p.b imports p.a"),
    ({"a": "import p.b", "b": "import p", "__init__": "import p.a"},
     "p.b imports p"),
    # Both need the optional package, or neither.
    ({"a": "import other, p.b", "b": LATER + "import p.a"}, "p.b imports p.a"),
    ({"a": "import gevent, p.b",
      "b": "import gevent\n" + LATER + "import p.a"},
     "p.b imports p.a"),
]

NO_CIRCLES = [
    {"a": "import p.b", "b": "import json"},
    {"a": "from p.b import name", "b": "from p import c", "c": ""},
    {"a": "import p.b", "b": "from p import _native\nfrom p._native import x",
     "__init__": "import p.a"},
    # That module can be imported only with an optional package.
    {"a": LATER + "import p.b", "b": "import gevent, p.a"},
    {"a": FOR_TYPES + "import p.b", "b": "import gevent, p.a"},
]


def package_with(root, files):
    write(root, "python/p/__init__.py", "")
    write(root, "python/p/_native.pyi", "from p.a import x\n")
    for name, text in files.items():
        write(root, f"python/p/{name}.py", text + "\n")
    return root


@pytest.mark.parametrize("files, told", CIRCLES)
def test_import_circles_are_found(tmp_path, files, told):
    bad = layering.check(package_with(tmp_path, files))
    assert len(bad) == 1 and told in bad[0]


@pytest.mark.parametrize("files", NO_CIRCLES)
def test_import_circles_are_not_seen_where_there_are_none(tmp_path, files):
    package_with(tmp_path, files)
    assert import_circles.check(tmp_path / "python") == []


BAD_TEXT = [
    ("core/base/a.cpp", "// caf\u00e9\n", "is not ASCII"),
    ("docs/a.md", "an em dash \u2014 here\n", "is not ASCII"),
    ("core/base/a.cpp", "\tint x;\n", "has a tab"),
    ("core/base/a.cpp", "int x; \n", "ends with a blank"),
    ("core/base/a.cpp", "int x;", "no newline at the end"),
    ("core/base/a.cpp", "// " + "x" * 78 + "\n", "81 columns"),
    ("dev", "# " + "x" * 79 + "\n", "81 columns"),
    ("core/base/a.cpp", "int x;\n" * 401, "401 lines"),
    ("core/base/a.hpp", "using std::string;\n", "using declaration"),
    ("core/base/a.cpp", "// TODO: later\n", "without its issue"),
]

GOOD_TEXT = [
    ("core/base/a.cpp", "// " + "x" * 77 + "\n"),
    ("core/base/a.cpp", "// TODO(#12): say when\n"),
    ("core/base/a.cpp", "int x;\n" * 400),
    ("core/base/a.cpp", "using std::string;\n"),
    ("core/base/a.hpp", "using Text = std::string;\n"),
    ("capi/limitree.h", "int x;\n" * 401),
    ("tests/core/a_test.cpp", "int x;\n" * 401),
    ("docs/a.md", "a table " + "|" * 100 + "\n"),
    ("tests/data/limits/bad_utf8.yaml", "\u00ff\t"),
]


@pytest.mark.parametrize("name, text, wrong", BAD_TEXT)
def test_style_refuses(tmp_path, name, text, wrong):
    write(tmp_path, name, text)
    bad = source_style.check(tmp_path)
    assert bad and wrong in bad[0] and bad[0].startswith(name + ":")


@pytest.mark.parametrize("name, text", GOOD_TEXT)
def test_style_allows(tmp_path, name, text):
    write(tmp_path, name, text)
    assert source_style.check(tmp_path) == []


def test_functions_of_a_header():
    header = """
        #define LIMITREE_API __attribute__((visibility("default")))
        /* LIMITREE_API int32_t limitree_old(void); */
        LIMITREE_API const char *limitree_version(void);
        LIMITREE_API void limitree_set(
            limitree_config *config, void (*done)(void *user_data));
    """
    assert symbols.functions_of(header) == {"limitree_version", "limitree_set"}


def test_symbols_of_a_library():
    listing = "\n".join(["0000000000000000 A LIMITREE_0",
                         "0000000000001130 T limitree_version@@LIMITREE_0",
                         "0000000000001140 W _ZN8limitree4TreeC1Ev"])
    assert symbols.symbols_of(listing) == {"limitree_version",
                                           "_ZN8limitree4TreeC1Ev"}


@pytest.mark.parametrize("shown, output, same", [
    ("a\nb\n", "a\nb\n", True),
    ("a\n...\nd\n", "a\nb\nc\nd\n", True),
    ("a\n...\n", "a\n", True),
    ("a\nb\n", "a\nc\n", False),
    ("a\n", "a\nb\n", False),
])
def test_output_shown_in_a_document(shown, output, same):
    assert docs_code.is_like(shown, output) is same


GIVEN = "```yaml\n# limits.yaml\nschema: {}\n```\n"
ASKED = "```sh\nlimitree print limits.yaml\n```\n"


@pytest.mark.parametrize("text, wrong", [(GIVEN + ASKED, 0), (ASKED, 1),
                                         (ASKED + GIVEN, 1)])
def test_a_page_has_the_files_it_has_given_so_far(tmp_path, text, wrong):
    write(tmp_path, "docs/page.md", text)
    write(tmp_path, "bin/limitree", '#!/bin/sh\ncase $1 in print) cat $2; esac')
    (tmp_path / "bin/limitree").chmod(0o755)
    folder = tmp_path / "folder"
    folder.mkdir()
    tools = docs_code.Tools(tmp_path, "cc", "c++", None,
                            tmp_path / "bin/limitree")
    tried, bad = docs_code.check_page("docs/page.md", tools, folder)
    assert tried == text.count("```") / 2 and len(bad) == wrong


ARCHITECTURE = ("| files | what |\n|---|---|\n"
                "| `core/base/a.hpp`, `b.hpp` | x |\n")


def project_with(root, name, text):
    write(root, "core/base/a.hpp", "class A {\n};\nclass Other;\n")
    write(root, "core/base/b.hpp", "struct alignas(64) B final : A {\n};\n")
    write(root, "docs/architecture.md", ARCHITECTURE)
    write(root, "mkdocs.yml", "nav:\n  - Internals:\n"
          "      - architecture.md\n      - glossary.md\n")
    write(root, "docs/glossary.md", "`C`\n\n## Classes\n\n`A`, `B`: x\n")
    write(root, name, text)
    return root


@pytest.mark.parametrize("text", [
    "`core/base/a.hpp`, `core/base/`, `core/*/b.hpp`",
    "[other](docs/architecture.md#floors), [far](https://example.org/x)",
    "```sh\nls `core/none`\n```",
    "`core` and `bench --filter=x/y` and `other/none`",
])
def test_docs_facts_allows(tmp_path, text):
    assert docs_facts.check(project_with(tmp_path, "README.md", text)) == []


@pytest.mark.parametrize("name, text, wrong", [
    ("README.md", "`core/none.hpp`", "README.md: there is no core/none.hpp"),
    ("README.md", "[x](docs/none.md)", "README.md: there is no docs/none.md"),
    ("core/base/c.hpp", "",
     "docs/architecture.md: does not name core/base/c.hpp"),
    ("core/base/a.hpp", "struct C {\n};\n",
     "docs/glossary.md: does not name C of core/base/a.hpp"),
    ("core/base/b.hpp", "template <typename T>\nclass [[nodiscard]] D {\n",
     "docs/glossary.md: does not name D of core/base/b.hpp"),
    ("core/base/b.hpp", "", "docs/glossary.md: there is no class B"),
    ("core/store/room/a.cpp", "", "core/store/room: has no README.md"),
    ("core/base/README.md", "`core/none.hpp`",
     "core/base/README.md: there is no core/none.hpp"),
    ("docs/architecture.md", ARCHITECTURE + "| `core/base/d.hpp` | x |\n",
     "docs/architecture.md: there is no core/base/d.hpp"),
    ("docs/lost.md", "", "mkdocs.yml: has no place for docs/lost.md"),
])
def test_docs_facts_refuses(tmp_path, name, text, wrong):
    assert wrong in docs_facts.check(project_with(tmp_path, name, text))


def test_docs_facts_compares_libraries(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("<!-- libraries -->\nIt needs `liba` and `libb`.\n",
                    encoding="ascii")
    assert list(docs_facts.wrong_libraries(page, {"liba", "libc", "libd"})) == [
        "page.md: does not say that libd is needed",
        "page.md: libb is not needed"]


RECIPE = """# Styles

## `one`
## `two-2`

## Add a style

<!-- recipe two-2 TwoStyle -->

| file | what to add |
|---|---|
| `core/base/http.cpp` | x |
| `node/src/headers.ts` | x |
| `python/limitree/headers.py` | x |

`capi/same.h` does not change.

## More
"""


def project_with_recipe(root, name, text):
    write(root, "core/base/http.cpp",
          'HttpStyle{"one", 1}, HttpStyle{"two-2", 0}, HttpStyle{"three", 0}')
    write(root, "capi/same.h", "struct TwoStyle;")
    write(root, "python/limitree/headers.py",
          'Style = Literal["one",\n "two-2", "three"]\n')
    write(root, "node/src/headers.ts",
          "export type HeaderStyle = 'one' | 'two-2' |\n 'three';\n")
    write(root, "docs/http.md",
          RECIPE.replace("## Add", "## `three`\n\n## Add"))
    write(root, name, text)
    return root


@pytest.mark.parametrize("name, text", [
    ("docs/other.md", "`one`, `two-2`"),
    ("docs/other.md", "`one`, `two-2`\nor `three`"),
    ("tests/a.cpp", "two-2"),
    ("core/a.txt", "two-2"),
])
def test_recipes_allow(tmp_path, name, text):
    assert recipes.check(project_with_recipe(tmp_path, name, text)) == []


@pytest.mark.parametrize("name, text, wrong", [
    ("bindings/a.cpp", "two-2",
     "docs/http.md: bindings/a.cpp names two-2, but no recipe names it"),
    ("core/a.hpp", "class TwoStyle;",
     "docs/http.md: core/a.hpp names two-2, but no recipe names it"),
    ("docs/other.md", "<!-- recipe x -->\n| `core/none.hpp` | x |",
     "docs/other.md: there is no core/none.hpp"),
    ("docs/other.md", "<!-- recipe x -->\n| `capi/same.h` | x |",
     "docs/other.md: capi/same.h does not name x"),
    ("docs/other.md", "<!-- recipe x -->\n\n# Next\n| `capi/same.h` | x |",
     "docs/other.md: the recipe of x lists no file"),
    ("docs/http.md", RECIPE,
     "docs/http.md: the styles are one, two-2, but the core has one, two-2, "
     "three"),
    ("python/limitree/headers.py", "Style = Literal['two-2', 'one', 'three']",
     "python/limitree/headers.py: the styles are two-2, one, three, but the "
     "core has one, two-2, three"),
    ("node/src/headers.ts", "two-2",
     "node/src/headers.ts: the styles are , but the core has one, two-2, "
     "three"),
    ("docs/other.md", "| `\"one\"`, `'two-2'`, `three` |",
     "docs/other.md: lists styles; only docs/http.md does"),
])
def test_recipes_refuse(tmp_path, name, text, wrong):
    assert wrong in recipes.check(project_with_recipe(tmp_path, name, text))


@pytest.mark.parametrize("text, wrong", [
    ('<a href="../b/#part">x</a>', None),
    ('<a href="https://example.org/none">x</a><img src="../b/a.svg">', None),
    ('<pre>* item</pre><code>||</code>', None),
    ('<a href="../c/">x</a>', "there is no ../c/"),
    ('<a href="../b/#none">x</a>', "nothing has the anchor of ../b/#none"),
    ('<img src="none.svg">', "there is no none.svg"),
    ("<p>these:\n* one</p>", "Markdown is left: * "),
])
def test_docs_site(tmp_path, monkeypatch, text, wrong):
    monkeypatch.setattr(docs_site, "wrong_reference", lambda root, site: [])
    write(tmp_path, "a/index.html", text)
    write(tmp_path, "b/index.html", '<h2 id="part">Part</h2>')
    write(tmp_path, "b/a.svg", "<svg/>")
    assert docs_site.check(tmp_path, tmp_path) == (
        [f"a/index.html: {wrong}"] if wrong else [])


def test_the_reference_of_c():
    header = """/*
 * a.h - about.
 */
#ifdef __cplusplus
extern "C" {
#endif

/* ---- Values ---- */

/* Returns *one, a limitree_str. */
LIMITREE_API limitree_str limitree_one(void);

enum {
  LIMITREE_A = 0, /* first } */
  LIMITREE_B = 1
};

#ifdef __cplusplus
}
#endif
"""
    assert docs_reference.of_header(header).partition("```\n\n")[2] == """\
## Values

### `limitree_one`

Returns \\*one, a `limitree_str`.

```c
limitree_str limitree_one(void);
```

### `LIMITREE_A`

```c
enum {
  LIMITREE_A = 0, /* first } */
  LIMITREE_B = 1
};
```
"""


def test_the_reference_of_typescript(tmp_path):
    write(tmp_path, "package.json", '{"exports": {".": {"require": '
          '{"types": "./node/dist/index.d.ts"}}, "./package.json": "./x"}}')
    write(tmp_path, "index.d.ts", "export { A } from './a.js';\n"
          "/** A version. */\nexport declare const version: string;\n")
    write(tmp_path, "a.d.ts", "/**\n * What A is.\n */\n"
          "export declare class A {\n    #private;\n    b(): void;\n}\n"
          "export interface Hidden {\n}\n")
    page = docs_reference.of_types(tmp_path, tmp_path)
    assert "### `version`\n\nA version.\n\n```ts\nconst version" in page
    assert ("### `A`\n\nWhat A is.\n\n```ts\nclass A {\n    b(): void;\n}\n"
            in page)
    assert "Hidden" not in page


ROOT = pathlib.Path(__file__).parents[1]
PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+(\.\d+)*")


def test_actions_are_pinned_by_their_commits():
    """A tag can be moved to other code."""
    uses = [line.split("uses:")[1].strip()
            for path in (ROOT / ".github" / "workflows").glob("*.yml")
            for line in path.read_text(encoding="utf-8").splitlines()
            if re.match(r"\s*(- )?uses:", line)]
    assert len(uses) > 20
    assert [one for one in uses if not PINNED.fullmatch(one)] == []


def format_script(tmp_path, *arguments):
    """Runs scripts/format.sh with a formatter that only tells that it ran."""
    ran = tmp_path / "ran"
    write(tmp_path, "clang-format-14",
          f'#!/bin/sh\n[ "$1" = --version ] && echo version 14.0 || '
          f'echo "$@" >>{ran}\n')
    (tmp_path / "clang-format-14").chmod(0o755)
    done = subprocess.run(
        [str(ROOT / "scripts" / "format.sh"), *arguments], text=True,
        capture_output=True, check=False,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    return done, ran.exists()


@pytest.mark.parametrize("argument", ["--help", "-h"])
def test_format_helps_without_formatting(tmp_path, argument):
    done, ran = format_script(tmp_path, argument)
    assert (done.returncode, ran) == (0, False)
    assert "Usage: format.sh [--check]" in done.stdout


@pytest.mark.parametrize("arguments", [["--chekc"], ["core"],
                                       ["--check", "core"]])
def test_format_refuses_other_arguments(tmp_path, arguments):
    done, ran = format_script(tmp_path, *arguments)
    assert (done.returncode, ran) == (2, False)
    assert f"unknown argument: {' '.join(arguments)}" in done.stderr


def test_format_checks(tmp_path):
    done, ran = format_script(tmp_path, "--check")
    assert (done.returncode, ran) == (0, True)
