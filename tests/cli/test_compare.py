"""limitree replay --compare: which decisions flip, computed by hand."""

import json

import pytest
from command import BOTH_PATHS, EXAMPLE_LOG, WEB, bad, good, log_line, run

IP = ("--path", "ip,{remote_addr}")


@pytest.fixture(name="limits")
def make_limits(tmp_path):
    """limits("2/hour", ...) writes a limits.yaml for addresses."""
    def write(name, limits, key=""):
        file = tmp_path / name
        file.write_text(f"schema:\n  ip:\n{key}    children:\n"
                        f"      '*': {{limits: {limits}}}\n",
                        encoding="ascii")
        return file

    return write


def compare(*words, text, code=0):
    done = run("replay", "--json", *words, text=text)
    assert done.code == code, done.err
    return json.loads(done.out)


def test_stricter(limits):
    before, after = limits("a.yaml", "3/hour"), limits("b.yaml", "1/hour")
    text = log_line(0) * 4 + log_line(1, "192.0.2.8") * 2
    seen = compare(before, "--compare", after, *IP, text=text)
    assert (seen["limited"], seen["compared"]["limited"]) == (1, 4)
    flips = seen["flips"]
    assert flips["total"] == 3
    assert flips["limits"] == [{"policy": "ip:*", "before": "allowed",
                                "after": "limited", "flips": 3}]
    assert flips["paths"] == [
        {"path": "ip,192.0.2.7", "flips": 2, "error": 0},
        {"path": "ip,192.0.2.8", "flips": 1, "error": 0}]
    assert flips["list"][0] == {
        "file": "-", "line": 2, "time": "2026-03-02T10:00:00+00:00",
        "before": "allowed", "after": "limited", "policy": "ip:*",
        "path": "ip,192.0.2.7"}
    assert [one["line"] for one in flips["list"]] == [2, 3, 6]


def test_looser_names_the_limit_that_denied(limits):
    before, after = limits("a.yaml", "1/hour"), limits("b.yaml", "[]")
    flips = compare(before, "--compare", after, *IP,
                    text=log_line(0) * 3)["flips"]
    assert flips["limits"] == [{"policy": "ip:*", "before": "limited",
                                "after": "allowed", "flips": 2}]


def test_refused_is_an_outcome_of_its_own(limits):
    before = limits("a.yaml", "1/hour")
    after = limits("b.yaml", "1/hour", key="    key: ip\n")
    text = log_line(0, "one.example.net") * 2
    seen = compare(before, "--compare", after, *IP, text=text)
    assert (seen["skipped"], seen["compared"]["skipped"]) == (0, 2)
    assert [(one["policy"], one["before"], one["after"], one["flips"])
            for one in seen["flips"]["limits"]] == [
                ("", "allowed", "refused", 1),
                ("ip:*", "limited", "refused", 1)]


def test_a_flip_names_the_path_that_is_refused(tmp_path):
    """The second of three; the first one was limited a line before."""
    files = []
    for name, key in (("a.yaml", ""), ("b.yaml", "key: ip, ")):
        files.append(tmp_path / name)
        files[-1].write_text(
            "schema: {route: {children: {GET: {limits: 1/hour}}}, user: {}, "
            f"ip: {{{key}children: {{'*': {{limits: 9/hour}}}}}}}}\n",
            encoding="ascii")
    text = (log_line(0) * 2
            + log_line(1, "one.example.net", request="PUT / HTTP/1.1"))
    for one in (files, files[::-1]):
        seen = compare(one[0], "--compare", one[1], "--path", "route,{method}",
                       *IP, "--path", "user,x", text=text)
        assert [(flip["line"], flip["policy"], flip["path"])
                for flip in seen["flips"]["list"]] == [
                    (3, "", "ip,one.example.net")]


def test_shadow_does_not_flip_but_is_counted(limits):
    before = limits("a.yaml", "[]")
    after = limits("b.yaml", "{burst: 1, count: 1, period: 1h, mode: shadow}")
    seen = compare(before, "--compare", after, *IP, text=log_line(0) * 3)
    assert seen["flips"]["total"] == 0
    assert seen["compared"]["shadowed"] == 2


def test_a_name_that_only_one_file_has(limits, tmp_path):
    """A change adds limits for routes."""
    before = limits("a.yaml", "9/hour")
    after = tmp_path / "b.yaml"
    after.write_text(before.read_text(encoding="ascii") + "  route:\n"
                     "    children:\n      GET: {limits: 1/hour}\n",
                     encoding="ascii")
    paths = ("--path", "route,{method}", *IP)
    for files, outcomes in (((before, after), ("allowed", "limited")),
                            ((after, before), ("limited", "allowed"))):
        flips = compare(files[0], "--compare", files[1], *paths,
                        text=log_line(0) * 3)["flips"]
        assert flips["limits"] == [{
            "policy": "route:GET", "before": outcomes[0],
            "after": outcomes[1], "flips": 2}]
        assert flips["paths"] == [
            {"path": "route,GET", "flips": 2, "error": 0}]
    # Limits of addresses still deny, and are blamed for it.
    seen = compare(limits("c.yaml", "1/hour"), "--compare", after, *paths,
                   text=log_line(0, request="PUT / HTTP/1.1") * 3)
    assert [one["path"] for one in seen["flips"]["paths"]] == [
        "ip,192.0.2.7"]
    assert seen["callers"] == [
        {"caller": "ip,192.0.2.7", "limited": 2, "error": 0}]
    for words in ((before, "--path", "user,x"), (before, *paths),
                  (before, "--compare", before, *paths),
                  (before, "--compare", after, "--path", "route,x")):
        assert "unknown root" in bad(1, "replay", *words)
    for files in ((before, after), (after, before)):
        assert f"limitree: {before}: unknown root" in bad(
            1, "replay", files[0], "--compare", files[1], "--path", "route,x")


def test_the_same_limits_never_flip():
    seen = json.loads(good("replay", "--json", WEB, EXAMPLE_LOG, *BOTH_PATHS,
                           "--compare", WEB, "--max-flips", "0"))
    assert seen["flips"] == {"total": 0, "limits": [], "paths": [],
                             "paths_error_bound": 0, "list": []}
    alone = json.loads(good("replay", "--json", WEB, EXAMPLE_LOG, *BOTH_PATHS))
    for one in (seen, seen["compared"], alone):
        for name in ("seconds", "lines_per_second"):
            del one[name]
    assert seen["compared"] == alone
    assert {name: seen[name] for name in alone} == alone


def test_max_flips_is_the_exit_code(limits):
    words = ("replay", limits("a.yaml", "9/hour"), *IP, "--compare",
             limits("b.yaml", "7/hour"))
    text = log_line(0) * 9
    good(*words, text=text)
    good(*words, "--max-flips", "2", text=text)
    assert bad(1, *words, "--max-flips", "1", text=text) == (
        "limitree: 2 decisions flip, more than --max-flips 1\n")
    assert bad(1, *words, "--max-flips", "1", "--json", text=text)


def test_what_could_not_be_decided_is_shown(limits):
    """Two bad lines, one out of order, and one that the second file refuses."""
    text = (log_line(5) + log_line(3) + "not a line\n" * 2
            + log_line(6, "one.example.net"))
    words = ("replay", limits("a.yaml", "9/hour"), *IP, "--compare",
             limits("b.yaml", "9/hour", key="    key: ip\n"))
    out = good(*words, text=text)
    rows = {line.rsplit(None, 3)[0]: line.split()[-3:]
            for line in out.splitlines() if len(line.split()) > 3}
    assert rows["out of order"] == ["1", "1", "-"]
    assert rows["bad lines"] == ["2", "2", "-"]
    assert "\nbad lines\n  standard input:3: " in out
    assert "\nskipped after\n  standard input:5: " in out
    assert "skipped before" not in out
    assert "bad lines" not in good(*words, text=log_line(0))
    out = good(*words, "--max-buckets", "1024",
               text="".join(log_line(0, f"192.0.{i // 250}.{i % 250}")
                            for i in range(5000)))
    assert "\nforgotten" in out


def test_a_log_that_nobody_can_read_does_not_pass(limits):
    words = ("replay", limits("a.yaml", "9/hour"), *IP, "--compare",
             limits("b.yaml", "9/hour"))
    good(*words, text="not a line\n")
    for text in ("", "not a line\n" * 3):
        assert bad(1, *words, "--max-flips", "0", text=text) == (
            "limitree: no line is a request, so --max-flips has nothing to "
            "check\n")
    good(*words, "--max-flips", "0", text="not a line\n" + log_line(0))


def test_the_list_is_bounded(limits):
    seen = compare(limits("a.yaml", "[]"), "--compare",
                   limits("b.yaml", "1/hour"), *IP,
                   text=log_line(0, "192.0.2.7") * 500)
    assert seen["flips"]["total"] == 499
    assert len(seen["flips"]["list"]) == 100


def test_text(limits):
    words = ("replay", limits("a.yaml", "9/hour"), *IP, "--compare",
             limits("b.yaml", "7/hour"))
    out = good(*words, text=log_line(0) * 9)
    for words_of_it in ("2 decisions flip", "allowed -> limited",
                        "standard input:8", "ip,192.0.2.7"):
        assert words_of_it in out
    assert "\n1 decision flips\n" in good(*words, text=log_line(0) * 8)
    assert "no decision flips" in good(*words, text=log_line(0))
    assert "by path" not in good(*words, "--top", "0", text=log_line(0) * 9)


def test_a_mistake_in_either_file(limits, tmp_path):
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("schema: {ip: {limits: 7}}\n", encoding="ascii")
    fine = limits("a.yaml", "9/hour")
    assert "wrong.yaml:1:" in bad(1, "replay", fine, *IP, "--compare", wrong)
    assert "no such file" in bad(1, "replay", fine, *IP, "--compare",
                                 tmp_path / "none.yaml")


def test_a_report_is_bounded(limits, tmp_path):
    """Callers have long names of characters that a page has to escape."""
    one = "{burst: 1, count: 1, period: 1h%s}"
    before = limits("a.yaml", one % ", mode: shadow")
    text = "".join(log_line(second, user="<" * 200 + f"{i:04}")
                   for second in (0, 1) for i in range(1500))
    words = ("--path", "ip,{remote_user}", "--html", "-")
    alone = good("replay", before, *words, text=text)
    both = good("replay", before, "--compare", limits("b.yaml", one % ""),
                *words, text=text)
    assert 400_000 < len(alone) < len(both) < 2_000_000
    assert alone.isascii() and "<" * 5 not in both
    # Each of many limits flips.
    many = tmp_path / "many.yaml"
    names = "\n".join(f"        n{i}: {{limits: 1/hour}}"
                      for i in range(9000))
    many.write_text(f"schema:\n  ip:\n    children:\n{names}\n",
                    encoding="ascii")
    text = "".join(log_line(0, user=f"n{i}") * 2 for i in range(9000))
    page = good("replay", limits("c.yaml", "[]"), "--compare", many, *words,
                text=text)
    assert len(page) < 600_000
    done = run("replay", before, *words[:2], "--html", tmp_path / "no" / "r",
               text=text)
    assert (done.code, "no such file" in done.err) == (1, True)
