"""What a build lacks is named in one sentence, with how to install it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
CMAKE = os.environ.get("LIMITREE_CMAKE", "cmake")
GENERATOR, MAKE = (("Ninja", shutil.which("ninja")) if shutil.which("ninja")
                   else ("Unix Makefiles", shutil.which("make")))

# need: its name, and its package of Debian, Fedora, Alpine and Homebrew.
PACKAGES = {
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


def sentence(*needs):
    """Returns what is said if these are missing."""
    rows = [PACKAGES[need] for need in needs]
    names, apt, dnf, apk, brew = zip(*rows)
    what = " and ".join([*[", ".join(names[:-1])][:len(names) > 1], names[-1]])
    return (f"limitree cannot be built without {what}: "
            f"apt-get install {' '.join(apt)} (Debian, Ubuntu), "
            f"dnf install {' '.join(dnf)} (Fedora), "
            f"apk add {' '.join(apk)} (Alpine) or "
            f"brew install {' '.join(brew)} (macOS)")


@pytest.fixture
def configure(tmp_path):
    """A function that configures, and returns the one error on one line."""
    def run(*options, env=()):
        environment = {name: value for name, value in os.environ.items()
                       if name not in ("CXX", "CC", "PKG_CONFIG")
                       # which may not be among the programs of a test
                       and not name.endswith("_COMPILER_LAUNCHER")}
        environment.update(env)
        cmake = shutil.which(CMAKE)
        done = subprocess.run(
            [cmake, "-S", ROOT, "-B", tmp_path / "build", "-G", GENERATOR,
             f"-DCMAKE_MAKE_PROGRAM={MAKE}",
             "-DLIMITREE_CLI=OFF", "-DLIMITREE_SERVER=OFF",
             "-DLIMITREE_PSL=OFF", *options], env=environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
        assert done.returncode != 0, done.stdout
        errors = done.stderr.split("CMake Error at ")[1:]
        assert len(errors) == 1, done.stderr
        text = re.split(r"Call Stack|\n\n\n", errors[0])[0]
        return " ".join(text.split("\n", 1)[1].split())
    return run


@pytest.fixture
def modules(tmp_path):
    """A function that lets pkg-config know these modules, and no others."""
    def show(*names):
        folder = tmp_path / "modules"
        folder.mkdir()
        for name in names:
            where = subprocess.run(
                ["pkg-config", "--variable=pcfiledir", name], check=True,
                text=True, stdout=subprocess.PIPE).stdout.strip()
            shutil.copy(pathlib.Path(where) / f"{name}.pc", folder)
        return {"PKG_CONFIG_LIBDIR": str(folder)}
    return show


@pytest.fixture
def programs(tmp_path):
    """A function that returns a PATH with these programs, and no others."""
    def show(*names):
        folder = tmp_path / "programs"
        folder.mkdir()
        for name in names:
            (folder / name).symlink_to(shutil.which(name))
        return {"PATH": str(folder)}
    return show


def test_no_libraries(configure, modules):
    assert configure(env=modules()) == sentence("yaml-0.1", "hiredis")


def test_no_libyaml(configure, modules):
    assert configure(env=modules("hiredis")) == sentence("yaml-0.1")


def test_no_hiredis(configure, modules):
    assert configure(env=modules("yaml-0.1")) == sentence("hiredis")


def test_no_openssl(configure):
    assert (configure("-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON")
            == sentence("openssl"))


def test_no_static_openssl(configure):
    said = configure("-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON",
                     "-DLIMITREE_STATIC_LIBRARIES=ON")
    assert "apk add openssl-dev openssl-libs-static (Alpine)" in said
    assert said.endswith(
        "; LIMITREE_STATIC_LIBRARIES=OFF takes shared libraries")


def test_without_redis_its_libraries_are_not_missed(configure, modules):
    said = configure("-DLIMITREE_REDIS=OFF", env=modules())
    assert said == sentence("yaml-0.1")


def test_no_pkg_config(configure, programs):
    said = configure("-DCMAKE_IGNORE_PATH=/usr/bin;/bin;/usr/local/bin",
                     env=programs("c++", "cc", "as", "ld", "ar", "ranlib"))
    assert said == sentence("pkg-config")


def test_no_compiler(configure, programs):
    said = configure(env=programs("pkg-config"))
    assert said == sentence("compiler")


def test_no_compiler_nor_anything_else(configure, programs):
    said = configure("-DCMAKE_IGNORE_PATH=/usr/include;/usr/local/include;"
                     "/opt/homebrew/include", env=programs())
    assert said == sentence("compiler", "pkg-config", "yaml-0.1", "hiredis",
                            "openssl")


def test_an_old_compiler(configure, tmp_path):
    """It knows C++20 by name only."""
    old = tmp_path / "old-c++"
    old.write_text('#!/bin/sh\nexec c++ "$@" -std=c++17\n')
    old.chmod(0o755)
    said = configure(f"-DCMAKE_CXX_COMPILER={old}")
    assert re.fullmatch(
        r"limitree cannot be built without a newer C\+\+ compiler than "
        r"\w+ [\d.]+: gcc 11 and clang 14 are new enough, CMAKE_CXX_COMPILER "
        r"names one", said), said


PYTHON = ["-DLIMITREE_PYTHON=ON", f"-DPython_EXECUTABLE={sys.executable}"]


def test_no_python_header(configure, tmp_path):
    pybind11 = tmp_path / "pybind11"
    said = configure(*PYTHON, f"-DPython_INCLUDE_DIR={tmp_path}/nowhere",
                     f"-Dpybind11_DIR={pybind11}")
    assert said == sentence("python")


# Runs what follows "-c", and says that it is Python 3.8.
OLD_PYTHON = f"""#!{sys.executable}
import sys
sys.argv = sys.argv[sys.argv.index("-c") + 1:]
sys.version_info = (3, 8, 1, "final", 0)
exec(sys.argv[0])
"""


@pytest.mark.parametrize("is_there", [True, False])
def test_an_old_python_or_none(configure, tmp_path, is_there):
    python = tmp_path / "python3.8"
    if is_there:
        python.write_text(OLD_PYTHON)
        python.chmod(0o755)
    said = configure("-DLIMITREE_PYTHON=ON", f"-DPython_EXECUTABLE={python}")
    assert said == ("limitree cannot be built without Python 3.9 or newer: "
                    "Python_EXECUTABLE names one")


def test_no_pybind11(configure):
    said = configure(*PYTHON, "-DCMAKE_DISABLE_FIND_PACKAGE_pybind11=ON")
    assert re.fullmatch(
        r"limitree cannot be built without pybind11 3.0 or newer: "
        r"\S+ -m pip install \"pybind11>=3.0\"", said), said


def test_all_is_said_at_once(configure, modules):
    said = configure(*PYTHON, "-DCMAKE_DISABLE_FIND_PACKAGE_pybind11=ON",
                     "-DCMAKE_DISABLE_FIND_PACKAGE_OpenSSL=ON", env=modules())
    assert said.startswith("limitree cannot be built without libyaml, hiredis, "
                           "OpenSSL and pybind11 3.0 or newer: apt-get install "
                           "libyaml-dev libhiredis-dev libssl-dev (Debian")
    assert said.endswith(' -m pip install "pybind11>=3.0"')
