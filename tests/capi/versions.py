"""Every place that states a version states the same one.

The release is in three macros of limitree.h, in the comment of
limitree_version, in package.json, twice in package-lock.json, twice in the
chart for Helm and in the base for Kustomize; the ABI number in a macro, in the
SONAME and in the name of the symbol version.  CMake and pip read both from
limitree.h.

Usage: versions.py <readelf> <liblimitree.so> <root of the sources>
"""

import json
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


def macro(name, header):
    return only(rf"^#define LIMITREE_{name} (\d+)$", header)


def release_of(header):
    return ".".join(macro(f"VERSION_{part}", header)
                    for part in ("MAJOR", "MINOR", "PATCH"))


def compare(same):
    """Returns a line for each (place, expected, found) that differs."""
    return [f"{place}: is {found}, limitree.h says {expected}"
            for place, expected, found in same if found != expected]


def wrong_sources(root):
    header, package, lock, chart, base = (
        (root / name).read_text(encoding="utf-8")
        for name in ("capi/limitree.h", "package.json", "package-lock.json",
                     "deploy/helm/limitree/Chart.yaml",
                     "deploy/kustomize/base/kustomization.yaml"))
    release = release_of(header)
    locked = json.loads(lock)
    return compare([
        ("comment of limitree_version", release,
         only(r'^/\* The library found at run time: "([^"]+)"', header)),
        ("package.json", release, json.loads(package)["version"]),
        ("package-lock.json", release, locked["version"]),
        ("package-lock.json, its package", release,
         locked["packages"][""]["version"]),
        ("the chart", release, only(r"^version: (\S+)$", chart)),
        ("appVersion of the chart", release,
         only(r'^appVersion: "([^"]+)"$', chart)),
        ("newTag of Kustomize", release, only(r"^ +newTag: (\S+)$", base)),
    ])


def wrong_library(readelf, library, root):
    header = (root / "capi/limitree.h").read_text(encoding="utf-8")
    elf = subprocess.run([readelf, "--dynamic", "--version-info", "--wide",
                          library],
                         check=True, capture_output=True, text=True).stdout
    release, abi = release_of(header), macro("ABI_VERSION", header)
    return compare([
        ("SONAME", f"liblimitree.so.{abi}",
         only(r"\(SONAME\).*\[(.*)\]", elf)),
        ("name of the file", f"liblimitree.so.{release}",
         pathlib.Path(library).resolve().name),
        ("symbol version", f"LIMITREE_{abi}",
         only(r"\bName: (LIMITREE_\d+)", elf)),
    ])


def main():
    readelf, library, folder = sys.argv[1:]
    root = pathlib.Path(folder)
    bad = wrong_sources(root) + wrong_library(readelf, library, root)
    sys.exit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
