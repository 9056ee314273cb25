"""What the build backend says to pip before pip downloads anything."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parents[2]
FOLDER = ROOT / "python/build_backend"
WANTED = ["scikit-build-core>=0.10", "pybind11>=3.0"]
HAS_NAMESPACES = sys.platform == "linux" and os.geteuid() == 0 and (
    shutil.which("unshare") is not None)


@pytest.fixture
def backend(monkeypatch):
    spec = importlib.util.spec_from_file_location(
        "limitree_build", FOLDER / "limitree_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    for name in [*os.environ]:
        if name.startswith("PIP_") or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    for name in module.TOLD:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(module, "_texts_of_config", lambda: [])
    monkeypatch.setattr(module, "_has_route", lambda: True)
    return module


@pytest.fixture
def no_modules(monkeypatch, tmp_path):
    """pkg-config knows nothing, and the headers are not there."""
    monkeypatch.setenv("PKG_CONFIG_LIBDIR", str(tmp_path))


SAID = ("limitree cannot be built without libyaml and hiredis: apt-get install "
        "libyaml-dev libhiredis-dev (Debian, Ubuntu), dnf install "
        "libyaml-devel hiredis-devel (Fedora), apk add yaml-dev hiredis-dev "
        "(Alpine) or brew install libyaml hiredis (macOS)")


def test_nothing_is_missing(backend):
    assert backend.missing() is None
    assert backend.get_requires_for_build_wheel()[:2] == WANTED
    assert backend.get_requires_for_build_editable()[:2] == WANTED
    assert backend.get_requires_for_build_sdist() == WANTED[:1]


def test_libraries_are_missing(backend, no_modules, capsys):
    assert backend.missing() == SAID
    for hook in (backend.get_requires_for_build_wheel,
                 backend.get_requires_for_build_editable):
        with pytest.raises(SystemExit) as stopped:
            hook({})
        assert stopped.value.code == 1
        assert capsys.readouterr().err == SAID + "\n"


def test_an_archive_needs_no_libraries(backend, no_modules):
    assert backend.get_requires_for_build_sdist() == WANTED[:1]


def test_one_who_says_where_things_are_is_believed(backend, no_modules,
                                                   monkeypatch):
    settings = {"cmake.define.LIMITREE_REDIS": "OFF"}
    assert backend.get_requires_for_build_wheel(settings)[:2] == WANTED
    monkeypatch.setenv("CMAKE_ARGS", "-DLIMITREE_REDIS=OFF")
    assert backend.get_requires_for_build_wheel()[:2] == WANTED


def test_everything_is_missing(backend, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(backend, "INCLUDES", (str(tmp_path),))
    monkeypatch.setattr(backend.sysconfig, "get_path", lambda _: str(tmp_path))
    assert backend.missing().startswith(
        "limitree cannot be built without a C++20 compiler, pkg-config, "
        "libyaml, hiredis, OpenSSL and Python.h: apt-get install "
        "build-essential pkg-config libyaml-dev libhiredis-dev libssl-dev "
        "python3-dev (Debian, Ubuntu), dnf install gcc-c++ make ")


def test_headers_are_enough_without_pkg_config(backend, monkeypatch, tmp_path):
    for header in backend.HEADERS.values():
        (tmp_path / header).parent.mkdir(exist_ok=True)
        (tmp_path / header).touch()
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(backend, "INCLUDES", (str(tmp_path),))
    assert "without a C++20 compiler and pkg-config: " in backend.missing()


def test_the_names_are_those_of_cmake(backend):
    text = (ROOT / "cmake/requirements.cmake").read_text()
    rows = dict(re.findall(r'set\(LIMITREE_NEED_(\S+)\s+"([^"]*)"\)', text))
    assert {need: tuple(row.split("|"))
            for need, row in rows.items()} == backend.NEEDS


@pytest.mark.parametrize("shown, wanted", [
    (None, ["cmake>=3.25"]), ("3.18.4", ["cmake>=3.25"]), ("3.25.0", []),
    ("4.1.2-rc1", [])])
def test_cmake_is_wanted_if_it_is_old(backend, monkeypatch, tmp_path, shown,
                                      wanted):
    (tmp_path / "make").symlink_to("/bin/true")
    (tmp_path / "make").chmod(0o755)
    if shown is not None:
        cmake = tmp_path / "cmake"
        cmake.write_text(f"#!/bin/sh\necho 'cmake version {shown}'\n")
        cmake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert backend._programs() == wanted


def test_ninja_is_wanted_without_make(backend, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert backend._programs() == ["cmake>=3.25", "ninja>=1.5"]


PIP = ["/venv/bin/python3", "/venv/bin/pip", "install"]
TOLD = "pip is told to download nothing"
ALONE = "this machine has no network"


@pytest.mark.parametrize("command, env, has_route, why", [
    (["--no-index", "limitree.tar.gz"], {}, True, TOLD),
    (["limitree.tar.gz"], {"PIP_NO_INDEX": "1"}, True, TOLD),
    (["limitree.tar.gz"], {}, False, ALONE),
    (["limitree.tar.gz"], {}, True, None),
    # There may be another source.
    (["--no-index", "-f", "http://files", "x"], {}, False, None),
    (["--no-index", "--find-links=http://files", "x"], {}, False, None),
    (["--no-index", "x"], {"PIP_FIND_LINKS": "http://files"}, False, None),
    (["-i", "http://localhost:3141", "x"], {}, False, None),
    (["x"], {"PIP_INDEX_URL": "file:///srv/index"}, False, None),
    (["x"], {"https_proxy": "http://127.0.0.1:3128"}, False, None),
    # A folder without the packages is none.
    (["--no-index", "-f", str(ROOT), "x"], {}, True, TOLD),
    (["x"], {"PIP_FIND_LINKS": f"/nowhere {ROOT}"}, False, ALONE),
])
def test_why_pip_can_download_nothing(backend, monkeypatch, command, env,
                                      has_route, why):
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(backend, "_has_route", lambda: has_route)
    assert backend.why_offline(PIP + command) == why


def test_a_folder_with_the_packages_is_a_source(backend, tmp_path):
    command = [*PIP, "--no-index", "--find-links", str(tmp_path), "x"]
    (tmp_path / "pybind11-3.0.1-py3-none-any.whl").touch()
    assert backend.why_offline(command) == TOLD
    (tmp_path / "scikit_build_core-1.0-py3-none-any.whl").touch()
    assert backend.why_offline(command) is None


def test_settings_of_pip_may_name_a_source(backend, monkeypatch):
    monkeypatch.setattr(backend, "_texts_of_config",
                        lambda: ["[install]\nfind-links = /srv/wheels\n"])
    assert backend.why_offline([*PIP, "--no-index", "x"]) is None


@pytest.mark.parametrize("command", [
    ["uv", "pip", "install", "--offline", "x"], ["python3", "-m", "build"], []])
def test_others_than_pip_find_out_themselves(backend, monkeypatch, command):
    monkeypatch.setattr(backend, "_has_route", lambda: False)
    assert backend.why_offline(command) is None


def test_what_is_installed_need_not_be_downloaded(backend, monkeypatch, capsys):
    monkeypatch.setattr(backend, "_command_of_caller",
                        lambda: [*PIP, "--no-index", "x"])
    monkeypatch.setattr(backend, "_has_packages", lambda: True)
    assert backend.get_requires_for_build_wheel()[:2] == WANTED
    monkeypatch.setattr(backend, "_has_packages", lambda: False)
    with pytest.raises(SystemExit):
        backend.get_requires_for_build_wheel()
    assert capsys.readouterr().err == (
        "limitree cannot be built without scikit-build-core and pybind11, and "
        "pip is told to download nothing: install a wheel of limitree instead, "
        "or those two packages and then limitree with pip's option "
        "--no-build-isolation\n")


HEAD = "Iface\tDestination\tGateway\tFlags\n"
ETH = "eth0\t00000000\t0101A8C0\t0003\n"
ZERO = "0" * 32
LO6 = f"{ZERO} 00 {ZERO} 00 {ZERO} ffffffff 00000001 00000000 00200200 lo\n"


@pytest.mark.parametrize("ipv4, ipv6, expected", [
    (HEAD, "", False), (HEAD, LO6, False), (HEAD + ETH, LO6, True),
    (HEAD, LO6 + LO6.replace("lo", "wlan0"), True), (None, LO6, True)])
def test_routes(backend, monkeypatch, tmp_path, ipv4, ipv6, expected):
    for name, text in ("route", ipv4), ("ipv6_route", ipv6):
        if text is not None:
            (tmp_path / name).write_text(text)
    monkeypatch.undo()
    monkeypatch.setattr(backend, "PROC_NET", tmp_path)
    assert backend._has_route() is expected


@pytest.mark.skipif(not HAS_NAMESPACES, reason="unshare needs root on Linux")
def test_a_machine_without_a_network_has_no_route():
    program = "import limitree_build; print(limitree_build._has_route())"
    shown = subprocess.run(
        ["unshare", "-n", sys.executable, "-B", "-c", program], text=True,
        check=True, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(FOLDER)}).stdout
    assert shown == "False\n"


def test_the_caller_is_the_process_above():
    program = "import limitree_build as b; print(b._command_of_caller()[-1:])"
    shown = subprocess.run(
        ["sh", "-c", f"{sys.executable} -B -c '{program}'; true", "pip"],
        text=True, check=True, stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(FOLDER)}).stdout
    wanted = "['pip']" if sys.platform == "linux" else "[]"
    assert shown.strip() == wanted
