"""Builds limitree without Redis and libpsl, and uses the result from outside.

The build sees libyaml and libpsl alone, and the projects that use it libyaml
alone: neither may look for anything else.

Usage: memory_only.py <cmake> <folder to build in> <cc> <c++> <generator>
"""

import os
import pathlib
import re
import shutil
import sys
import tempfile

import outside

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
FOREIGN = re.compile(r"hiredis|ssl|crypto|psl", re.I)


def show_modules(folder, *modules):
    """Lets pkg-config know these modules, and no others."""
    folder.mkdir()
    for module in modules:
        where = outside.run("pkg-config", "--variable=pcfiledir", module)
        shutil.copy(pathlib.Path(where.strip()) / f"{module}.pc", folder)
    os.environ["PKG_CONFIG_LIBDIR"] = str(folder)


def build(tools, work):
    # Compiled quickly: the result does not depend on optimization.
    options = ["-DLIMITREE_REDIS=OFF", "-DLIMITREE_PSL=OFF",
               "-DLIMITREE_CLI=OFF", "-DLIMITREE_SERVER=OFF",
               "-DLIMITREE_WERROR=ON",
               "-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON",
               "-DCMAKE_BUILD_TYPE=Debug", "-DCMAKE_CXX_FLAGS_DEBUG=-O0",
               "-DCMAKE_UNITY_BUILD=ON",
               "-DCMAKE_UNITY_BUILD_BATCH_SIZE=4"]
    outside.run(tools.cmake, "-S", ROOT, "-B", tools.build, "-G",
                tools.generator, f"-DCMAKE_C_COMPILER={tools.cc}",
                f"-DCMAKE_CXX_COMPILER={tools.cxx}", *options)
    outside.run(tools.cmake, "--build", tools.build, "--parallel",
                os.cpu_count())
    outside.run(tools.cmake, "--install", tools.build, "--prefix",
                work / "prefix")
    return work / "prefix"


def check_needs(prefix):
    """What the library, and what is installed beside it, says it needs."""
    library = outside.find_one(prefix, "liblimitree.so")
    needed = outside.run("readelf", "-d", library)
    assert "libyaml" in needed, needed
    texts = {library.name: "\n".join(re.findall(r"NEEDED.*", needed))}
    for name in ("limitree.pc", "limitreeShared.cmake",
                 "limitreeStatic.cmake"):
        texts[name] = outside.find_one(prefix, name).read_text()
    for name, text in texts.items():
        found = FOREIGN.search(text)
        assert found is None, f"{name} names {found[0]}"


def try_outside(tools, prefix, work):
    project = work / "cmake_project"
    outside.build_project(tools, prefix, HERE / "cmake_project", project)
    for program in ("with_shared", "with_static", "with_cpp"):
        outside.run(project / program)
    outside.try_pkg_config(tools.cc, prefix, work)


def try_errors(tools, prefix, work):
    environment = outside.library_path(prefix)
    outside.run(tools.cc, HERE / "memory_only.c", "-o", work / "memory_only",
                "-I", prefix / "include", "-L", environment["LD_LIBRARY_PATH"],
                "-llimitree")
    outside.run(work / "memory_only", env=environment)


def main():
    tools = outside.Tools(*sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        work = pathlib.Path(folder)
        show_modules(work / "build_modules", "yaml-0.1", "libpsl")
        prefix = build(tools, work)
        check_needs(prefix)
        show_modules(work / "modules", "yaml-0.1")
        try_outside(tools, prefix, work)
        try_errors(tools, prefix, work)


if __name__ == "__main__":
    main()
