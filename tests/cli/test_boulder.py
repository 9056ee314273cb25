"""limitree check, explain and try --from boulder."""

import re

from command import ROOT, bad, good, run

DEFAULTS = ROOT / "examples/boulder/defaults.yaml"
OVERRIDES = ROOT / "examples/boulder/overrides.yaml"
FROM = ("--from", "boulder", DEFAULTS, OVERRIDES)


def test_check_prints_the_tree():
    out = good("check", *FROM)
    assert re.search(r"^NewOrdersPerAccount +by integer$", out, re.M)
    assert re.search(r"^  12345678 +600 per 3h, capacity 600$", out, re.M)
    assert re.search(r"^  \* +300 per 3h, capacity 300$", out, re.M)


def test_yaml_is_the_same_tree(tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text(good("check", "--yaml", *FROM), encoding="ascii")
    assert good("check", file) == good("check", *FROM)
    for path in (("NewOrdersPerAccount", "12345678"),
                 ("CertificatesPerDomain", "www.example.com"),
                 ("CertificatesPerFQDNSet", "example.com,example.net")):
        assert good("try", file, *path) == good("try", *FROM, *path)
        assert good("explain", file, *path) == good("explain", *FROM, *path)


def test_try_and_explain():
    out = good("try", *FROM, "NewOrdersPerAccount", "0012345678",
               "--then", "NewOrdersPerAccount", "1")
    assert "[0, 600, 599, -1, 18]" in out
    assert "[0, 300, 299, -1, 36]" in out
    out = good("explain", *FROM, "CertificatesPerDomain", "a.example.com")
    assert "exact child, counted as example.com" in out


def test_mistakes_name_their_file(tmp_path):
    defaults = tmp_path / "d.yaml"
    overrides = tmp_path / "o.yaml"
    defaults.write_text("NewOrders: {}\n", encoding="ascii")
    overrides.write_text("- CertificatesPerDomain: {}\n", encoding="ascii")
    lines = bad(1, "check", "--from", "boulder", defaults,
                overrides).splitlines()
    assert lines[0].startswith(f"{defaults}:1:1: unknown limit \"NewOrders\"")
    assert lines[-1] == f"{overrides}:1:26: period is missing"


def test_what_has_no_effect_is_a_warning(tmp_path):
    overrides = tmp_path / "o.yaml"
    overrides.write_text(
        "- CertificatesPerDomain:\n"
        "    {burst: 9, count: 9, period: 1h, ids: [a.example.com]}\n",
        encoding="ascii")
    done = run("check", "--from", "boulder", DEFAULTS, overrides)
    assert done.code == 0
    assert done.err == (
        f"warning: {overrides}:2:44: \"a.example.com\" is counted as "
        "\"example.com\": an override of it has no effect\n")
    assert "NewOrdersPerAccount" in done.out


def test_a_bad_id_in_a_path():
    assert bad(1, "try", *FROM, "NewOrdersPerAccount", "alex") == (
        'limitree: segment 1 "alex" is not a whole number\n')


def test_usage():
    assert "needs two files" in bad(2, "check", "--from", "boulder", DEFAULTS)
    assert "needs two files and a path" in bad(
        2, "explain", "--from", "boulder", DEFAULTS, OVERRIDES)
    assert "a second file needs --from" in bad(2, "check", DEFAULTS, OVERRIDES)
    assert "--from" in bad(2, "check", "--from", "nginx", DEFAULTS, OVERRIDES)
    assert "needs two files" in bad(2, "check", *FROM, OVERRIDES)
