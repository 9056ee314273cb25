"""limitree replay: how it reports files that it cannot read."""

import gzip
import json

from command import EXAMPLE_LOG, WEB, bad, log_line, run

PATH = ("--path", "ip,{remote_addr}")


def test_missing_file_before_any_line(tmp_path):
    log = tmp_path / "a.log"
    log.write_text(log_line(0), encoding="ascii")
    missing = tmp_path / "missing.log"
    done = run("replay", WEB, log, missing, *PATH)
    assert done.code == 1
    assert done.out == ""
    assert done.err == f"limitree: {missing}: no such file or directory\n"


def test_directory(tmp_path):
    assert bad(1, "replay", WEB, tmp_path, *PATH) == (
        f"limitree: {tmp_path}: is a directory\n")


def test_truncated_gzip_is_replayed_as_far_as_it_goes(tmp_path):
    log = tmp_path / "a.log.gz"
    log.write_bytes(EXAMPLE_LOG.read_bytes()[:100_000])
    done = run("replay", "--json", WEB, log, *PATH)
    assert done.code == 1
    assert done.err == (
        f"limitree: {log}: the compressed data ends too early\n")
    assert json.loads(done.out)["requests"] > 1000


def test_damaged_gzip(tmp_path):
    log = tmp_path / "a.log.gz"
    packed = bytearray(gzip.compress(log_line(0).encode()))
    packed[-5] ^= 1  # the size of what was packed
    log.write_bytes(packed)
    done = run("replay", "--json", WEB, log, *PATH)
    assert done.code == 1
    assert done.err == f"limitree: {log}: the compressed data is damaged\n"
    log.write_bytes(b"\x1f\x8b and then nothing of the kind")
    assert "is damaged" in bad(1, "replay", WEB, log, *PATH)


def test_unknown_root_before_any_line():
    done = run("replay", WEB, "--path", "pi,{remote_addr}", text="broken\n")
    assert done.code == 1
    assert done.out == ""
    assert done.err.startswith("limitree: unknown root")
    assert "pi" in done.err
