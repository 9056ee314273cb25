"""Compares statements of the documents about the project with the project.

  paths        `core/tree/tree.hpp` and the targets of links exist
  rooms        the architecture page names every folder of core/ and server/
  site         mkdocs.yml has a place for every page of docs/
  libraries    a page that lists, after <!-- libraries -->, what the shared
               library needs at run time lists exactly that

Usage: docs_facts.py <root> [liblimitree.so readelf]
"""

import pathlib
import re
import subprocess
import sys

FOLDERS = ("bench", "bindings", "capi", "cmake", "core", "deploy", "docs",
           "examples", "io", "node", "python", "scripts", "server", "tests")
FENCE = re.compile(r"^```.*?^```$", re.S | re.M)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)[^)]*\)")
ARCHITECTURE = "docs/architecture.md"
# The C library and its loader, which every program has.
EVERYWHERE = {"libc", "libm", "ld-linux-x86", "ld-linux-aarch64"}
LIBRARIES = re.compile(r"<!-- libraries -->\n(.*?)(?:\n\n|\Z)", re.S)


def list_pages(root):
    return sorted([*root.glob("*.md"), *root.glob("docs/**/*.md"),
                   *root.glob("examples/**/*.md")])


def wrong_paths(root, page):
    """Yields the paths in `page` that do not exist."""
    text = FENCE.sub("", page.read_text())
    name = page.relative_to(root)
    for code in CODE.findall(text):
        path = code.split()[0].removeprefix("./").rstrip("/")
        if path.split("/")[0] not in FOLDERS or "/" not in path:
            continue
        # A build makes some of them; `<name>` and `{a,b}` stand for others.
        if re.search(r"[<{$]", path) or path.startswith("node/dist"):
            continue
        if not any(root.glob(path)):
            yield f"{name}: there is no {path}"
    for target in LINK.findall(text):
        if ":" not in target and not (page.parent / target).exists():
            yield f"{name}: there is no {target}"


def wrong_rooms(root):
    named = set(CODE.findall((root / ARCHITECTURE).read_text()))
    rooms = {path.parent.relative_to(root).as_posix() + "/"
             for top in ("core", "server")
             for path in root.glob(f"{top}/**/*.hpp")}
    for room in sorted(rooms - named):
        yield f"{ARCHITECTURE}: does not name {room}"


def wrong_site(root):
    site = (root / "mkdocs.yml").read_text()
    for page in sorted((root / "docs").rglob("*.md")):
        name = page.relative_to(root / "docs").as_posix()
        if not re.search(rf"^ +- {re.escape(name)}$", site, re.M):
            yield f"mkdocs.yml: has no place for docs/{name}"


def needed_libraries(library, readelf):
    """Returns what `library` needs, as in "libssl" for libssl.so.3."""
    text = subprocess.run([readelf, "--dynamic", library], check=True,
                          capture_output=True, text=True).stdout
    names = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    return {re.sub(r"(-[\d.]+)?\.so.*", "", name) for name in names}


def wrong_libraries(page, needed):
    for paragraph in LIBRARIES.findall(page.read_text()):
        named = {name for name in CODE.findall(paragraph)
                 if name.startswith("lib") and not name.startswith("liblimit")}
        for name in sorted(needed - named - EVERYWHERE):
            yield f"{page.name}: does not say that {name} is needed"
        for name in sorted(named - needed):
            yield f"{page.name}: {name} is not needed"


def check(root, library="", readelf=""):
    """Returns one line for each statement that is wrong."""
    bad = []
    pages = list_pages(root)
    for page in pages:
        bad.extend(wrong_paths(root, page))
    bad.extend(wrong_rooms(root))
    bad.extend(wrong_site(root))
    if library:
        needed = needed_libraries(library, readelf)
        for page in pages:
            bad.extend(wrong_libraries(page, needed))
    return bad


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    sys.exit("\n".join(check(root, *sys.argv[2:])) or 0)


if __name__ == "__main__":
    main()
