"""Builds AWS-LC, hiredis and libyaml for a platform, as archives.

AWS-LC has the interface of OpenSSL, as far as a client of Redis needs it, and
adds a third as much to a package.
"""

import pathlib
import re
import shutil

import zig
from run import run

# No exception passes through C: without tables for that.
_C_FLAGS = ["-fvisibility=hidden", "-fno-unwind-tables",
            "-fno-asynchronous-unwind-tables"]

_PKG_CONFIG = """\
prefix=${{pcfiledir}}/../..
Name: {name}
Description: {name}
Version: {version}
Cflags: -I${{prefix}}/include
Libs: -L${{prefix}}/lib -l{library}
"""


def build(platform, sources):
    """Builds what is not there, or was made of other versions or in another
    way."""
    stamp = platform.libraries / ".made"
    wanted = "\n".join([
        *(f"{one.name} {one.version}" for one in sources.values()),
        f"zig {zig.version()}", *zig.cmake(platform),
        pathlib.Path(__file__).read_text(encoding="utf-8")])
    if stamp.exists() and stamp.read_text() == wanted:
        return
    shutil.rmtree(platform.libraries, ignore_errors=True)
    _aws_lc(platform, sources["rust-aws-lc-sys"])
    _with_cmake(platform, sources["hiredis"], ["DISABLE_TESTS=ON"])
    _pkg_config(platform, sources["hiredis"], "hiredis", "hiredis")
    _with_cmake(platform, sources["libyaml"], ["BUILD_TESTING=OFF"])
    _pkg_config(platform, sources["libyaml"], "yaml-0.1", "yaml")
    stamp.write_text(wanted)


def aws_lc_version(sources):
    """The version of AWS-LC itself: Debian counts those of the binding."""
    header = (sources["rust-aws-lc-sys"].folder / "aws-lc" / "include" /
              "openssl" / "base.h")
    return re.search(r'AWSLC_VERSION_NUMBER_STRING "(\S+)"',
                     header.read_text())[1]


def _aws_lc(platform, source):
    """Without code for AVX-512, which is 1 MB, and for smaller tables: for
    speeds that no client of Redis reaches."""
    _hide_functions(source)
    _with_cmake(platform, source, [
        "BUILD_TESTING=OFF", "BUILD_TOOL=OFF", "DISABLE_GO=ON",
        "DISABLE_PERL=ON", "DISABLE_CPU_JITTER_ENTROPY=ON",
        "MY_ASSEMBLER_IS_TOO_OLD_FOR_512AVX=ON", "OPENSSL_SMALL=ON",
        "CMAKE_C_FLAGS_RELEASE=-Os -DNDEBUG",
        "CMAKE_CXX_FLAGS_RELEASE=-Os -DNDEBUG",
    ], source.folder / "aws-lc")


def _hide_functions(source):
    """Its archive, too, has visible functions: on macOS a linker then keeps all
    of them."""
    # CMake makes the header from the other file.
    for name in "base.h", "base.h.in":
        header = source.folder / "aws-lc" / "include" / "openssl" / name
        header.write_text(header.read_text().replace(
            '#define OPENSSL_EXPORT __attribute__((visibility("default")))',
            '#define OPENSSL_EXPORT __attribute__((visibility("hidden")))'))


def _with_cmake(platform, source, settings, folder=None):
    build = platform.folder / source.name
    shutil.rmtree(build, ignore_errors=True)
    log = f"{platform.name}-{source.name}"
    flags = " ".join([*zig.FLAGS, *_C_FLAGS, zig.NO_PATHS])
    run(log, ["cmake", "-S", folder or source.folder, "-B", build,
              *zig.cmake(platform), f"-DCMAKE_C_FLAGS={flags}",
              f"-DCMAKE_CXX_FLAGS={flags}", "-DBUILD_SHARED_LIBS=OFF",
              f"-DCMAKE_INSTALL_PREFIX={platform.libraries}",
              *(f"-D{one}" for one in settings)])
    run(log, ["cmake", "--build", build])
    run(log, ["cmake", "--install", build])


def _pkg_config(platform, source, module, library):
    """Theirs name other folders, or do not exist."""
    file = platform.libraries / "lib" / "pkgconfig" / f"{module}.pc"
    file.write_text(_PKG_CONFIG.format(
        name=source.name, version=source.upstream, library=library))
