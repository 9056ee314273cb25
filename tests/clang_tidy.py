"""Runs clang-tidy over core/, capi/ and bindings/ as a build compiles them.

A file that passed is not looked at again until it, a header of those folders,
its command, .clang-tidy or clang-tidy changes: the build folder remembers.

Usage: clang_tidy.py <clang-tidy> <folder with compile_commands.json>
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("core", "capi", "bindings")


def fingerprint_of_all(tool):
    """Returns what each result depends on besides the file itself."""
    version = subprocess.run([tool, "--version"], check=True,
                             capture_output=True).stdout
    digest = hashlib.sha256(version)
    paths = [ROOT / ".clang-tidy"]
    for folder in FOLDERS:
        paths += sorted((ROOT / folder).rglob(".clang-tidy"))
        paths += sorted((ROOT / folder).rglob("*.h"))
        paths += sorted((ROOT / folder).rglob("*.hpp"))
    for path in paths:
        digest.update(path.read_bytes())
    return digest.digest()


# It would look at all that is precompiled, whatever a file includes of it.
PRECOMPILED = re.compile(r"-Xclang -include(-pch)? -Xclang \S+ ")


def list_commands(build, folder):
    """Returns the files to look at, each with its compile command.

    Writes the commands to `folder` as well, where clang-tidy finds them.
    """
    commands = json.loads((build / "compile_commands.json").read_text())
    found = {}
    for entry in commands:
        entry["command"] = PRECOMPILED.sub("", entry["command"])
        path = pathlib.Path(entry["directory"], entry["file"]).resolve()
        if any(ROOT / name in path.parents for name in FOLDERS):
            found.setdefault(path, entry["command"])
    (folder / "compile_commands.json").write_text(json.dumps(commands))
    return found


def look_at(tool, folder, path, stamp):
    """Returns what clang-tidy says about `path`; "" if it is content."""
    run = subprocess.run([tool, "--quiet", "-p", str(folder), str(path)],
                         capture_output=True, text=True, check=False)
    if run.returncode == 0:
        stamp.touch()
        return ""
    return run.stdout


def main():
    tool, build = sys.argv[1], pathlib.Path(sys.argv[2])
    stamps = build / "clang-tidy"
    stamps.mkdir(exist_ok=True)
    common = fingerprint_of_all(tool)
    jobs = []
    for path, command in list_commands(build, stamps).items():
        seen = common + command.encode() + path.read_bytes()
        stamp = stamps / hashlib.sha256(seen).hexdigest()
        if not stamp.exists():
            jobs.append((tool, stamps, path, stamp))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        said = [text for text in pool.map(lambda job: look_at(*job), jobs)
                if text]
    print(f"{len(jobs)} files looked at")
    sys.exit("\n".join(said) or 0)


if __name__ == "__main__":
    main()
