"""limitree replay: what it counts, by hand-computed examples."""

import gzip
import json

import pytest
from command import BOTH_PATHS, EXAMPLE, EXAMPLE_LOG, WEB, good, log_line, run

# Two at once, then one a second.
PER_SECOND = """\
schema:
  ip:
    key: ip
    children:
      "*": {limits: {burst: 2, count: 1, period: 1s}}
  route:
    children:
      GET: {limits: {burst: 5, count: 5, period: 1h}}
"""


@pytest.fixture(name="limits")
def write_limits(tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text(PER_SECOND, encoding="ascii")
    return file


def replay(*words, text=b""):
    """Returns the JSON object of a replay in which nothing goes wrong."""
    return json.loads(good("replay", "--json", *words, text=text))


def test_hand_computed(limits):
    """Two of four requests in a second fit, then one for each second."""
    text = (log_line(0) * 4 + log_line(1) * 2 + log_line(3) * 3
            + log_line(3, "192.0.2.8"))
    seen = replay(limits, "--path", "ip,{remote_addr}", text=text)
    assert seen["lines"] == seen["requests"] == 10
    # Limited: 2 at second 0, 1 at second 1, 1 at second 3.
    assert (seen["allowed"], seen["limited"]) == (6, 4)
    assert seen["callers"] == [
        {"caller": "ip,192.0.2.7", "limited": 4, "error": 0}]
    assert seen["from"] == "2026-03-02T10:00:00+00:00"
    assert seen["to"] == "2026-03-02T10:00:03+00:00"
    assert seen["histogram"]["bin_seconds"] == 1
    assert [(one["requests"], one["limited"])
            for one in seen["histogram"]["bins"]] == [
                (4, 2), (2, 1), (0, 0), (4, 1)]
    assert seen["histogram"]["bins"][3]["from"] == "2026-03-02T10:00:03+00:00"
    assert [(limit["allowed"], limit["limited"])
            for limit in seen["limits"]] == [(6, 4)]


def test_shape_of_the_json(limits):
    seen = replay(limits, "--path", "ip,{remote_addr}", text=log_line(0))
    assert list(seen) == [
        "lines", "bytes", "requests", "allowed", "limited", "shadowed",
        "unlimited", "out_of_order", "skipped", "skipped_lines", "bad",
        "bad_lines", "from", "to", "limits", "callers",
        "callers_error_bound", "histogram", "buckets", "evictions",
        "forgotten_limited", "seconds", "lines_per_second"]
    assert list(seen["limits"][0]) == [
        "policy", "allowed", "limited", "shadow_limited", "near_limit"]
    assert seen["bytes"] == len(log_line(0)) - 1


def test_empty_log(limits):
    seen = replay(limits, "--path", "ip,{remote_addr}")
    assert seen["lines"] == seen["requests"] == 0
    assert seen["from"] is None and seen["to"] is None
    assert seen["histogram"] == {"bin_seconds": 1, "bins": []}
    assert good("replay", limits, "--path", "ip,x").startswith("0 lines\n")


def test_all_paths_of_a_line_or_none(limits):
    """The route allows five; requests denied by address do not charge it."""
    text = log_line(0) * 4 + "".join(
        log_line(0, f"192.0.2.{i}") for i in range(20, 25))
    seen = replay(limits, *BOTH_PATHS, text=text)
    assert (seen["allowed"], seen["limited"]) == (5, 4)
    callers = {one["caller"]: one["limited"] for one in seen["callers"]}
    # Each denial counts for the path that would be denied on its own.
    assert callers == {"ip,192.0.2.7": 2, "route,GET,/": 2}


def test_same_decisions_as_try():
    text = "".join(log_line(0, user="alex", request="GET /trade HTTP/1.1")
                   for _ in range(8))
    seen = replay(EXAMPLE, "--path", "user,{remote_user},trade", text=text)
    assert (seen["allowed"], seen["limited"]) == (6, 2)


def test_time_only_moves_forward(limits):
    text = log_line(5) + log_line(3) + log_line(5) + log_line(4) + log_line(6)
    seen = replay(limits, "--path", "ip,{remote_addr}", text=text)
    assert seen["out_of_order"] == 2
    assert (seen["allowed"], seen["limited"]) == (3, 2)


def test_offsets_are_time_too(limits):
    """11:00 in Berlin is 10:00 in Greenwich."""
    text = log_line(0) * 2 + log_line(1).replace("10:00:01 +0000",
                                                 "11:00:00 +0100")
    seen = replay(limits, "--path", "ip,{remote_addr}", text=text)
    assert seen["limited"] == 1
    assert seen["out_of_order"] == 0


def test_bad_lines_are_counted_and_shown(limits):
    text = (log_line(0) + "broken\n" + "x" * 70_000 + "\n" + log_line(1)
            + "\n" * 5)
    seen = replay(limits, "--path", "ip,{remote_addr}", text=text)
    assert (seen["lines"], seen["requests"], seen["bad"]) == (9, 2, 7)
    assert seen["bad_lines"] == [
        {"file": "-", "line": 2, "reason": "no address at the start"},
        {"file": "-", "line": 3,
         "reason": "the line is longer than 64 KiB"},
        *({"file": "-", "line": line, "reason": "the line is empty"}
          for line in (5, 6, 7))]
    shown = good("replay", limits, "--path", "ip,{remote_addr}", text=text)
    assert "\n  standard input:2: no address at the start\n" in shown
    assert "\n  and 2 more\n" in shown


def test_refused_paths_are_skipped_and_shown(limits):
    text = log_line(0) + log_line(0, "host-7.example.net")
    seen = replay(limits, "--path", "ip,{remote_addr}", text=text)
    assert (seen["requests"], seen["skipped"], seen["bad"]) == (1, 1, 0)
    assert seen["skipped_lines"][0]["line"] == 2
    assert "host-7.example.net" in seen["skipped_lines"][0]["reason"]
    shown = good("replay", limits, "--path", "ip,{remote_addr}", text=text)
    assert "\n  standard input:2: " in shown


def test_unknown_root_of_a_line_is_skipped(limits):
    text = log_line(0) + log_line(0, request="ip / HTTP/1.1")
    seen = replay(limits, "--path", "{method},{remote_addr}", text=text)
    assert (seen["requests"], seen["skipped"]) == (1, 1)


def test_paths_without_limits_are_unlimited(limits):
    seen = replay(limits, "--path", "route,{method}",
                  text=log_line(0, request="PUT / HTTP/1.1"))
    assert (seen["allowed"], seen["unlimited"]) == (1, 1)


def test_shadow_limits(tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text("schema: {a: {limits: "
                    "{burst: 1, count: 1, period: 1h, mode: shadow}}}\n",
                    encoding="ascii")
    seen = replay(file, "--path", "a", text=log_line(0) * 3)
    assert (seen["allowed"], seen["limited"], seen["shadowed"]) == (3, 0, 2)
    assert seen["limits"][0]["shadow_limited"] == 2


def test_bytes_are_those_of_lines_that_are_not_too_long(limits):
    line = log_line(0)
    seen = replay(limits, "--path", "ip,{remote_addr}",
                  text=line.rstrip("\n") + "\r\n" + "x" * 70000 + "\n")
    assert (seen["lines"], seen["bytes"]) == (2, len(line) - 1)


def test_several_files_in_any_packing(limits, tmp_path):
    plain = tmp_path / "a.log"
    plain.write_text(log_line(0) * 2, encoding="ascii")
    packed = tmp_path / "b.log"  # known by its content, not by its name
    packed.write_bytes(gzip.compress(log_line(1).encode())
                       + gzip.compress((log_line(1) + "bad\n").encode()))
    misnamed = tmp_path / "c.gz"
    misnamed.write_text(log_line(2), encoding="ascii")
    words = (limits, plain, packed, "-", misnamed, "--path",
             "ip,{remote_addr}")
    seen = replay(*words, text=gzip.compress(log_line(1).encode()))
    assert (seen["lines"], seen["requests"]) == (7, 6)
    assert seen["bad_lines"] == [{"file": str(packed), "line": 3,
                                  "reason": "no address at the start"}]


def test_limits_from_standard_input(tmp_path):
    log = tmp_path / "a.log"
    log.write_text(log_line(0), encoding="ascii")
    assert replay("-", log, "--path", "ip,{remote_addr}",
                  text=PER_SECOND)["requests"] == 1


def test_top(limits):
    text = "".join(log_line(0, f"192.0.2.{i}") * 5 for i in range(1, 31))
    callers = replay(limits, "--path", "ip,{remote_addr}", "--top", "20",
                     text=text)["callers"]
    assert len(callers) == 20
    assert replay(limits, "--path", "ip,{remote_addr}", "--top", "0",
                  text=text)["callers"] == []


def test_max_buckets(limits):
    text = "".join(log_line(0, f"192.0.{i // 250}.{i % 250}")
                   for i in range(20_000))
    seen = replay(limits, "--path", "ip,{remote_addr}", "--max-buckets",
                  "1024", text=text)
    assert seen["buckets"] < 2048
    assert seen["evictions"] > 0
    assert 0 <= seen["forgotten_limited"] <= seen["evictions"]
    assert "raise --max-buckets" in good(
        "replay", limits, "--path", "ip,{remote_addr}", "--max-buckets",
        "1024", text=text)


def test_bytes_that_are_not_utf8(limits):
    text = b"\xff\xfe\033[31m".join(
        log_line(0).encode().split(b"192.0.2.7")) * 3
    seen = json.loads(good("replay", "--json", limits, "--path",
                           "route,GET,x", text=text * 2))
    assert seen["limited"] == 1
    done = run("replay", limits, "--path", "ip,{remote_addr}", text=text)
    assert done.code == 0
    assert "\033" not in done.out


def test_escapes_in_templates(tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text('schema: {"a,{b}": {limits: "1/hour"}}\n',
                    encoding="ascii")
    seen = replay(file, "--path", r"a\,\{b\}", text=log_line(0) * 2)
    assert seen["callers"][0]["caller"] == r"a\,\{b\}"


def test_the_example_for_people():
    out = good("replay", WEB, EXAMPLE_LOG, *BOTH_PATHS)
    assert out.isascii()
    for title in ("by limit", "by caller", "over time, 1h each", "skipped",
                  "bad lines"):
        assert f"\n{title}\n" in out
    assert "2001:db8:bad:cafe::" in out or "203.0.113.199" in out
    assert all(len(line) <= 100
               for line in out.replace(str(EXAMPLE_LOG), "log").splitlines())


def test_the_example_log():
    seen = replay(WEB, EXAMPLE_LOG, *BOTH_PATHS)
    assert seen["lines"] == seen["requests"] + seen["skipped"] + seen["bad"]
    assert (seen["bad"], seen["skipped"]) == (4, 1)
    assert seen["requests"] == seen["allowed"] + seen["limited"]
    assert 0 < seen["limited"] < seen["requests"] / 2
    assert seen["shadowed"] > 0
    assert len(seen["histogram"]["bins"]) == 24
