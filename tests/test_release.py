"""Tests of scripts/release that need no compiler and no network."""

import base64
import hashlib
import json
import pathlib
import re
import struct
import subprocess
import sys
import types
import zipfile

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[1]
SCRIPTS = ROOT / "scripts" / "release"
sys.path.insert(0, str(SCRIPTS))
import check  # noqa: E402
import platforms  # noqa: E402
import pythons  # noqa: E402
import sbom  # noqa: E402
import signature  # noqa: E402
import sources  # noqa: E402
import trials  # noqa: E402
import wheels  # noqa: E402

LINUX = platforms.PLATFORMS["linux-x64"]


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_platforms_are_those_of_the_package_for_npm():
    listed = re.search(r"PLATFORMS[^=]*= \[(.*?)\]",
                       text_of("node/src/platform.ts"), re.S)
    assert re.findall(r"'([\w-]+)'", listed[1]) == sorted(platforms.PLATFORMS)


def test_the_version_is_that_of_the_package_for_npm():
    assert platforms.version() == json.loads(text_of("package.json"))["version"]


def test_pythons_are_those_of_the_package():
    lowest = re.search(r'requires-python = ">=([\d.]+)"',
                       text_of("pyproject.toml"))
    assert list(platforms.PYTHONS)[0] == lowest[1]


@pytest.mark.parametrize(("name", "tag"), [
    ("linux-x64", "manylinux_2_17_x86_64.manylinux2014_x86_64"),
    ("linux-arm64-musl", "musllinux_1_2_aarch64"),
    ("darwin-arm64", "macosx_11_0_arm64"),
])
def test_names_of_wheels(name, tag):
    path = wheels.path(platforms.PLATFORMS[name], "3.12")
    number = platforms.version()
    assert path.name == f"limitree-{number}-cp312-cp312-{tag}.whl"


def test_a_wheel_has_the_same_bytes_each_time(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    files = {"limitree/__init__.py": b"x = 1\n",
             "limitree/_native.cpython-312-x86_64-linux-gnu.so": b"\x7fELF"}
    made = [wheels._write(tmp_path / name, "limitree-1.dist-info", files)
            for name in ("a.whl", "b.whl")]
    assert made[0].read_bytes() == made[1].read_bytes()
    with zipfile.ZipFile(made[0]) as archive:
        modes = {one.filename: one.external_attr >> 16
                 for one in archive.infolist()}
        record = archive.read("limitree-1.dist-info/RECORD").decode()
        for name, content in files.items():
            assert archive.read(name) == content
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
            assert (f"{name},sha256={digest.rstrip(b'=').decode()},"
                    f"{len(content)}\n") in record
    assert modes["limitree/__init__.py"] == 0o100644
    assert modes["limitree/_native.cpython-312-x86_64-linux-gnu.so"] == 0o100755
    assert record.endswith("limitree-1.dist-info/RECORD,,\n")


def fake_sources(folder):
    made = {}
    for name in sources.SUITES:
        (folder / name / "aws-lc" / "include" / "openssl").mkdir(parents=True)
        for file in "LICENSE", "COPYING", "License", "aws-lc/LICENSE":
            (folder / name / file).parent.mkdir(exist_ok=True, parents=True)
            (folder / name / file).write_text(f"licence of {name}\n")
        made[name] = sources.Source(name, "1.2-3", folder / name)
    (folder / "rust-aws-lc-sys/aws-lc/include/openssl/base.h").write_text(
        '#define AWSLC_VERSION_NUMBER_STRING "9.8.7"\n')
    return made


def test_the_list_of_parts_and_the_licences(tmp_path, monkeypatch):
    found = fake_sources(tmp_path)
    text = tmp_path / "text"
    text.write_text("licence of some\n")
    monkeypatch.setattr(sbom.zig, "version", lambda: "0.1")
    monkeypatch.setattr(sbom.zig, "licenses", lambda: {sbom.zig.LINKED: text})
    parts = sbom.components(found, ("pybind11", "3.1", "BSD-3-Clause", "pypi"))
    document = json.loads(sbom.bom("limitree", "pkg:pypi/limitree@1", parts))
    versions = {one["name"]: one["version"] for one in document["components"]}
    assert versions["AWS-LC"] == "9.8.7"
    assert versions["hiredis"] == "1.2" and versions["pybind11"] == "3.1"
    notices = sbom.notices(found, ("pybind11", text))
    for name in versions:
        assert f"---- {name}\n" in notices
    assert sbom.bom("limitree", "pkg:pypi/limitree@1", parts) == sbom.bom(
        "limitree", "pkg:pypi/limitree@1", parts)


def test_debian_versions_are_ordered():
    ordered = ["3.5.9-1", "3.5.10~rc1-1", "3.5.10-1", "3.5.10-1+b1"]
    for one, other in zip(ordered, ordered[1:]):
        assert sources._compare(one, other) == -1
        assert sources._compare(other, one) == 1
    assert sources._compare("1-1", "1-1") == 0


def test_headers_of_debian_are_made_independent(tmp_path, monkeypatch):
    monkeypatch.setattr(pythons, "BUILD", tmp_path)
    include = tmp_path / "usr" / "include"
    real = include / "x86_64-linux-gnu" / "python3.11"
    (include / "python3.11").mkdir(parents=True)
    real.mkdir(parents=True)
    (include / "python3.11" / "pyconfig.h").write_text(
        "# include <x86_64-linux-gnu/python3.11/pyconfig.h>\n")
    (real / "pyconfig.h").write_text("#define REAL 1\n")
    folder = pythons._alone("3.11", include / "python3.11")
    assert (folder / "pyconfig.h").read_text() == "#define REAL 1\n"
    assert pythons._alone("3.12", real) == real


def test_missing_headers_are_named(monkeypatch):
    monkeypatch.setattr(pythons, "interpreter_headers", lambda number: None)
    monkeypatch.setattr(pythons, "_packaged", lambda number: None)
    with pytest.raises(SystemExit, match="headers of CPython 3.9, 3.10"):
        pythons.headers()


@pytest.mark.parametrize(("dynamic", "symbols", "wrong"), [
    ("(NEEDED) Shared library: [libc.so.6]", "GLIBC_2.17", ""),
    ("(NEEDED) Shared library: [libgcc_s.so.1]", "GLIBC_2.2.5", ""),
    ("(NEEDED) Shared library: [libssl.so.3]", "", "needs libssl.so.3"),
    ("(NEEDED) Shared library: [libc.so.6]", "GLIBC_2.34",
     "needs glibc 2.34"),
])
def test_what_a_binary_may_need(dynamic, symbols, wrong, tmp_path,
                                monkeypatch):
    monkeypatch.setattr(trials, "BUILD", tmp_path)
    monkeypatch.setattr(trials, "ask", lambda _, option, *more: (
        dynamic if option == "--dynamic" else symbols))
    assert trials.wrong_needs(LINUX, b"") == wrong


def signed(pages=3, size=5000):
    """A file with nothing but a header and a signature."""
    body = struct.pack("<IIIIIIII", 0xfeedfacf, 0, 0, 0, 1, 16, 0, 0)
    body += struct.pack("<IIII", 0x1d, 16, size, 0)
    body = body.ljust(size, b"x")
    page = 2048
    hashes = b"".join(hashlib.sha256(body[at:at + page]).digest()
                      for at in range(0, size, page))
    directory = struct.pack(">IIIIIIIIIBBBB", 0xfade0c02, 40 + len(hashes), 0,
                            2, 40, 0, 0, pages, size, 32, 2, 0, 11) + hashes
    return body + struct.pack(">IIIII", 0xfade0cc0, 20 + len(directory), 1, 0,
                              20) + directory


def test_signatures_for_macos():
    good = signed()
    assert signature.problem(good) == ""
    changed = bytearray(good)
    changed[3000] ^= 1
    assert "wrong hash of page 1" in signature.problem(bytes(changed))
    assert "another file" in signature.problem(signed(pages=2))
    unsigned = good.replace(struct.pack("<II", 0x1d, 16),
                            struct.pack("<II", 0x1b, 16))
    assert signature.problem(unsigned) == "is not signed"


def test_a_missing_or_large_package_fails_the_table(tmp_path, monkeypatch,
                                                    capsys):
    report = check.Report()
    path = tmp_path / "limitree-1-cp39-cp39-any.whl"
    row = [("linux-x64 cp39", path, "wheel")]
    monkeypatch.setattr(check, "artifacts", lambda: row)
    assert not check.print_table(report)
    path.write_bytes(bytes(1000))
    assert check.print_table(report)
    path.write_bytes(bytes(5_000_000))
    assert not check.print_table(report)
    shown = capsys.readouterr().out
    assert "MISSING" in shown and "TOO LARGE" in shown
    assert "linked only" in shown


def test_a_failed_trial_is_not_a_run(capsys):
    report = check.Report()
    report.add("linux-x64 cp39", "here", False, ran=True)
    report.add("linux-x64 cp39", "there", True, ran=True)
    assert report.runs == {"linux-x64 cp39": ["there"]}
    assert report.failures() == [("linux-x64 cp39", "here", False)]
    assert "FAILED" in capsys.readouterr().out


@pytest.mark.parametrize(("script", "says"), [
    ("build.py", "no such platform: amiga; there are: linux-x64,"),
    ("check.py", "no such part: amiga; there are: contents,"),
])
def test_a_wrong_name_is_refused(script, says):
    done = subprocess.run([sys.executable, "-B", SCRIPTS / script, "amiga"],
                          capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert says in done.stderr


def test_a_failed_command_shows_its_end(tmp_path, monkeypatch, capsys):
    import run
    monkeypatch.setattr(run, "BUILD", tmp_path)
    with pytest.raises(SystemExit, match="it: sh failed with 3"):
        run.run("it", ["sh", "-c", "echo why; exit 3"])
    assert "why" in capsys.readouterr().err


def test_a_machine_without_debian_is_refused(monkeypatch):
    nowhere = types.SimpleNamespace(exists=lambda: False)
    monkeypatch.setattr(sources.pathlib, "Path", lambda *_: nowhere)
    with pytest.raises(SystemExit, match="needs a Debian machine"):
        sources.mirror()
