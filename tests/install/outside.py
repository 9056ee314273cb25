"""Installs limitree and builds projects that know nothing but the result.

With find_package (shared, static, C++, and the example in C) and with
pkg-config (shared, static).  Before that the installed tree is moved, for
packages are, too.

Usage: outside.py <cmake> <build folder> <cc> <c++> <generator>
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = HERE.parent.parent / "examples"

Tools = collections.namedtuple("Tools", "cmake build cc cxx generator")


def run(*command, **kwargs):
    """Runs a command and returns what it prints; fails if it does."""
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    done = subprocess.run(words, text=True, stdout=subprocess.PIPE,
                          check=False, **kwargs)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        sys.exit(f"exit status {done.returncode}")
    return done.stdout


def find_one(root, name):
    found = list(root.rglob(name))
    assert len(found) == 1, f"{name}: {found}"
    return found[0]


def library_path(prefix):
    """Returns the environment with the installed library to be found."""
    folder = find_one(prefix, "liblimitree.a").parent
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def build_project(tools, prefix, source, build):
    run(tools.cmake, "-S", source, "-B", build, "-G", tools.generator,
        "--no-warn-unused-cli",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_C_COMPILER={tools.cc}",
        f"-DCMAKE_CXX_COMPILER={tools.cxx}")
    run(tools.cmake, "--build", build)


def try_cmake(tools, prefix, work):
    build = work / "cmake_project"
    build_project(tools, prefix, HERE / "cmake_project", build)
    for program in ("with_shared", "with_static", "with_cpp"):
        run(build / program)

    build = work / "example"
    build_project(tools, prefix, EXAMPLES / "c", build)
    run(build / "authorize", EXAMPLES / "limits.yaml")
    run(build / "event_loop")


def try_pkg_config(cc, prefix, work):
    environment = library_path(prefix)
    folder = find_one(prefix, "limitree.pc").parent
    environment["PKG_CONFIG_PATH"] = str(folder)
    ask = ["pkg-config", "--cflags", "--libs"]

    flags = run(*ask, "limitree", env=environment).split()
    program = work / "with_shared"
    run(cc, HERE / "main.c", "-o", program, *flags)
    run(program, env=environment)

    flags = run(*ask, "--static", "limitree", env=environment).split()
    archive = find_one(prefix, "liblimitree.a")
    flags = [archive if flag == "-llimitree" else flag for flag in flags]
    program = work / "with_static"
    run(cc, HERE / "main.c", "-o", program, *flags)
    del environment["LD_LIBRARY_PATH"]
    run(program, env=environment)


def main():
    tools = Tools(*sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        run(tools.cmake, "--install", tools.build, "--prefix", work / "first")
        prefix = work / "moved"
        (work / "first").rename(prefix)
        try_cmake(tools, prefix, work)
        try_pkg_config(tools.cc, prefix, work)
        command = prefix / "bin" / "limitree"
        if command.exists():
            run(command, "--version")


if __name__ == "__main__":
    main()
