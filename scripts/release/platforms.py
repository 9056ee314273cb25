"""The platforms that a release has binaries for.

The name of a platform is what Node.js calls it; `-musl` is added for Linux
without glibc.
"""

import dataclasses
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "packages"

# The lowest versions on which the binaries run.
GLIBC = "2.17"
MACOS = "11.0"


@dataclasses.dataclass(frozen=True)
class Platform:
    """What the tools call one platform."""

    name: str
    zig: str
    """The target of Zig's compilers."""
    system: str
    """CMAKE_SYSTEM_NAME."""
    processor: str
    """CMAKE_SYSTEM_PROCESSOR."""
    wheel: str
    """The platform tag of a wheel."""
    extension: str
    """What CPython appends to "cpython-312-" in the name of a module, or to
    nothing on macOS: "cpython-312-darwin.so" there, too."""

    glibc: str = GLIBC
    """The lowest version of glibc that its binaries run on."""

    @property
    def folder(self):
        return BUILD / self.name

    @property
    def libraries(self):
        """The prefix where the libraries for this platform are installed."""
        return self.folder / "libraries"

    @property
    def has_glibc(self):
        return "-gnu" in self.zig

    @property
    def is_linux(self):
        return self.system == "Linux"


def _linux(processor, node, musl):
    libc = "musl" if musl else "gnu"
    tag = (f"musllinux_1_2_{processor}" if musl else
           f"manylinux_2_17_{processor}.manylinux2014_{processor}")
    return Platform(
        name=f"linux-{node}-musl" if musl else f"linux-{node}",
        zig=f"{processor}-linux-musl" if musl
        else f"{processor}-linux-gnu.{GLIBC}",
        system="Linux", processor=processor, wheel=tag,
        extension=f"{processor}-linux-{libc}.so")


def _macos(processor, zig, node):
    return Platform(
        name=f"darwin-{node}", zig=f"{zig}-macos.{MACOS}", system="Darwin",
        processor=processor,
        wheel=f"macosx_{MACOS.replace('.', '_')}_{processor}",
        extension="darwin.so")


PLATFORMS = {one.name: one for one in (
    _linux("x86_64", "x64", False),
    _linux("aarch64", "arm64", False),
    _linux("x86_64", "x64", True),
    _linux("aarch64", "arm64", True),
    _macos("x86_64", "x86_64", "x64"),
    _macos("arm64", "aarch64", "arm64"),
)}

# CPython's versions, and a Debian release that has the headers of each, for a
# machine that has not that Python.
PYTHONS = {"3.9": "bullseye", "3.10": None, "3.11": "bookworm", "3.12": None,
           "3.13": "trixie", "3.14": "testing"}


def version():
    """The version of limitree, from the one place that states it."""
    numbers = {}
    header = ROOT / "capi" / "limitree.h"
    for line in header.read_text(encoding="utf-8").splitlines():
        if line.startswith("#define LIMITREE_VERSION_"):
            _, name, number = line.split()
            numbers[name.rsplit("_", 1)[1]] = number
    return "{MAJOR}.{MINOR}.{PATCH}".format(**numbers)
