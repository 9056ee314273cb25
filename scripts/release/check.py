"""Tries the packages in build/packages/dist, and prints a table of them.

usage: check.py [part ...]

Without names, all parts.  A package that nothing here can run is listed as
"linked only".
"""

import argparse
import sys
import time

import emulated
import trials
import wheels
from platforms import BUILD, PLATFORMS, PYTHONS, version

DIST = BUILD / "dist"
MOST = {"wheel": 4.0, "main": 0.6, "addon": 3.0}  # MB, of SI


class Report:
    """What was tried, and what came of it."""

    def __init__(self):
        self.rows = []  # (what, where or how, whether it passed)
        self.runs = {}  # by what, where it ran

    def add(self, what, how, passed, *, ran=False):
        """`ran`: the package `what` ran, as `how` says."""
        self.rows.append((what, how, passed))
        if ran and passed:
            self.runs.setdefault(what, []).append(how)
        print(f"{'ok' if passed else 'FAILED':<7} {what}: {how}", flush=True)

    def failures(self):
        return [row for row in self.rows if not row[2]]


def artifacts():
    """(name, path, kind of size, size in MB) of all that users install."""
    for platform in PLATFORMS.values():
        for number in PYTHONS:
            yield (f"{platform.name} {wheels.tag(number)}",
                   wheels.path(platform, number), "wheel")
        yield (f"{platform.name} npm",
               DIST / "npm" / f"limitree-{platform.name}-{version()}.tgz",
               "addon")
    yield "limitree npm", DIST / "npm" / f"limitree-{version()}.tgz", "main"


def size_of(path, kind):
    """In MB: of the wheel as it is downloaded, of a package for npm unpacked,
    as npm shows it."""
    if kind == "wheel":
        return path.stat().st_size / 1e6
    return trials.unpacked_size(path) / 1e6


def print_table(report):
    """Returns whether all is there and small enough."""
    good = True
    print(f"\n{'package':<24} {'tag or file':<58} {'MB':>5}  smoke test")
    for name, path, kind in artifacts():
        if not path.exists():
            print(f"{name:<24} {path.name:<58} {'-':>5}  MISSING")
            good = False
            continue
        size = size_of(path, kind)
        runs = "; ".join(report.runs.get(name, ["linked only"]))
        if kind == "main":
            runs = "with each of those above"
        remark = "" if size <= MOST[kind] else f"  TOO LARGE: {MOST[kind]}"
        good = good and not remark
        shown = (path.name.split("-", 2)[2].removesuffix(".whl")
                 if kind == "wheel" else path.name)
        print(f"{name:<24} {shown:<58} {size:>5.2f}  {runs}{remark}")
    return good


PARTS = {
    "contents": trials.contents,
    "interpreters": trials.interpreters,
    "systems": trials.systems,
    "node": trials.node,
    "emulated": emulated.run_all,
    "tests": trials.tests,
    "sdist": trials.sdist,
    "twice": trials.twice,
    "debs": trials.debs,
    "bare": trials.bare,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="part",
                        help=", ".join(PARTS))
    names = parser.parse_args().parts
    unknown = [name for name in names if name not in PARTS]
    if unknown:
        parser.error(f"no such part: {', '.join(unknown)}; there are: "
                     f"{', '.join(PARTS)}")
    report = Report()
    for name in names or PARTS:
        start = time.monotonic()
        print(f"---- {name}", flush=True)
        PARTS[name](report)
        print(f"     {time.monotonic() - start:.0f} s", flush=True)
    good = print_table(report)
    failures = report.failures()
    print()
    for what, how, _ in failures:
        print(f"failed: {what}: {how}")
    passed = len(report.rows) - len(failures)
    print(f"{passed} passed, {len(failures)} failed")
    sys.exit(0 if good and not failures else 1)


if __name__ == "__main__":
    main()
