"""Every place that states a version states the same one.

The release is in CMakeLists.txt and in three macros of limitree.h; the ABI
number in CMakeLists.txt, in a macro, in the SONAME and in the name of the
symbol version.

Usage: versions.py <readelf> <liblimitree.so> <root of the sources>
"""

import pathlib
import re
import subprocess
import sys


def only(pattern, text):
    """Returns the group of the one match of `pattern` in `text`."""
    found = re.findall(pattern, text, re.M)
    if len(found) != 1:
        sys.exit(f"{len(found)} matches of {pattern}, expected 1")
    return found[0]


def main():
    readelf, library, root = sys.argv[1:]
    cmake = pathlib.Path(root, "CMakeLists.txt").read_text(encoding="utf-8")
    header = pathlib.Path(root, "capi/limitree.h").read_text(encoding="utf-8")
    elf = subprocess.run([readelf, "--dynamic", "--version-info", "--wide",
                          library],
                         check=True, capture_output=True, text=True).stdout

    def macro(name):
        return only(rf"^#define LIMITREE_{name} (\d+)$", header)

    release = ".".join(macro(f"VERSION_{part}")
                       for part in ("MAJOR", "MINOR", "PATCH"))
    abi = macro("ABI_VERSION")
    same = [
        ("release in CMakeLists.txt", release,
         only(r"^project\(limitree VERSION (\S+)", cmake)),
        ("ABI number in CMakeLists.txt", abi,
         only(r"^set\(LIMITREE_ABI_VERSION (\d+)\)", cmake)),
        ("SONAME", f"liblimitree.so.{abi}",
         only(r"\(SONAME\).*\[(.*)\]", elf)),
        ("symbol version", f"LIMITREE_{abi}",
         only(r"\bName: (LIMITREE_\d+)", elf)),
    ]
    bad = [f"{place}: is {found}, limitree.h says {expected}"
           for place, expected, found in same if found != expected]
    sys.exit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
