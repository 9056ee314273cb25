"""What starts the service elsewhere: the unit of systemd and the image."""

import pathlib
import re
import shutil
import subprocess

import pytest
from service import COMMAND, ROOT

PACKAGE = ROOT / "server" / "package"
UNIT = (PACKAGE / "limitree.service.in").read_text("ascii")
IMAGE = (PACKAGE / "Dockerfile").read_text("ascii")


def test_its_options_are_those_of_the_command():
    known = subprocess.run([COMMAND, "serve", "--help"], check=True, text=True,
                           capture_output=True).stdout
    for text in (UNIT, IMAGE[IMAGE.index("ENTRYPOINT"):]):
        options = re.findall(r"--[a-z-]+", text)
        assert "--descriptors" in options
        for option in options:
            assert re.search(rf"{option}\b", known), option


@pytest.fixture(name="unit")
def make_unit(tmp_path):
    """The unit for the command that is tested."""
    if shutil.which("systemd-analyze") is None:
        pytest.skip("no systemd-analyze")
    folder = pathlib.Path(COMMAND).parent
    path = tmp_path / "limitree.service"
    path.write_text(UNIT.replace("@CMAKE_INSTALL_FULL_BINDIR@", str(folder)),
                    "ascii")
    return path


def analyze(*words):
    done = subprocess.run(["systemd-analyze", *map(str, words)], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          check=False, timeout=60)
    return done.returncode, done.stdout


def test_systemd_understands_the_unit(unit):
    assert analyze("verify", unit) == (0, "")
    broken = unit.with_name("broken.service")
    broken.write_text(unit.read_text("ascii").replace("PrivateTmp",
                                                      "PrivateTemp"), "ascii")
    assert "PrivateTemp" in analyze("verify", broken)[1]


def test_the_unit_may_do_little(unit):
    """Of ten, the points that systemd gives for what it could do."""
    code, said = analyze("security", "--offline=true", "--threshold=15", unit)
    assert code == 0, said
    weak = unit.with_name("weak.service")
    weak.write_text(unit.read_text("ascii").replace("ProtectSystem=strict",
                                                    "User=root"), "ascii")
    assert analyze("security", "--offline=true", "--threshold=1", weak)[0] != 0
