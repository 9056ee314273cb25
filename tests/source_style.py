"""Checks the text of the sources for what no formatter checks.

ASCII only, 80 columns, no tabs, no trailing blanks, a newline at the end, no
file of core/, io/, capi/, bindings/, node/ or server/ over 400 lines, no using
declaration in a header of those, no TODO without an issue.

Usage: source_style.py [root of the sources]
"""

import pathlib
import re
import subprocess
import sys

CODE = {".c", ".h", ".cpp", ".hpp", ".py", ".sh", ".lua", ".cmake",
        ".ts", ".cts", ".mts", ".js", ".cjs", ".mjs"}
TEXT = CODE | {".md", ".yaml", ".yml", ".in", ".map", ".json", ".txt"}
SCRIPTS = {"dev", ".ci/run"}  # code without a suffix

# Inputs of tests: broken on purpose, or from elsewhere.
INPUTS = ("tests/data/", "tests/conformance/", "tests/fuzz/corpus/")

# Folders that are not part of the sources.
BUILT = {"build", ".git", "node_modules", "prebuilds"}

MAX_COLUMNS = 80
MAX_LINES = 400
SHORT = ("core/", "io/", "capi/", "bindings/", "node/", "server/")
# The C header, which is also a manual, and the C++ header: one file each.
LONG = {"capi/limitree.h", "bindings/limitree.hpp"}

NOTE = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")
# It would add the name to every file that includes the header.
USING = re.compile(r"using [^=]*;")
# It is what the header is for, in a namespace of its own.
USES = {"core/store/redis/common/remote.hpp"}
SELF = "tests/source_style.py"  # it has to name what it forbids


def list_files(root):
    """Returns the files of the project, without what is built from them."""
    git = ["git", "-C", str(root), "ls-files", "-z", "--cached", "--others",
           "--exclude-standard"]
    try:
        names = subprocess.run(git, check=True, capture_output=True).stdout
        found = [root / name for name in names.decode().split("\0") if name]
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive
        found = [path for path in root.rglob("*")
                 if path.relative_to(root).parts[0] not in BUILT]
    return sorted({path for path in found if path.is_file()})


def wrong_with_line(line, name, is_code):
    """Yields what is wrong with one line of the file `name`."""
    if not line.isascii():
        column = next(i for i, byte in enumerate(line) if byte > "\x7f")
        yield f"column {column + 1} is not ASCII"
    if "\t" in line:
        yield "has a tab"
    if line != line.rstrip():
        yield "ends with a blank"
    if is_code and len(line) > MAX_COLUMNS:
        yield f"has {len(line)} columns, more than {MAX_COLUMNS}"
    if (name.startswith(SHORT) and name.endswith(".hpp")
            and name not in USES and USING.match(line)):
        yield "has a using declaration in a header"
    if NOTE.search(line) and not name.endswith((SELF, "test_lint.py")):
        yield "has a note without its issue, as in TODO(#12)"


def wrong_with(path, name):
    """Yields what is wrong with one file, with line numbers."""
    text = path.read_bytes().decode("latin-1")
    is_code = path.suffix in CODE or name in SCRIPTS
    lines = text.split("\n")
    if lines.pop():
        yield f"{name}:{len(lines) + 1}: no newline at the end"
    for number, line in enumerate(lines, 1):
        for wrong in wrong_with_line(line, name, is_code):
            yield f"{name}:{number}: {wrong}"
    if name.startswith(SHORT) and name not in LONG and is_code:
        if len(lines) > MAX_LINES:
            yield f"{name}: {len(lines)} lines, more than {MAX_LINES}"


def check(root):
    """Returns one line for each breach of the style."""
    bad = []
    for path in list_files(root):
        name = path.relative_to(root).as_posix()
        if name.startswith(INPUTS):
            continue
        if path.suffix in TEXT or name in SCRIPTS:
            bad.extend(wrong_with(path, name))
    return bad


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    sys.exit("\n".join(check(root.resolve())) or 0)


if __name__ == "__main__":
    main()
