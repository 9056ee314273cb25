"""Zig's C and C++ compilers, which compile for all platforms.

They bring the headers and stubs of many versions of glibc, musl, the macOS
system library, and LLVM's C++ library, which is linked in.
"""

import pathlib
import sys

from platforms import BUILD, ROOT
from run import ask, run

TOOLS = BUILD / "tools"
PROGRAMS = {"cc": "cc", "c++": "c++", "ar": "ar", "ranlib": "ranlib"}

# Unused functions are left out of the packages, which link all archives.
FLAGS = ["-fno-sanitize=all", "-ffunction-sections", "-fdata-sections"]

# What Zig links into each of them.
LINKED = "LLVM libc++, libc++abi and libunwind"

# Binaries do not say where they were made.
NO_PATHS = f"-ffile-prefix-map={ROOT}=."

# Zig's linker makes no bundles for macOS, but programs load libraries, too.
_NO_BUNDLES = """\
for word; do
  shift
  if [ "$word" = -bundle ]; then word=-shared; fi
  set -- "$@" "$word"
done
"""


def _home():
    package = ask(sys.executable, "-c",
                  "import ziglang; print(ziglang.__path__[0])")
    return pathlib.Path(package)


def tools(platform):
    """The paths of programs that take no word about the platform."""
    folder = TOOLS / platform.name
    folder.mkdir(parents=True, exist_ok=True)
    made = {}
    for name, command in PROGRAMS.items():
        made[name] = folder / name
        text = "#!/bin/sh\n"
        if name in ("cc", "c++"):
            command += f" -target {platform.zig}"
            if not platform.is_linux:
                text += _NO_BUNDLES
        text += f'exec "{_home() / "zig"}" {command} "$@"\n'
        if not made[name].exists() or made[name].read_text() != text:
            made[name].write_text(text)
            made[name].chmod(0o755)
    return made


# Functions of libgcc_s.so.1, and the versions that they have in it.
_UNWINDER = {
    "GCC_3.0": (
        "_Unwind_DeleteException", "_Unwind_ForcedUnwind",
        "_Unwind_GetDataRelBase", "_Unwind_GetGR", "_Unwind_GetIP",
        "_Unwind_GetLanguageSpecificData", "_Unwind_GetRegionStart",
        "_Unwind_GetTextRelBase", "_Unwind_RaiseException", "_Unwind_Resume",
        "_Unwind_SetGR", "_Unwind_SetIP"),
    "GCC_3.3": (
        "_Unwind_Backtrace", "_Unwind_FindEnclosingFunction",
        "_Unwind_GetCFA", "_Unwind_Resume_or_Rethrow"),
    "GCC_4.2.0": ("_Unwind_GetIPInfo",),
}


def unwinder(platform):
    """The path of a library to link with instead of libgcc_s.so.1, which every
    system with glibc has.

    glibc ends threads by that library, which walks through the frames of C++:
    CPython ends its daemon threads so.  A second unwinder inside a module does
    not know what the first one hands to it, and the process crashes.
    """
    library = TOOLS / platform.name / "libgcc_s.so.1"
    if library.exists():
        return library
    code, map_ = library.with_suffix(".c"), library.with_suffix(".map")
    code.write_text("".join(f"void {name}(void) {{}}\n" for names in
                            _UNWINDER.values() for name in names))
    map_.write_text("".join(
        f"{number} {{ {''.join(f'{name}; ' for name in names)}}};\n"
        for number, names in _UNWINDER.items()))
    run(f"{platform.name}-unwinder", [
        tools(platform)["cc"], "-shared", "-nostdlib", "-Wl,-soname,"
        "libgcc_s.so.1", f"-Wl,--version-script={map_}", "-o", library, code])
    return library


def cmake(platform):
    """What tells CMake to compile for `platform`."""
    made = tools(platform)
    flags = " ".join([*FLAGS, NO_PATHS])
    link = "-s -Wl,--gc-sections" if platform.is_linux else "-s -Wl,-dead_strip"
    if platform.has_glibc:
        link += f" {unwinder(platform)}"
    # CMake asks for this one, but Zig's linker needs no other.
    apple = [] if platform.is_linux else ["-DCMAKE_INSTALL_NAME_TOOL=true"]
    return [
        *apple, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_SYSTEM_NAME={platform.system}",
        f"-DCMAKE_SYSTEM_PROCESSOR={platform.processor}",
        f"-DCMAKE_C_COMPILER={made['cc']}",
        f"-DCMAKE_CXX_COMPILER={made['c++']}",
        f"-DCMAKE_AR={made['ar']}", f"-DCMAKE_RANLIB={made['ranlib']}",
        f"-DCMAKE_C_FLAGS={flags}", f"-DCMAKE_CXX_FLAGS={flags}",
        f"-DCMAKE_MODULE_LINKER_FLAGS={link}",
        f"-DCMAKE_FIND_ROOT_PATH={platform.libraries}",
        "-DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER",
        "-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY",
        "-DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY",
        "-DCMAKE_INSTALL_LIBDIR=lib",
        "-DCMAKE_POSITION_INDEPENDENT_CODE=ON",
        # Old files of CMake say what later versions refuse.
        "-DCMAKE_POLICY_VERSION_MINIMUM=3.5",
    ]


def version():
    return ask(_home() / "zig", "version")


def licenses():
    """The licences of what Zig links into the packages."""
    return {LINKED: _home() / "lib" / "libcxx" / "LICENSE.TXT"}
