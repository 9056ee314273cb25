"""Runs clang-tidy over the sources of the product as a build compiles them.

clang-tidy spends four fifths of its time on the headers of the C++ library,
whatever file it reads.  So this script gives it many files in one source that
includes them.  Two files may define the same name, each for its own use: then
it reads them apart.

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

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("core", "io", "capi", "bindings", "server")
BATCH = 40  # files read at once, at most

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
DOES_NOT_COMPILE = re.compile(
    r"^(/[^:\n]+):.* error: .*\[clang-diagnostic-error", re.M)
# What a file of CMake includes that compiles several files together.
TOGETHER = re.compile(r'^#include "(.*)"$', re.M)


def sources(entry):
    """Returns the files that an entry of compile_commands.json compiles."""
    path = pathlib.Path(entry["directory"], entry["file"])
    if path.parent.name != "Unity":
        return [path.resolve()]
    return [pathlib.Path(one) for one in TOGETHER.findall(path.read_text())]


def list_batches(build):
    """Yields lists of files that have one command, each with the command.

    In the command, SOURCE stands for the name of the file.
    """
    commands = json.loads((build / "compile_commands.json").read_text())
    seen = set()
    alike = {}
    for entry in commands:
        command = PRECOMPILED.sub("", OUTPUT.sub("", entry["command"]))
        compiled = command.replace(entry["file"], "SOURCE"), entry["directory"]
        paths = [path for path in sources(entry) if path not in seen and
                 any(ROOT / name in path.parents for name in FOLDERS)]
        seen.update(paths)
        # C and C++ differ.
        for path in paths:
            alike.setdefault((path.suffix, compiled), []).append(path)
    for (_, compiled), paths in alike.items():
        paths.sort()
        size = -(-len(paths) // -(-len(paths) // BATCH))  # nearly equal
        for i in range(0, len(paths), size):
            yield paths[i:i + size], *compiled


def run_tidy(tool, source, command, directory, folder, *options):
    """Returns the findings of clang-tidy in `source`, and whether it compiles.

    `folder` is a folder of this run alone.
    """
    entry = {"file": str(source), "directory": directory,
             "command": command.replace("SOURCE", str(source))}
    (folder / "compile_commands.json").write_text(json.dumps([entry]))
    run = subprocess.run(
        [tool, "--quiet", "-p", str(folder),
         f"--config-file={ROOT / '.clang-tidy'}", *options, str(source)],
        capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return "", True
    return run.stdout, "clang-diagnostic-error" not in run.stdout


def read_batch(tool, paths, command, directory, folder):
    """Returns what clang-tidy finds in `paths`, "" if nothing."""
    folder.mkdir(exist_ok=True)
    if len(paths) == 1:
        return run_tidy(tool, paths[0], command, directory, folder)[0]
    batch = folder / f"batch{paths[0].suffix}"
    batch.write_text("".join(f'#include "{path}"\n' for path in paths))
    found, compiles = run_tidy(tool, batch, command, directory, folder,
                               *IN_BATCH)
    if compiles:
        return found
    named = {pathlib.Path(name) for name in DOES_NOT_COMPILE.findall(found)}
    apart = [path for path in paths if path in named]
    if len(apart) in (0, len(paths)):
        apart = paths[:len(paths) // 2]
    rest = [path for path in paths if path not in apart]
    return "".join(read_batch(tool, part, command, directory, folder)
                   for part in (rest, apart))


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
        found = read_batch(tool, paths, command, directory,
                           stamps / f"{seen.hexdigest()}.d")
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
