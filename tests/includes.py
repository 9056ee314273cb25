"""Reads each source of the product by itself, without making code.

The build compiles several sources as one, so a header that one of them needs
may come from another.  The first of each batch has been compiled without that.

A source that passed is not read again until it, its command or a header
changes: the build folder remembers it.

Usage: includes.py <folder with compile_commands.json>
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import clang_tidy


def list_sources(build):
    """Returns the sources and how each is compiled, by its command and folder.

    In the command, SOURCE stands for the name of the file.
    """
    found = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        command = clang_tidy.PRECOMPILED.sub(
            "", clang_tidy.OUTPUT.sub("", entry["command"]))
        command = command.replace(entry["file"], "SOURCE")
        for path in clang_tidy.sources(entry)[1:]:
            if any(clang_tidy.ROOT / name in path.parents
                   for name in clang_tidy.FOLDERS):
                found.setdefault(path, (command, entry["directory"]))
    return found


def main():
    build = pathlib.Path(sys.argv[1])
    stamps = build / "includes"
    stamps.mkdir(exist_ok=True)
    common = clang_tidy.fingerprint_of_all("cmake")

    def check(item):
        path, (command, directory) = item
        seen = hashlib.sha256(common + command.encode() + path.read_bytes())
        stamp = stamps / seen.hexdigest()
        if stamp.exists():
            return ""
        run = subprocess.run(
            command.replace("SOURCE", str(path)) + " -fsyntax-only", shell=True,
            cwd=directory, capture_output=True, text=True, check=False,
            env={**os.environ, "CCACHE_DISABLE": "1"})
        if run.returncode == 0:
            stamp.touch()
            return ""
        return run.stderr

    sources = list_sources(build)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(check, sorted(sources.items())))
    print(f"{len(sources)} sources")
    sys.exit("\n".join(found for found in results if found) or 0)


if __name__ == "__main__":
    main()
