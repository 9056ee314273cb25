"""Compiles limitree for a platform; its modules for Python and Node.js link
the same archive."""

import zig
from platforms import ROOT
from run import run

_SETTINGS = {
    "LIMITREE_STATIC_LIBRARIES": "ON", "LIMITREE_CLI": "OFF",
    "LIMITREE_SERVER": "OFF", "LIMITREE_INSTALL": "OFF", "LIMITREE_NODE": "ON",
}


def folder(platform):
    return platform.folder / "limitree"


def configure(platform):
    _cmake(platform, "configure",
           ["-S", ROOT, *zig.cmake(platform),
            *(f"-D{key}={value}" for key, value in _SETTINGS.items())])


def module(platform, target, file, settings=()):
    """Builds `target`, after further settings for CMake; returns the path of
    `file`, which it makes, without symbols."""
    log = f"{platform.name}-{target}"
    _cmake(platform, target, [f"-D{one}" for one in settings])
    run(log, ["cmake", "--build", folder(platform), "--target", target])
    built = folder(platform) / file
    if platform.is_linux:
        return built
    # Zig's linker leaves symbols there.  LLVM's strip signs the rest again.
    stripped = platform.folder / built.name
    run(log, ["llvm-strip", "-x", "-o", stripped, built])
    return stripped


def _cmake(platform, log, words):
    run(f"{platform.name}-{log}", ["cmake", "-B", folder(platform), *words],
        cwd=ROOT, env={"PKG_CONFIG_LIBDIR":
                       str(platform.libraries / "lib" / "pkgconfig")})
