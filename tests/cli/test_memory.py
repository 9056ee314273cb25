"""A replay takes the same memory, however long the log is."""

import json
import os

import pytest
from command import WEB, log_line, peak_memory

MIB = 1024 * 1024
LINES = 2_000_000
PATH = ("--path", "ip,{remote_addr}")

pytestmark = [
    pytest.mark.skipif(bool(os.environ.get("LIMITREE_SANITIZED")),
                       reason="sanitizers need memory of their own"),
    pytest.mark.skipif(not os.path.exists("/proc/self/status"),
                       reason="needs /proc"),
]


def test_two_million_lines():
    block = "".join(log_line(second % 60, f"203.0.113.{second % 250}",
                             minute=second // 60 % 60)
                    for second in range(2000)).encode()

    def write(file):
        for _ in range(LINES // 2000):
            file.write(block)

    out, memory = peak_memory(("replay", "--json", WEB, *PATH), write)
    assert json.loads(out)["lines"] == LINES
    assert memory < 40 * MIB


def test_callers_do_not_add_up():
    """Half a million callers, each limited: sketch and store are bounded."""
    def write(file):
        for i in range(500_000):
            address = f"2001:db8:{i >> 16:x}:{i & 65535:x}::1"
            file.write((log_line(0, address) * 2).encode())

    limits = WEB.parent / "limits.yaml"
    out, memory = peak_memory(
        ("replay", "--json", limits, "--max-buckets", "100000",
         "--path", "ip,{remote_addr}", "--path", "route,POST,/login"), write)
    seen = json.loads(out)
    assert seen["lines"] == 1_000_000
    assert seen["callers_error_bound"] <= seen["limited"] / 4096 + 1
    assert memory < 40 * MIB


def test_callers_of_suggest_do_not_add_up():
    """200,000 callers, of which a sample is kept."""
    def write(file):
        for i in range(200_000):
            file.write(log_line(i // 4000, f"10.{i >> 8}.{i & 255}.1").encode())

    out, memory = peak_memory(("suggest", "--json", *PATH, "--max-callers",
                               "20000"), write)
    seen = json.loads(out)["paths"][0]
    assert seen["one_of"] == 16
    assert seen["callers_kept"] <= 20_000
    assert memory < 20 * MIB


def test_one_endless_line():
    def write(file):
        for _ in range(200):
            file.write(b"x" * MIB)

    out, memory = peak_memory(("replay", "--json", WEB, *PATH), write)
    seen = json.loads(out)
    assert (seen["lines"], seen["bad"]) == (1, 1)
    assert memory < 40 * MIB
