"""limitree check, convert and explain --from envoy."""

import re

import pytest

from command import ROOT, bad, good, run

EXAMPLE = ROOT / "examples" / "descriptors"
A = "domain: d\ndescriptors: [{key: a, rate_limit: {unit: day}}]\n"
B = "domain: d\ndescriptors: [{key: b}]\n"


def folder_with(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text, encoding="ascii")
    return folder


def check(*words):
    return ("check", "--from", "envoy", *words)


def explain(*words):
    return ("explain", "--from", "envoy", *words)


def test_check_prints_the_rules():
    out = good(*check(EXAMPLE))
    assert out.startswith("apis\n  path=/search\n")
    assert "    user=bot-*        10 per MINUTE, one bucket for all" in out
    assert good(*check(EXAMPLE / "apis.yaml")) == out
    assert good(*check("--quiet", EXAMPLE)) == ""


def test_check_reads_standard_input():
    assert good(*check("-"), text=B) == "d\n  b\n"
    assert bad(1, *check("-"), text="domain: ''") == (
        "standard input:1:9: config file cannot have empty domain\n")


def test_files_of_a_folder_in_order(tmp_path):
    folder_with(tmp_path, {"2.yaml": A.replace("domain: d", "domain: e"),
                           "1": B, ".hidden": "nonsense"})
    (tmp_path / "below").mkdir()
    assert good(*check(tmp_path)) == (
        "d\n  b\ne\n  a   0 per DAY: denies everything\n")
    assert good(*check(tmp_path / "2.yaml", tmp_path / "1")).startswith("e\n")


RULES = """
domain: d
descriptors:
- key: a
  rate_limit: {unit: minute, unit_multiplier: 10, requests_per_unit: 3}
- {key: b, rate_limit: {period: 90s, requests_per_unit: 5}}
- {key: free, rate_limit: {unlimited: true}}
- key: c
  descriptors:
  - {key: id, value_to_hold: true, rate_limit: {concurrent: 4, hold: 30s}}
"""


def test_show_and_reset(tmp_path):
    (tmp_path / "d.yaml").write_text(RULES)
    words = ("--from", "envoy", tmp_path / "d.yaml", "d", "a=x", "b", "free",
             "none=1", "c=x,id=7", "--store", "memory://")
    for command in ("show", "reset"):
        rows = [re.split(r" {2,}", line.strip())
                for line in good(command, *words).splitlines()]
        assert rows == [
            ["descriptor", "limit", "left", "one more in", "full again in"],
            ["a=x", "3 per 10 MINUTE", "3", "-", "-"],
            ["b", "5 per 1m30s", "5", "-", "-"], ["free", "unlimited"],
            ["none=1", "no limit"], ["c=x,id=7", "4 at once", "4", "-", "-"]]
    assert "names what is held, and is empty" in bad(
        1, "show", *words, "c=x,id")


def test_show_needs_a_domain_and_a_descriptor():
    store = ("--store", "memory://")
    for words in (("show", EXAMPLE, "apis"), ("reset", EXAMPLE, "apis")):
        assert "needs a folder or file, a domain" in bad(
            2, *words, "--from", "envoy", *store)
    assert "is not key=value" in bad(2, "show", EXAMPLE, "apis", "=1",
                                     "--from", "envoy", *store)
    assert "--leaf is for paths" in bad(2, "reset", EXAMPLE, "apis", "a=1",
                                        "--leaf", "--from", "envoy", *store)
    assert "--merge-domains needs" in bad(2, "show", EXAMPLE, "apis", "a=1",
                                          "--merge-domains", *store)


def test_every_mistake_of_every_file(tmp_path):
    folder_with(tmp_path, {"a.yaml": A.replace("day", "dya"),
                           "b.yaml": B + "foo: 1\n"})
    assert bad(1, *check(tmp_path)) == (
        f"{tmp_path}/a.yaml:2:43: invalid rate limit unit 'dya'\n"
        f"{tmp_path}/b.yaml:1:9: duplicate domain 'd' in config file\n"
        f"{tmp_path}/b.yaml:3:1: config error, unknown key 'foo'\n")


def test_domains_are_merged_if_asked(tmp_path):
    folder_with(tmp_path, {"a.yaml": A, "b.yaml": B})
    assert "duplicate domain 'd'" in bad(1, *check(tmp_path))
    assert good(*check("--merge-domains", tmp_path)) == (
        "d\n  a   0 per DAY: denies everything\n  b\n")
    assert "b=1" in good(*explain("--merge-domains", tmp_path, "d", "b=1"))


def test_no_files(tmp_path):
    assert bad(1, *check(tmp_path)) == (
        f"limitree: {tmp_path}: no file in this folder\n")
    assert "no such file" in bad(1, *check(tmp_path / "missing"))


def test_a_folder_that_cannot_be_read(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    try:
        next(locked.iterdir(), None)
        pytest.skip("this user may read everything")
    except PermissionError:
        assert "permission denied" in bad(1, *check(locked))


def test_explain():
    out = good(*explain(EXAMPLE, "apis", "path=/search,user=bot-7"))
    assert "the first pattern that matches, user=bot-*" in out
    assert out.split()[-3:] == [
        "apis:path:/search:user:bot-*#minute!fw", "metric",
        "apis.path_/search.user_bot-*"]
    assert good(*explain(EXAMPLE, "other", "a=1")) == (
        'descriptor\n  there is no domain "other": everything is allowed\n')


def test_convert(tmp_path):
    done = run("convert", "--from", "envoy", EXAMPLE)
    assert done.code == 1
    assert done.err.endswith("replaces has no equivalent: all limits of a "
                             "request count\n")
    limits = tmp_path / "limits.yaml"
    limits.write_text(done.out, encoding="ascii")
    assert "user:bot-*" in good("explain", limits, "apis", "path", "/search",
                                "user", "bot-7")
    assert good("convert", "--from", "envoy", "-", text=A) == (
        "schema:\n  d:\n    charge: independent\n    children:\n      a:\n"
        "        children:\n          \"*\": {limits: {algorithm: "
        "fixed_window, count: 1, period: 1d, cost: 2}}\n")


def test_convert_names_what_has_no_equivalent(tmp_path):
    folder_with(tmp_path, {"a.yaml": A.replace("key: a", "key: a*")})
    done = run("convert", "--from", "envoy", tmp_path)
    assert (done.code, done.out) == (1, "schema:\n  d:\n    charge: "
                                        "independent\n")
    assert done.err == (
        f"{tmp_path}/a.yaml:2:21: a key with a * has no equivalent\n")
    assert "unknown key 'foo'" in bad(1, "convert", "--from", "envoy", "-",
                                      text=B + "foo: 1\n")


def test_convert_leaves_out_a_domain_with_a_star(tmp_path):
    folder_with(tmp_path, {"a.yaml": A.replace("domain: d", "domain: 'd*'"),
                           "b.yaml": A})
    done = run("convert", "--from", "envoy", tmp_path)
    assert done.code == 1
    assert done.out == good("convert", "--from", "envoy", "-", text=A)
    assert done.err.startswith(
        f"{tmp_path}/a.yaml:1:9: a domain with a * has no equivalent\n")


def test_files_of_envoy_may_have_anchors():
    text = ("domain: d\ndescriptors:\n"
            "- {key: a, rate_limit: &daily {unit: day, requests_per_unit: 5}}\n"
            "- {key: b, rate_limit: {<<: *daily, requests_per_unit: 7}}\n")
    assert good("check", "--from", "envoy", "-", text=text) == (
        "d\n  a   5 per DAY\n  b   7 per DAY\n")


def test_convert_of_boulder(tmp_path):
    folder_with(tmp_path, {
        "d": "NewOrdersPerAccount: {burst: 3, count: 3, period: 1h}",
        "o": "[]"})
    files = ("--from", "boulder", tmp_path / "d", tmp_path / "o")
    assert good("convert", *files) == good("check", "--yaml", *files)


@pytest.mark.parametrize("text, bucket", [
    ("a=1", "d:a:1"), ("a", "d:a:%"), ("a=", "d:a:%"), ("a=b=c", "d:a:b=c"),
    (r"a=1\,2", "d:a:1,2"), (r"a=\\", "d:a:\\"), ("a=\\", "d:a:\\")])
def test_entries(text, bucket):
    out = good(*explain("-", "d", text), text=A)
    assert f"bucket   {bucket}#day!fw\n" in out


def test_usage():
    assert "a domain and entries" in bad(2, *explain(EXAMPLE, "apis"))
    assert "a domain and entries" in bad(2, *explain(EXAMPLE, "a", "b", "c"))
    for entries in ("=1", "a=1,", ",a=1", ""):
        assert "is not key=value" in bad(2, *explain(EXAMPLE, "apis", entries))
    assert "--yaml cannot print" in bad(2, *check("--yaml", EXAMPLE))
    assert "--from" in bad(2, "try", "--from", "envoy", EXAMPLE, "a", "b")
    assert "convert needs --from" in bad(2, "convert", EXAMPLE)
    for command in (("check", EXAMPLE), ("convert", EXAMPLE),
                    ("explain", EXAMPLE, "a")):
        assert "--merge-domains needs --from envoy" in bad(
            2, *command, "--merge-domains")
