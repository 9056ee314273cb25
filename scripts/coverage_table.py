"""Sums up what llvm-cov exported: a table in Markdown, a line for each room.

Usage: coverage_table.py <coverage.json> [room]

With a room, such as core/tree: a line for each of its files.
"""

import json
import pathlib
import sys

ROOMS = ("core", "io", "capi", "bindings")


def part(covered, count):
    """Returns "97.3 %", rounded down: only all is 100 %."""
    return f"{covered * 1000 // count / 10} %" if count else "-"


def row_of(name, files):
    """Returns the line of the table about `files`."""
    cells = [name]
    for kind in ("lines", "branches"):
        count = sum(file[kind]["count"] for file in files)
        covered = sum(file[kind]["covered"] for file in files)
        cells += [str(count), part(covered, count)]
    return f"| {' | '.join(cells)} |"


def main():
    path, *room = sys.argv[1:]
    root = pathlib.Path(__file__).resolve().parent.parent
    rooms = {}
    for file in json.loads(pathlib.Path(path).read_text())["data"][0]["files"]:
        name = pathlib.Path(file["filename"])
        if not name.is_absolute():  # as ccache has them: from the build folder
            name = root / "build/coverage" / name
        name = name.resolve()
        if root not in name.parents:
            continue
        name = name.relative_to(root)
        if name.parts[0] not in ROOMS:
            continue
        where = name.parent.as_posix()
        if room:
            if where != room[0]:
                continue
            where = name.name
        rooms.setdefault(where, []).append(file["summary"])
    print("| | lines | of them run | branches | of them taken |")
    print("|---|--:|--:|--:|--:|")
    for name, files in sorted(rooms.items()):
        print(row_of(f"`{name}`", files))
    print(row_of("all", [one for files in rooms.values() for one in files]))


if __name__ == "__main__":
    main()
