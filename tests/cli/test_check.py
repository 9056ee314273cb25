"""limitree check and explain: from a file of limits to text."""

import os
import subprocess

from command import COMMAND, EXAMPLE, WEB, bad, environment, good

TWO_MISTAKES = """\
schema:
  user:
    limits: [15, 0, 60]
  ip:
    key: address
"""


def test_prints_the_tree():
    out = good("check", EXAMPLE)
    for word in ("user", "*", "trade", "withdrawal"):
        assert word in out


def test_quiet():
    assert good("check", "--quiet", EXAMPLE) == ""
    assert good("check", "-q", WEB) == ""


def test_reads_standard_input():
    text = EXAMPLE.read_text(encoding="ascii")
    assert good("check", "-", text=text) == good("check", EXAMPLE)


def test_tells_every_mistake_with_its_place(tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text(TWO_MISTAKES, encoding="ascii")
    lines = bad(1, "check", file).splitlines()
    assert len(lines) == 2
    assert lines[0].startswith(f"{file}:3:")
    assert lines[1].startswith(f"{file}:5:")
    assert bad(1, "check", "--quiet", file).splitlines() == lines


def test_names_standard_input_in_mistakes():
    for line in bad(1, "check", "-", text=TWO_MISTAKES).splitlines():
        assert line.startswith("standard input:")


def test_what_cannot_be_read(tmp_path):
    missing = tmp_path / "missing.yaml"
    assert bad(1, "check", missing) == (
        f"limitree: {missing}: no such file or directory\n")
    assert bad(1, "check", tmp_path) == (
        f"limitree: {tmp_path}: is a directory\n")
    if os.geteuid() != 0:
        secret = tmp_path / "secret.yaml"
        secret.touch(mode=0)
        assert bad(1, "check", secret) == (
            f"limitree: {secret}: permission denied\n")


def test_endless_input_ends():
    with open("/dev/zero", "rb") as zeros:
        done = subprocess.run([COMMAND, "check", "-"], stdin=zeros,
                              capture_output=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(b"standard input:")


def test_every_command_tells_mistakes(tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text(TWO_MISTAKES, encoding="ascii")
    expected = bad(1, "check", file)
    assert bad(1, "explain", file, "user", "alex") == expected
    assert bad(1, "try", file, "user", "alex") == expected
    assert bad(1, "replay", file, "--path", "user,x") == expected


def test_explain():
    out = good("explain", EXAMPLE, "user", "alex", "trade")
    assert "alex" in out and "trade" in out


def test_explain_refuses_what_the_tree_refuses():
    assert bad(1, "explain", EXAMPLE, "usr", "alex").startswith(
        "limitree: unknown root")
    assert bad(1, "explain", WEB, "ip", "localhost").startswith("limitree: ")


def test_reader_that_goes_away_is_no_error():
    with subprocess.Popen([COMMAND, "check", EXAMPLE], env=environment(),
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE) as child:
        child.stdout.close()
        assert child.stderr.read() == b""
        assert child.wait(timeout=60) == 0


def test_full_disk_is_an_error():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([COMMAND, "check", EXAMPLE], stdout=full,
                              stderr=subprocess.PIPE, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr == (
        b"limitree: standard output: no space left on device\n")
