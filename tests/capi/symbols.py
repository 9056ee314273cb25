"""The shared library exports what limitree.h declares, no more and no less.

Usage: symbols.py <nm> <liblimitree.so> <limitree.h>
"""

import pathlib
import re
import subprocess
import sys

COMMENT = re.compile(r"/\*.*?\*/", re.S)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.M)
FUNCTION = re.compile(r"\bLIMITREE_API\b[^;(]*?\b(\w+)\s*\(")


def functions_of(header):
    """Returns the names that the text of a header declares LIMITREE_API."""
    text = DIRECTIVE.sub("", COMMENT.sub("", header))
    names = FUNCTION.findall(text)
    assert len(names) == text.count("LIMITREE_API"), "unreadable declaration"
    return set(names)


def symbols_of(listing):
    """Returns the names in the output of nm -D --defined-only."""
    symbols = set()
    for line in listing.splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":  # the name of the symbol version itself
            symbols.add(name.split("@")[0])
    return symbols


def main():
    nm, library, header = sys.argv[1:]
    listing = subprocess.run([nm, "-D", "--defined-only", library], check=True,
                             capture_output=True, text=True).stdout
    declared = functions_of(pathlib.Path(header).read_text(encoding="ascii"))
    exported = symbols_of(listing)
    bad = [f"{name}: declared, not exported"
           for name in sorted(declared - exported)]
    bad += [f"{name}: exported, not declared"
            for name in sorted(exported - declared)]
    print(f"{len(declared)} functions")
    sys.exit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
