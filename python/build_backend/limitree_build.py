"""What pip calls to build limitree: scikit-build-core, after a look around.

A machine may lack what the sources are built with.  pip would download packages
first, and end with a long text of CMake's; this says it at once, in one
sentence.  If the caller says where things are, that is left to
cmake/requirements.cmake, which knows best and says the same.
"""

from __future__ import annotations

import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys
import sysconfig

WANTED = ["scikit-build-core>=0.10", "pybind11>=3.0"]
CMAKE_AT_LEAST = (3, 25)

# Name, packages of Debian and Ubuntu, Fedora, Alpine, Homebrew: the same as in
# cmake/requirements.cmake.
NEEDS = {
    "compiler": ("a C++20 compiler", "build-essential", "gcc-c++ make",
                 "build-base", "llvm"),
    "pkg-config": ("pkg-config", "pkg-config", "pkgconf", "pkgconf", "pkgconf"),
    "yaml-0.1": ("libyaml", "libyaml-dev", "libyaml-devel", "yaml-dev",
                 "libyaml"),
    "hiredis": ("hiredis", "libhiredis-dev", "hiredis-devel", "hiredis-dev",
                "hiredis"),
    "openssl": ("OpenSSL", "libssl-dev", "openssl-devel", "openssl-dev",
                "openssl"),
    "python": ("Python.h", "python3-dev", "python3-devel", "python3-dev",
               "python"),
}
HEADERS = {"yaml-0.1": "yaml.h", "hiredis": "hiredis/hiredis.h",
           "openssl": "openssl/ssl.h"}
INCLUDES = ("/usr/include", "/usr/local/include", "/opt/homebrew/include",
            "/opt/homebrew/opt/openssl/include",
            "/usr/local/opt/openssl/include")

PROC_NET = pathlib.Path("/proc/net")

# Environment with which the caller says what to build with, and where it is.
TOLD = ("CXX", "CMAKE_ARGS", "CMAKE_PREFIX_PATH", "CMAKE_TOOLCHAIN_FILE",
        "OPENSSL_ROOT_DIR", "PKG_CONFIG", "SKBUILD_CMAKE_ARGS",
        "SKBUILD_CMAKE_DEFINE")

OFFLINE = ("limitree cannot be built without scikit-build-core and pybind11, "
           "and {why}: install a wheel of limitree instead, or those two "
           "packages and then limitree with pip's option --no-build-isolation")


def _finds(need: str) -> bool:
    if need == "compiler":
        return any(map(shutil.which, ("c++", "g++", "clang++", "icpx")))
    if need == "pkg-config":
        return _pkg_config() is not None
    if need == "python":
        paths = (sysconfig.get_path(name) for name in ("include",
                                                       "platinclude"))
        return any(pathlib.Path(path, "Python.h").exists() for path in paths)
    program = _pkg_config()
    if program is not None and subprocess.run(
            [program, "--exists", need], check=False).returncode == 0:
        return True
    # CMake finds OpenSSL without pkg-config, too.
    return (program is None or need == "openssl") and any(
        pathlib.Path(folder, HEADERS[need]).exists() for folder in INCLUDES)


def _pkg_config() -> str | None:
    return shutil.which("pkg-config") or shutil.which("pkgconf")


def missing() -> str | None:
    """Return a sentence if something is missing here."""
    rows = [row for need, row in NEEDS.items() if not _finds(need)]
    if not rows:
        return None
    names, *packages = zip(*rows)
    ways = [f"{command} {' '.join(some)} ({systems})"
            for (command, systems), some in zip(
                (("apt-get install", "Debian, Ubuntu"),
                 ("dnf install", "Fedora"), ("apk add", "Alpine"),
                 ("brew install", "macOS")), packages)]
    return (f"limitree cannot be built without {_joined('and', names)}: "
            f"{_joined('or', ways)}")


def _joined(word: str, texts: tuple[str, ...] | list[str]) -> str:
    *first, last = texts
    return f"{', '.join(first)} {word} {last}" if first else last


def why_offline(command: list[str]) -> str | None:
    """Return why the pip of this command line can download nothing, if so.

    Only if that is certain: where pip may have another source, pip finds out.
    """
    program = [pathlib.Path(word).name for word in command[:4]]
    if not any("pip" in name for name in program) or program[0] == "uv":
        return None
    settings = {name: value for name, value in os.environ.items()
                if name.startswith("PIP_") or name.lower().endswith("_proxy")}
    texts = [*command, *settings.values(), *_texts_of_config()]
    links = [*_find_links(command), *settings.get("PIP_FIND_LINKS", "").split()]
    if any(map(_may_have_packages, links)) or any(
            "find-links" in text for text in texts[len(command):]):
        return None
    if "--no-index" in command or "PIP_NO_INDEX" in settings:
        return "pip is told to download nothing"
    if _has_route() or any(here in text for text in texts
                           for here in ("localhost", "127.", "::1", "file:")):
        return None
    return "this machine has no network"


def _find_links(command: list[str]) -> list[str]:
    return [word.partition("=")[2] or following
            for word, following in zip(command, [*command[1:], ""])
            if word.split("=")[0] in ("-f", "--find-links")]


def _may_have_packages(link: str) -> bool:
    """Return whether pip may find there what is wanted, True for addresses."""
    folder = pathlib.Path(link)
    if not folder.exists():
        return ":" in link
    return not folder.is_dir() or (any(folder.glob("scikit_build_core-*"))
                                   and any(folder.glob("pybind11-*")))


def _texts_of_config() -> list[str]:
    """Return pip's files of settings."""
    home = pathlib.Path.home()
    found = []
    for folder in (home / ".pip", home / ".config/pip",
                   home / "Library/Application Support/pip", sys.prefix, "/etc",
                   "/etc/xdg/pip", "/Library/Application Support/pip"):
        try:
            found.append(pathlib.Path(folder, "pip.conf").read_text())
        except OSError:
            continue
    return found


def _has_route() -> bool:
    """Return whether there is a way to any other machine."""
    for name, first in (("route", 0), ("ipv6_route", -1)):
        try:
            lines = (PROC_NET / name).read_text().splitlines()
        except OSError:
            return True  # not Linux: unknown
        interfaces = {line.split()[first] for line in lines if line.strip()}
        if interfaces - {"lo", "Iface"}:
            return True
    return False


def _command_of_caller() -> list[str]:
    try:
        line = pathlib.Path(f"/proc/{os.getppid()}/cmdline").read_bytes()
    except OSError:
        return []
    return [os.fsdecode(word) for word in line.split(b"\0")[:-1]]


def _requires(config_settings: object) -> list[str]:
    if not config_settings and not any(map(os.environ.get, TOLD)):
        sentence = missing()
        if sentence is not None:
            _stop(sentence)
    if not _has_packages():
        why = why_offline(_command_of_caller())
        if why is not None:
            _stop(OFFLINE.format(why=why))
    return [*WANTED, *_programs()]


def _has_packages() -> bool:
    return all(map(importlib.util.find_spec, ("scikit_build_core", "pybind11")))


def _programs() -> list[str]:
    """Return the packages for programs that are not there."""
    wanted = []
    cmake = shutil.which("cmake3") or shutil.which("cmake")
    if cmake is None or _version_of(cmake) < CMAKE_AT_LEAST:
        wanted.append("cmake>=%d.%d" % CMAKE_AT_LEAST)
    if not any(map(shutil.which, ("ninja", "ninja-build", "samu", "make",
                                  "gmake"))):
        wanted.append("ninja>=1.5")
    return wanted


def _version_of(cmake: str) -> tuple[int, ...]:
    shown = subprocess.run([cmake, "--version"], stdout=subprocess.PIPE,
                           text=True, check=False).stdout
    numbers = shown.partition("version ")[2].split(".")[:2]
    return tuple(int(one) for one in numbers if one.isdigit())


def _stop(sentence: str) -> None:
    # Without a traceback: pip shows what a process that fails has written.
    print(sentence, file=sys.stderr)
    raise SystemExit(1)


def get_requires_for_build_wheel(config_settings=None):
    return _requires(config_settings)


get_requires_for_build_editable = get_requires_for_build_wheel


def get_requires_for_build_sdist(config_settings=None):
    return WANTED[:1]  # an archive of the sources needs no libraries


# The other hooks are those of scikit-build-core, which is there only once what
# the functions above return is installed.


def _backend():
    import scikit_build_core.build
    return scikit_build_core.build


def prepare_metadata_for_build_wheel(*args, **keywords):
    return _backend().prepare_metadata_for_build_wheel(*args, **keywords)


def prepare_metadata_for_build_editable(*args, **keywords):
    return _backend().prepare_metadata_for_build_editable(*args, **keywords)


def build_wheel(*args, **keywords):
    return _backend().build_wheel(*args, **keywords)


def build_editable(*args, **keywords):
    return _backend().build_editable(*args, **keywords)


def build_sdist(*args, **keywords):
    return _backend().build_sdist(*args, **keywords)
