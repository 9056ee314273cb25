"""Compares the recipes of the documents with the sources.

A recipe is a section of a page that tells how to add one more thing of a kind.
It has <!-- recipe WORD ... --> before a table whose rows begin with the files
to change.  The words are the names of an existing thing of that kind.

  existing   every file of the table exists, and names that thing
  complete   every source that names it is in the table, or is named elsewhere
             in the section as one that need not change
  styles     Python, Node.js and docs/http.md list the styles of headers that
             the core has, and no other page lists them

Usage: recipes.py [root of the sources]
"""

import pathlib
import re
import sys

SOURCES = ("core", "io", "capi", "bindings", "python/limitree", "node/src")
SUFFIXES = {".c", ".cpp", ".h", ".hpp", ".lua", ".py", ".pyi", ".ts"}
RECIPE = re.compile(r"<!-- recipe (.+?) -->\n(.*?)(?=\n#|\Z)", re.S)
ROW = re.compile(r"^\| `([^`]+)`", re.M)
CODE = re.compile(r"`([^`\n]+)`")
FENCE = re.compile(r"^```.*?^```$", re.S | re.M)

CORE_STYLE = re.compile(r'HttpStyle\{"([^"]+)"')
STYLES_PAGE = "docs/http.md"
PYTHON_STYLES = "python/limitree/headers.py"
NODE_STYLES = "node/src/headers.ts"


def sources_with(root, words):
    """Returns the sources that have one of `words` in them."""
    found = set()
    for folder in SOURCES:
        for path in (root / folder).rglob("*"):
            if path.suffix not in SUFFIXES:
                continue
            text = path.read_text(encoding="utf-8")
            if any(word in text for word in words):
                found.add(path.relative_to(root).as_posix())
    return found


def wrong_recipe(root, page, words, section):
    files = ROW.findall(section)
    if not files:
        yield f"{page}: the recipe of {words[0]} lists no file"
    for name in files:
        path = root / name
        if not path.is_file():
            yield f"{page}: there is no {name}"
        elif not any(word in path.read_text(encoding="utf-8")
                     for word in words):
            yield f"{page}: {name} does not name {words[0]}"
    for name in sorted(sources_with(root, words) - set(CODE.findall(section))):
        yield f"{page}: {name} names {words[0]}, but no recipe names it"


def quoted(text, pattern):
    """Returns what is in quotes in the one match of `pattern`."""
    found = re.search(pattern, text, re.S)
    return re.findall(r"""["']([^"']+)["']""", found[1]) if found else []


def wrong_styles(root):
    def read(name):
        return (root / name).read_text(encoding="utf-8")
    known = CORE_STYLE.findall(read("core/base/http.cpp"))
    lists = {
        STYLES_PAGE: re.findall(r"^## `(.+)`$", read(STYLES_PAGE), re.M),
        PYTHON_STYLES: quoted(read(PYTHON_STYLES), r"Style = Literal\[(.*?)\]"),
        NODE_STYLES: quoted(read(NODE_STYLES), r"type HeaderStyle = (.*?);"),
    }
    for name, listed in lists.items():
        if listed != known:
            yield (f"{name}: the styles are {', '.join(listed)}, but the core "
                   f"has {', '.join(known)}")
    for page in sorted([*root.glob("*.md"), *root.glob("docs/**/*.md")]):
        name = page.relative_to(root).as_posix()
        if name in (STYLES_PAGE, "CHANGELOG.md"):
            continue
        for line in FENCE.sub("", page.read_text(encoding="utf-8")).split("\n"):
            words = {word.strip("\"'") for word in CODE.findall(line)}
            if len(words & set(known)) > 2:
                yield f"{name}: lists styles; only {STYLES_PAGE} does"


def check(root):
    """Returns one line for each place where a recipe is wrong."""
    bad = []
    for path in sorted((root / "docs").glob("*.md")):
        page = path.relative_to(root).as_posix()
        for words, section in RECIPE.findall(path.read_text(encoding="utf-8")):
            bad.extend(wrong_recipe(root, page, words.split(), section))
    return bad + list(wrong_styles(root))


def main():
    root = (pathlib.Path(sys.argv[1]) if len(sys.argv) > 1
            else pathlib.Path(__file__).parents[1])
    sys.exit("\n".join(check(root.resolve())) or 0)


if __name__ == "__main__":
    main()
