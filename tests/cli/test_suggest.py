"""limitree suggest: against a brute-force computation, and against replay."""

import json
import math
import random
import shlex
import xml.etree.ElementTree

import pytest
from command import EXAMPLE_LOG, ROOT, bad, good, log_line, run

SECOND = 10**9
PERIODS = {"1s": SECOND, "1m": 60 * SECOND, "1h": 3600 * SECOND,
           "1d": 86_400 * SECOND}
MOST = 36_525 * 86_400 * SECOND  # the longest time in which a bucket fills
COUNTS = [digit * 10**power for power in range(6)
          for digit in (1, 2, 5)][:16]
PATH = ("--path", "ip,{remote_addr}")


def suggest(*words, text=b""):
    return json.loads(good("suggest", "--json", *words, text=text))


# ---- The oracle: each definition word for word, with no care for speed ------

def needed_burst(times, interval):
    """The most tokens that requests take beyond what came since: over all runs
    of requests, their number less what flows in, so that GCRA admits them."""
    most = max((last - first + 1) * interval - (times[last] - times[first])
               for first in range(len(times))
               for last in range(first, len(times)))
    tokens = -(-most // interval)
    return None if most > MOST or tokens * interval > MOST else tokens


def limited_requests(times, interval, burst):
    tat, limited = 0, 0
    for now in times:
        new = max(tat, now) + interval
        if new - now <= burst * interval:
            tat = new
        else:
            limited += 1
    return limited


def busiest(times, period):
    return max(sum(1 for one in times if one // period == time // period)
               for time in times)


def percentile(values, share, of):
    return sorted(values)[math.ceil(len(values) * share / of) - 1]


def expect(callers, periods, allowed):
    found = []
    for name, period in periods.items():
        use = [busiest(times, period) for times in callers.values()]
        candidates = []
        for count in COUNTS:
            interval = period // count
            needs = [needed_burst(times, interval)
                     for times in callers.values()]
            finite = sorted(math.inf if one is None else one for one in needs)
            burst = (finite[len(finite) - 1 - allowed]
                     if allowed < len(finite) else 1)
            candidates.append({
                "count": count,
                "callers_limited": sum(one > count for one in finite),
                "requests_limited": sum(
                    limited_requests(times, interval, count)
                    for times in callers.values()),
                "burst": None if burst == math.inf else burst})
        best = next((one for one in candidates if one["burst"] is not None
                     and one["burst"] <= one["count"]), None)
        proposal = None
        if best is not None:
            interval = period // best["count"]
            proposal = {
                "count": best["count"], "burst": best["burst"],
                "callers_limited": sum(
                    (needed_burst(times, interval) or math.inf)
                    > best["burst"] for times in callers.values())}
        found.append({
            "period": name, "p50": percentile(use, 50, 100),
            "p90": percentile(use, 90, 100), "p99": percentile(use, 99, 100),
            "p99_9": percentile(use, 999, 1000), "most": max(use),
            "candidates": candidates, "proposal": proposal})
    return found


def random_log(seed, requests, callers, unit):
    """Times in nanoseconds by caller, and the log in JSON lines."""
    dice = random.Random(seed)
    now = 1_772_445_603 * SECOND
    by_caller, lines = {}, []
    for _ in range(requests):
        if dice.random() < 0.4:
            now += unit * dice.choice((1, 1, 2, 7, 61, 900, 5000))
        # Some callers come far more often than others.
        caller = f"c{int(callers * dice.random() ** 3)}"
        by_caller.setdefault(caller, []).append(now)
        lines.append(f'{{"time": "{now // SECOND}.{now % SECOND:09}",'
                     f' "remote_addr": "{caller}"}}\n')
    return by_caller, "".join(lines)


@pytest.mark.parametrize("seed, requests, callers, unit, share", [
    (1, 150, 20, SECOND, "0.1%"),
    (2, 150, 6, 37_000_000, "20%"),
    (3, 100, 40, 1_000_003, "10%"),
    (4, 1, 1, SECOND, "100%"),
    (4, 1, 1, SECOND, "99.9999999999%"),
    (5, 120, 2, 977 * SECOND, "50%"),
])
def test_brute_force_agrees(seed, requests, callers, unit, share):
    by_caller, text = random_log(seed, requests, callers, unit)
    seen = suggest("--format", "json", *PATH, "--limited-callers", share,
                   text=text)["paths"][0]
    allowed = len(by_caller) * int(float(share[:-1]) * 10) // 1000
    assert seen["callers"] == seen["callers_kept"] == len(by_caller)
    assert seen["limited_callers"] == allowed
    assert seen["requests"] == requests
    assert seen["periods"] == expect(by_caller, PERIODS, allowed)


def test_brute_force_agrees_beyond_the_buffer_of_a_caller():
    """A caller's meter begins after some hundred requests; nothing changes."""
    times = [1_772_445_603 * SECOND + i * i % 977 * 10_000_000 + i * SECOND
             for i in range(400)]
    times.sort()
    text = "".join(f'{{"time": "{one // SECOND}.{one % SECOND:09}"}}\n'
                   for one in times)
    periods = {"7s": 7 * SECOND}
    seen = suggest("--format", "json", "--path", "all", "--period", "7s",
                   text=text)["paths"][0]["periods"]
    day = 86_400 * SECOND  # periods begin at midnight
    begin = times[0] // day * day
    expected = expect({"all": [one - begin for one in times]}, periods, 0)
    assert seen == expected


# ---- The circle: replay of the same log with the suggested limits -----------

def limited_callers(limits, log, *words):
    seen = json.loads(good("replay", "--json", limits, log, *words, "--top",
                           "1000"))
    return len({one["caller"] for one in seen["callers"]}), seen


@pytest.mark.parametrize("period, share", [
    ("1m", "0%"), ("1s", "5%"), ("1h", "0.5%"), ("1d", "5%"), ("10s", "1%")])
def test_replay_limits_no_more_callers_than_promised(tmp_path, period, share):
    seen = suggest(EXAMPLE_LOG, *PATH, "--period", period,
                   "--limited-callers", share)
    limits = tmp_path / "limits.yaml"
    limits.write_text(seen["limits"], encoding="utf-8")
    good("check", limits)
    one = seen["paths"][0]
    proposal = one["periods"][0]["proposal"]
    assert one["limited_callers"] == int(
        one["callers"] * float(share[:-1]) / 100)
    assert proposal["callers_limited"] <= one["limited_callers"]
    callers, replayed = limited_callers(limits, EXAMPLE_LOG, *PATH)
    assert callers == proposal["callers_limited"]
    assert replayed["requests"] == one["requests"]
    # With one token less in the bucket the promise would not hold.
    if proposal["burst"] > 1:
        text = seen["limits"].replace(f"burst: {proposal['burst']}",
                                      f"burst: {proposal['burst'] - 1}")
        limits.write_text(text, encoding="utf-8")
        assert (limited_callers(limits, EXAMPLE_LOG, *PATH)[0]
                > one["limited_callers"])


def test_replay_agrees_with_each_candidate(tmp_path):
    seen = suggest(EXAMPLE_LOG, *PATH, "--period", "1m")["paths"][0]
    for one in seen["periods"][0]["candidates"][3:7:3]:
        limits = tmp_path / "limits.yaml"
        limits.write_text("schema: {ip: {children: {'*': {limits: "
                          f"{one['count']}/minute}}}}}}}}\n", encoding="utf-8")
        callers, replayed = limited_callers(limits, EXAMPLE_LOG, *PATH)
        assert replayed["limited"] == one["requests_limited"] > 0
        assert callers == one["callers_limited"] > 0


def test_several_paths(tmp_path):
    paths = (*PATH, "--path", r"route,{method},on,x-{path}")
    seen = suggest(EXAMPLE_LOG, *paths, "--limited-callers", "1%")
    assert seen["limits"] == (
        "schema:\n"
        "  ip:\n"
        "    children:\n"
        '      "*":\n'
        f"        limits: {limit_of(seen['paths'][0])}\n"
        "  route:\n"
        "    children:\n"
        '      "*":\n'
        "        children:\n"
        '          "on":\n'
        "            children:\n"
        '              "x-*":\n'
        f"                limits: {limit_of(seen['paths'][1])}\n")
    limits = tmp_path / "limits.yaml"
    limits.write_text(seen["limits"], encoding="utf-8")
    callers = limited_callers(limits, EXAMPLE_LOG, *paths)[0]
    assert 0 < callers <= sum(one["limited_callers"] for one in seen["paths"])


def limit_of(path):
    use = next(one for one in path["periods"]
               if one["period"] == path["suggested_period"])
    return (f"{{count: {use['proposal']['count']}, period: {use['period']}, "
            f"burst: {use['proposal']['burst']}}}")


# ---- The rest ---------------------------------------------------------------

def test_output_of_the_documentation():
    page = (ROOT / "docs" / "command-line.md").read_text(encoding="utf-8")
    block = page[page.index("$ limitree suggest examples/"):]
    typed, expected = block[2:block.index("```")].split("\n", 1)
    seen = good(*shlex.split(typed)[1:], cwd=ROOT)
    # But for the last line, how fast it was.
    assert seen.splitlines()[:-1] == expected.splitlines()[:-1]


def test_outliers():
    text = "".join(log_line(i // 4, f"192.0.2.{i % 40}") for i in range(200))
    text = text + log_line(55, "198.51.100.9") * 90
    seen = suggest(*PATH, "--limited-callers", "3%", text=text)["paths"][0]
    assert seen["outlier_count"] == 1
    (robot,) = seen["outliers"]
    assert (robot["caller"], robot["requests"], robot["busiest"],
            robot["burst"], robot["limited"]) == (
        "ip,198.51.100.9", 90, 90, 90, True)
    # Without a share it sets the burst, and stands out all the same.
    seen = suggest(*PATH, text=text)["paths"][0]
    assert [one["limited"] for one in seen["outliers"]] == [False]
    assert suggest(*PATH, "--top", "0", text=text)["paths"][0][
        "outliers"] == []


def three_callers(kept):
    """The share of three callers in a sample."""
    text = f"{math.ceil(3 / kept * 1e8) / 1e6:.6f}"
    return text.rstrip("0").rstrip(".") + "%"


def test_more_callers_than_fit_are_sampled():
    text = "".join(log_line(i % 60, f"10.{i >> 8}.{i & 255}.1") * (1 + i % 3)
                   for i in range(4000))
    seen = suggest(*PATH, "--max-callers", "1000", text=text)["paths"][0]
    assert seen["one_of"] in (4, 8)
    assert seen["callers_kept"] <= 1000
    assert 3400 < seen["callers"] < 4600
    assert seen["requests"] == 7999
    (minute,) = [one for one in seen["periods"] if one["period"] == "1m"]
    assert [minute[name] for name in ("p50", "p90", "most")] == [2, 3, 3]
    shown = good("suggest", *PATH, "--max-callers", "1000", text=text)
    assert (f"one caller of {seen['one_of']} is kept, at random: "
            f"{seen['callers_kept']}") in shown
    # The square root would say 0.2%.
    error = three_callers(seen["callers_kept"])
    assert f" 0.1% may be off by {error}; " in shown
    # Equal logs give equal samples.
    assert suggest(*PATH, "--max-callers", "1000", text=text)["paths"] == [seen]


def test_a_sample_is_a_sample_of_requests_too():
    """The robot is among the callers kept, and has almost all requests."""
    others = "".join(log_line(0, f"10.0.0.{i}") for i in range(40))
    words = (*PATH, "--max-callers", "20", "--limited-callers", "0%")
    text, seen = next(
        (text, seen) for text in (
            others + log_line(1, f"10.0.1.{i}") * 900 for i in range(64))
        for seen in suggest(*words, text=text)["paths"]
        if seen["requests_kept"] > 900)
    assert seen["one_of"] > 1
    assert seen["requests_kept"] == 899 + seen["callers_kept"]
    shown = good("suggest", *words, text=text)
    shares = [float(word[:-1]) for word in shown.split() if word[-1] == "%"]
    assert 90 < max(shares) <= 100
    error = three_callers(seen["callers_kept"])
    assert f" 0% may be off by {error}; " in shown


def test_picture(tmp_path):
    picture = tmp_path / "a.svg"
    path = "a<b>&,{remote_addr}"
    out = good("suggest", EXAMPLE_LOG, "--path", path, "--svg", picture)
    assert out.startswith("31,353 lines, ")
    root = xml.etree.ElementTree.parse(picture).getroot()
    words = [one.text for one in root.iter("{http://www.w3.org/2000/svg}text")]
    assert any(one.startswith(path) for one in words)
    for word in ("per 1s", "per 1m", "per 1h", "per 1d", "at most 0.1%"):
        assert word in words
    five = [word for i in range(5) for word in ("--period", f"{i + 1}s")]
    drawn = good("suggest", EXAMPLE_LOG, *PATH, *five, "--svg", "-")
    assert drawn.startswith("<svg")
    assert [drawn.count(f'class="p{i}"') for i in range(6)] == [2] * 5 + [0]


def test_names_that_yaml_would_take_for_something_else(tmp_path):
    limits = tmp_path / "limits.yaml"
    for name in ("true", "17", "a: b", 'q"\\\\', "#x", "- a", "\u00e9",
                 "&a", "{", "'"):
        template = name.replace("{", "\\{") + ",{remote_addr}"
        seen = suggest("--path", template, text=log_line(0) * 5)
        limits.write_text(seen["limits"], encoding="utf-8")
        good("check", limits)
        replayed = json.loads(good("replay", "--json", limits, "--path",
                                   template, text=log_line(0) * 7))
        assert replayed["limited"] > 0, name


def test_empty_log():
    seen = suggest(*PATH)
    assert (seen["lines"], seen["from"], seen["limits"]) == (0, None, "")
    assert seen["paths"][0]["callers"] == 0
    assert good("suggest", *PATH) == (
        "0 lines\n\nip,{remote_addr}\n  0 callers, 0 requests\n"
        "\nno limits to suggest\n")


def test_bad_lines_and_damaged_logs(tmp_path):
    shown = good("suggest", *PATH, text=log_line(0) + "broken\n")
    assert "\n  standard input:2: no address at the start\n" in shown
    log = tmp_path / "a.log.gz"
    log.write_bytes(EXAMPLE_LOG.read_bytes()[:100_000])
    done = run("suggest", "--json", log, *PATH)
    assert done.code == 1
    assert json.loads(done.out)["requests"] > 1000


def test_times_that_no_log_has():
    text = "".join(log_line(0).replace("2026", year)
                   for year in ("0001", "1969", "2026", "9999", "0001"))
    seen = suggest(*PATH, text=text)
    assert (seen["requests"], seen["out_of_order"]) == (5, 1)
    assert seen["paths"][0]["periods"][0]["most"] == 2


def test_lines_out_of_order_are_named():
    text = log_line(0, minute=5) + log_line(0) * 2
    assert ("\n2 lines out of order, counted at the latest time seen before\n"
            in good("suggest", *PATH, text=text))
    assert "out of order" not in good("suggest", *PATH, text=log_line(0))


def test_bytes_that_are_not_text():
    text = b"\xff\x1b[31m<b>".join(log_line(0).encode().split(b"192.0.2.7"))
    done = run("suggest", *PATH, text=text * 30)
    assert (done.code, "\x1b" in done.out) == (0, False)
    suggest(*PATH, text=text * 30)


@pytest.mark.parametrize("words, message", [
    (["--path", "{remote_addr}"], "must begin with a name"),
    (["--path", "a,{method}", "--path", "a,{path}"], "would be one limit"),
    (["--path", "*,{remote_addr}"], "must begin with a name"),
    ([*PATH, "--period", "0s"], "--period must be from 1ms to 365d"),
    ([*PATH, "--period", "1m", "--period", "60s"], "--period 1m comes twice"),
    ([*PATH, *(word for i in range(6) for word in ("--period", f"{i + 1}s"))],
     "--period may come at most 5 times"),
    ([*PATH, "--limited-callers", "0.1"], "is not a share from 0% to 100%"),
    ([*PATH, "--limited-callers", "100.000001%"], "is not a share"),
    ([*PATH, "--limited-callers", "1.2.3%"], "is not a share"),
    ([*PATH, "--limited-callers", "%"], "is not a share"),
    ([*PATH, "--max-callers", "0"], "is not a number from 1 "),
    ([*PATH, "-", "-"], "standard input can be read only once"),
    ([], "--path is required"),
])
def test_usage(words, message):
    assert message in bad(2, "suggest", *words)
