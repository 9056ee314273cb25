"""Packs limitree for Debian, and looks into the packages.

The build of the preset `debian` is only configured: library and command are
those of the build that is tested.  scripts/release/try_debs.sh installs the
packages that are built as they should be.

Usage: packages.py <cmake> <folder to work in> <shared> <static> <command>
"""

import collections
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import outside

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIME = 1700000000  # of all that is inside

Package = collections.namedtuple("Package", "fields control files entries")

# What each package has in its folder of documents.
ALWAYS = {"changelog.Debian.gz", "copyright"}

FILES = {
    "liblimitree0": {"usr/lib/{arch}/liblimitree.so.0",
                     "usr/lib/{arch}/liblimitree.so.{version}"},
    "liblimitree-dev": {
        "usr/include/limitree.h",
        "usr/include/limitree.hpp",
        "usr/lib/{arch}/liblimitree.a",
        "usr/lib/{arch}/liblimitree.so",
        "usr/lib/{arch}/pkgconfig/limitree.pc",
        *(f"usr/lib/{{arch}}/cmake/limitree/limitree{name}.cmake"
          for name in ("Config", "ConfigVersion", "Shared", "Shared-release",
                       "Static", "Static-release"))},
    "limitree": {
        "usr/bin/limitree",
        "usr/share/doc/limitree/third-party.gz",
        *(f"usr/share/limitree/proto/limitree/v1/{name}.proto"
          for name in ("descriptors", "limiter"))},  # + man pages
    "limitree-service": {
        "etc/limitree/environment",
        "usr/lib/systemd/system/limitree.service",
        "usr/share/doc/limitree-service/README.Debian"},
}

# Beside `control` and `md5sums`.
CONTROL = {
    "liblimitree0": {"shlibs", "triggers"},
    "liblimitree-dev": set(),
    "limitree": set(),
    "limitree-service": {"conffiles", "postinst", "prerm", "postrm"},
}

DEPENDS = {
    "liblimitree0": ["libc6", "libyaml-0-2", "libhiredis", "libssl", "libpsl"],
    "liblimitree-dev": ["liblimitree0 (= {full})", "libyaml-dev",
                        "libhiredis-dev", "libssl-dev", "libpsl-dev"],
    "limitree": ["liblimitree0 (= {full})", "libc6", "libnghttp2", "libre2"],
    "limitree-service": ["limitree (= {full})", "adduser"],
}


def man_pages(command):
    """The names of the pages, of which each subcommand has one."""
    text = outside.run(command, "--help")
    words = re.findall(r"^  (\w+) +", text[text.index("Subcommands:"):], re.M)
    assert "serve" in words, text
    return ["limitree", *(f"limitree-{word}" for word in words)]


def pack(cmake, work, shared, static, command):
    """Returns the packages by name, and the names of the man pages."""
    # What is left of the last time would be packed, too.
    for name in ("capi", "bindings", "debian", "_CPack_Packages"):
        shutil.rmtree(work / name, ignore_errors=True)
    for deb in work.glob("*.deb"):
        deb.unlink()
    # The command keeps the path of the library that it was linked with.
    outside.run(cmake, "--preset", "debian", "-S", ROOT, "-B", work,
                "-DCMAKE_SKIP_RPATH=ON", cwd=ROOT)
    for path in (*shared.parent.glob("liblimitree.so*"), static):
        shutil.copy(path, work / "capi", follow_symlinks=False)
    shutil.copy(command, work / "bindings" / "cli")
    pages = man_pages(command)
    for page in pages:
        outside.run(ROOT / "cmake/debian/man_page.sh", command, "0.0",
                    work / "debian" / f"{page}.1",
                    *page.split("-")[1:])
    cpack = pathlib.Path(cmake).with_name("cpack")
    outside.run(cpack, "--config", work / "CPackConfig.cmake",
                "-D", "CPACK_DEBIAN_COMPRESSION_TYPE=none", cwd=work)
    return {deb.name.split("_")[0]: open_package(deb)
            for deb in work.glob("*.deb")}, pages


def open_package(deb):
    def members(option):
        done = subprocess.run(["dpkg-deb", option, deb], check=True,
                              stdout=subprocess.PIPE)
        with tarfile.open(fileobj=io.BytesIO(done.stdout)) as tar:
            return [(entry, tar.extractfile(entry).read()
                     if entry.isfile() else b"") for entry in tar]

    text = outside.run("dpkg-deb", "--field", deb)
    control = members("--ctrl-tarfile")
    entries = members("--fsys-tarfile")
    return Package(
        dict(re.findall(r"^([\w-]+): (.*)$", text, re.M)),
        {entry.name.lstrip("./"): data for entry, data in control
         if entry.isfile()},
        {entry.name.lstrip("./") for entry, _ in entries if not entry.isdir()},
        [entry for entry, _ in control + entries])


def check_package(name, package, pages, arch):
    full = package.fields["Version"]
    values = {"arch": arch, "version": full.split("-")[0], "full": full}
    expected = {path.format(**values) for path in FILES[name]}
    expected |= {f"usr/share/doc/{name}/{file}" for file in ALWAYS}
    if name == "limitree":
        expected |= {f"usr/share/man/man1/{page}.1.gz" for page in pages}
    assert package.files == expected, package.files ^ expected
    assert set(package.control) == {"control", "md5sums"} | CONTROL[name], (
        sorted(package.control))
    for part in DEPENDS[name]:
        assert part.format(**values) in package.fields["Depends"], (
            part, package.fields["Depends"])
    for entry in package.entries:
        assert (entry.uid, entry.gid, entry.mtime) == (0, 0, TIME), entry.name
        assert entry.issym() or not entry.mode & 0o022, entry.name


def check_scripts(service):
    for name in ("postinst", "prerm", "postrm"):
        script = service.control[name].decode()
        outside.run("sh", "-n", "-c", script)
        assert "\nset -e\n" in script, name
    conffiles = service.control["conffiles"].decode().split()
    assert conffiles == ["/etc/limitree/environment"], conffiles
    folders = {entry.name.strip("./") for entry in service.entries}
    assert "etc/limitree/descriptors" in folders, folders


def main():
    cmake, *paths = sys.argv[1:]
    work, shared, static, command = map(pathlib.Path, paths)
    os.environ["SOURCE_DATE_EPOCH"] = str(TIME)
    packages, pages = pack(cmake, work, shared, static, command)
    assert set(packages) == set(FILES), sorted(packages)
    arch = outside.run("dpkg-architecture", "-qDEB_HOST_MULTIARCH").strip()
    for name, package in packages.items():
        check_package(name, package, pages, arch)
    check_scripts(packages["limitree-service"])
    shlibs = packages["liblimitree0"].control["shlibs"].decode()
    assert shlibs.startswith("liblimitree 0 liblimitree0 (>= "), shlibs


if __name__ == "__main__":
    main()
