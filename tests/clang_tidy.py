"""Runs clang-tidy over the sources of the product as a build compiles them.

clang-tidy spends four fifths of its time on the headers of the C++ library,
whatever file it reads.  So this script gives it the files together that the
build compiles together, in one source that includes them.

A batch that passed is not read again until one of its files, a header of those
folders, its command, .clang-tidy or clang-tidy changes: the build folder
remembers it.

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
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("core", "io", "capi", "bindings", "server")

# The sources of a batch are included, so they count as headers here.  A header
# may shadow a name of the source before it; the build has the compiler's own
# warnings.
IN_BATCH = ("--header-filter=/(core|io|capi|bindings|server)/.*[.][ch]pp$",
            "--checks=-bugprone-suspicious-include", "--extra-arg=-w")


def fingerprint_of_all(tool):
    """Returns what each result depends on besides the files themselves."""
    version = subprocess.run([tool, "--version"], check=True,
                             capture_output=True).stdout
    digest = hashlib.sha256(version)
    paths = [ROOT / ".clang-tidy", pathlib.Path(__file__)]
    for folder in FOLDERS:
        paths += sorted((ROOT / folder).rglob("*.h"))
        paths += sorted((ROOT / folder).rglob("*.hpp"))
    for path in paths:
        digest.update(path.read_bytes())
    return digest.digest()


# clang-tidy would read the whole precompiled header, whatever a file includes.
PRECOMPILED = re.compile(r"-Xclang -include(-pch)? -Xclang \S+ ")
OUTPUT = re.compile(r"-o \S+ ")
# What a file of CMake includes that compiles several files together.
TOGETHER = re.compile(r'^#include "(.*)"$', re.M)


def sources(entry):
    """Returns the files that an entry of compile_commands.json compiles."""
    path = pathlib.Path(entry["directory"], entry["file"])
    if path.parent.name != "Unity":
        return [path.resolve()]
    return [pathlib.Path(one) for one in TOGETHER.findall(path.read_text())]


def list_batches(build):
    """Yields lists of files that are compiled as one, each with the command.

    In the command, SOURCE stands for the name of the file.
    """
    seen = set()
    for entry in json.loads((build / "compile_commands.json").read_text()):
        command = PRECOMPILED.sub("", OUTPUT.sub("", entry["command"]))
        paths = [path for path in sources(entry) if path not in seen and
                 any(ROOT / name in path.parents for name in FOLDERS)]
        seen.update(paths)
        if paths:
            yield (paths, command.replace(entry["file"], "SOURCE"),
                   entry["directory"])


def read_batch(tool, paths, command, directory, folder):
    """Returns what clang-tidy finds in `paths`, "" if nothing.

    `folder` is a folder of this run alone.
    """
    source, options = paths[0], ()
    if len(paths) > 1:
        source, options = folder / f"batch{source.suffix}", IN_BATCH
        source.write_text("".join(f'#include "{path}"\n' for path in paths))
    entry = {"file": str(source), "directory": directory,
             "command": command.replace("SOURCE", str(source))}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    run = subprocess.run(
        [tool, "--quiet", "-p", str(folder),
         f"--config-file={ROOT / '.clang-tidy'}", *options, str(source)],
        capture_output=True, text=True, check=False)
    return run.stdout + run.stderr if run.returncode else ""


def main():
    tool, build = sys.argv[1], pathlib.Path(sys.argv[2])
    stamps = build / "clang-tidy"
    stamps.mkdir(exist_ok=True)
    common = fingerprint_of_all(tool)

    def check(batch):
        paths, command, directory = batch
        seen = hashlib.sha256(common + command.encode())
        for path in paths:
            seen.update(str(path).encode() + path.read_bytes())
        stamp = stamps / seen.hexdigest()
        if stamp.exists():
            return 0, ""
        with tempfile.TemporaryDirectory() as folder:
            found = read_batch(tool, paths, command, directory,
                               pathlib.Path(folder))
        if not found:
            stamp.touch()
        return len(paths), found

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        # The large batches first, so that no processor waits for the last one.
        batches = sorted(list_batches(build), key=lambda one: -len(one[0]))
        results = list(pool.map(check, batches))
    print(f"{sum(count for count, _ in results)} files read")
    sys.exit("\n".join(found for _, found in results if found) or 0)


if __name__ == "__main__":
    main()
