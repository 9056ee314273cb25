#!/usr/bin/env python3
"""Writes a version where it is stated.

That is capi/limitree.h, from which CMake and pip read it, package.json and
package-lock.json, which npm reads, and the chart for Helm and the base for
Kustomize.  tests/capi/versions.py compares them.

usage: scripts/set_version.py <x.y.z>
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
CHART = "deploy/helm/limitree"
BASE = "deploy/kustomize/base/kustomization.yaml"
VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


def places(version):
    """Yields a file, a pattern that has two groups, and what is to stand
    between them."""
    names = ("MAJOR", "MINOR", "PATCH")
    for name, number in zip(names, version.split(".")):
        yield ("capi/limitree.h",
               rf"^(#define LIMITREE_VERSION_{name} )\d+($)", number)
    yield ("capi/limitree.h",
           r'^(/\* The library found at run time: ")[^"]+(")', version)
    name = r'"name": "limitree",\n *"version": "'
    yield "package.json", rf'(^{{\n  {name})[^"]+(")', version
    yield "package-lock.json", rf'(^{{\n  {name})[^"]+(")', version
    yield "package-lock.json", rf'(^    "": {{\n      {name})[^"]+(")', version
    yield f"{CHART}/Chart.yaml", r"(^version: )\S+($)", version
    yield f"{CHART}/Chart.yaml", r'(^appVersion: ")[^"]+(")', version
    yield BASE, r"(^ +newTag: )\S+($)", version


def set_version(root, version):
    """Changes the files under `root`; all of them, or none."""
    if not VERSION.fullmatch(version):
        sys.exit(f"set_version.py: {version!r} is no version such as 0.2.0")
    texts = {}
    for name, pattern, text in places(version):
        if name not in texts:
            texts[name] = (root / name).read_text(encoding="utf-8")
        texts[name], count = re.subn(
            pattern, rf"\g<1>{text}\g<2>", texts[name], flags=re.M)
        if count != 1:
            sys.exit(f"set_version.py: {name} has {count} matches of "
                     f"{pattern}, not 1")
    for name, text in texts.items():
        (root / name).write_text(text, encoding="utf-8")


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    set_version(ROOT, sys.argv[1])


if __name__ == "__main__":
    main()
