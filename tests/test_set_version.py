"""Tests of scripts/set_version.py, and of what reads the version."""

import json
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
sys.path.insert(0, str(pathlib.Path(__file__).parent / "capi"))
import set_version  # noqa: E402
import versions  # noqa: E402

FILES = ("capi/limitree.h", "package.json", "package-lock.json",
         "deploy/helm/limitree/Chart.yaml",
         "deploy/kustomize/base/kustomization.yaml")


@pytest.fixture(name="root")
def copy(tmp_path):
    """The files that state the version, and those that read it."""
    for name in (*FILES, "pyproject.toml", "cmake/version.cmake"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    return tmp_path


def texts(root):
    return [(root / name).read_text(encoding="utf-8") for name in FILES]


def test_all_places_have_the_version(root):
    before = texts(root)
    set_version.set_version(root, "12.34.567")
    header, package, lock, chart, base = texts(root)
    assert "_MAJOR 12\n" in header and "_PATCH 567\n" in header
    assert header.count('run time: "12.34.567"') == 1
    assert json.loads(package)["version"] == "12.34.567"
    assert json.loads(lock)["version"] == "12.34.567"
    assert json.loads(lock)["packages"][""]["version"] == "12.34.567"
    assert "\nversion: 12.34.567\nappVersion: \"12.34.567\"\n" in chart
    assert "\n    newTag: 12.34.567\n" in base
    changed = [[one for one, other in zip(old.split("\n"), new.split("\n"))
                if one != other]
               for old, new in zip(before, texts(root))]
    assert [len(lines) for lines in changed] == [4, 1, 2, 2, 1]


def test_the_same_version_changes_nothing(root):
    before = texts(root)
    set_version.set_version(root, versions.release_of(before[0]))
    assert texts(root) == before


@pytest.mark.parametrize("version", ["", "1.2", "v1.2.3", "1.2.3rc1", "1.02.3",
                                     "1.2.3.4", "1.2.3\n"])
def test_what_is_no_version_is_refused(root, version):
    before = texts(root)
    with pytest.raises(SystemExit, match="is no version such as 0.2.0"):
        set_version.set_version(root, version)
    assert texts(root) == before


def test_a_place_that_is_not_found_changes_nothing(root):
    lock = root / "package-lock.json"
    lock.write_text(lock.read_text().replace('    "": {', '    "x": {'))
    before = texts(root)
    with pytest.raises(SystemExit, match="package-lock.json has 0 matches"):
        set_version.set_version(root, "7.8.9")
    assert texts(root) == before


def test_cmake_reads_the_header(root):
    set_version.set_version(root, "7.8.9")
    (root / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.25)\ninclude(cmake/version.cmake)\n"
        "project(p VERSION ${LIMITREE_VERSION} LANGUAGES NONE)\n"
        "message(STATUS is:${PROJECT_VERSION}:${LIMITREE_ABI_VERSION}:)\n")
    shown = configure(root)
    assert f"is:7.8.9:{versions.macro('ABI_VERSION', texts(root)[0])}:" in shown
    header = root / "capi/limitree.h"
    header.write_text(header.read_text().replace(
        "#define LIMITREE_VERSION_MINOR 8", ""))
    assert ("does not state LIMITREE_VERSION_MINOR once" in
            " ".join(configure(root).split()))


def configure(root):
    return subprocess.run(
        ["cmake", "-S", root, "-B", root / "build"], text=True, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT).stdout


def test_pip_reads_the_header(root):
    """As scikit-build-core does, which this Python may not have."""
    set_version.set_version(root, "7.8.9")
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    section = project.split("[tool.scikit-build.metadata.version]\n")[1]
    settings = dict(re.findall(r"^(\w+) = (?:'''|\")(.*?)(?:'''|\")$",
                               section.split("\n\n")[0], re.M | re.S))
    header = (root / settings["input"]).read_text(encoding="utf-8")
    match = re.search(settings["regex"], header, re.M)
    assert settings["result"].format(**match.groupdict()) == "7.8.9"


def test_versions_of_the_sources_differ(root):
    assert versions.wrong_sources(root) == []
    package = root / "package.json"
    package.write_text(package.read_text().replace(
        '"version": "', '"version": "9'))
    header = root / "capi/limitree.h"
    header.write_text(header.read_text().replace('run time: "', 'run time: "9'))
    release = versions.release_of(texts(ROOT)[0])
    assert versions.wrong_sources(root) == [
        f"comment of limitree_version: is 9{release}, limitree.h says "
        f"{release}",
        f"package.json: is 9{release}, limitree.h says {release}"]
