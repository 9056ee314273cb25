"""The report of `limitree replay --html`, as people use it."""

import json
import re
import sys

import pytest
from browser import ROOT, is_within_width, serious_findings

sys.path.insert(0, str(ROOT / "tests" / "cli"))
from command import (  # noqa: E402
    BOTH_PATHS,
    EXAMPLE_LOG,
    WEB,
    good,
    log_line,
    run,
)

IMAGE = "<img/src=x/onerror=alert(1)>"
END = "</script><script>alert(2)</script><!--"
ODD = "\u2028&amp;'`"


@pytest.fixture(name="example", scope="module")
def make_example(tmp_path_factory):
    """The report of the example log, and what --json says of it."""
    file = tmp_path_factory.mktemp("report") / "report.html"
    words = ("replay", WEB, EXAMPLE_LOG, *BOTH_PATHS)
    out = good(*words, "--html", file)
    assert out.endswith(f"\nreport: {file}\n")
    return file, json.loads(good(*words, "--json", "--top", "1000"))


@pytest.fixture(name="compared", scope="module")
def make_compared(tmp_path_factory):
    """The report of the example log, where the daily limit is in earnest."""
    folder = tmp_path_factory.mktemp("compared")
    other = folder / "other.yaml"
    text = WEB.read_text(encoding="utf-8")
    assert ", mode: shadow" in text
    other.write_text(text.replace(", mode: shadow", ""), encoding="utf-8")
    words = ("replay", WEB, EXAMPLE_LOG, *BOTH_PATHS, "--compare", other)
    good(*words, "--html", folder / "report.html")
    return folder / "report.html", json.loads(good(*words, "--json"))


def rows_of(page, caption):
    """The texts of the cells of each row that the table shows."""
    return page.get_by_role("region", name=caption, exact=True).evaluate(
        "(one) => [...one.querySelectorAll('tbody tr')].map("
        "(row) => [...row.cells].map((cell) => cell.textContent))")


def number(text):
    return int(re.sub(r"\D", "", text))


def test_it_says_what_json_says(example, open_page):
    file, seen = example
    page = open_page(file.as_uri())
    figures = page.locator(".figures div").all_inner_texts()
    for name in ("requests", "limited", "shadowed"):
        text = next(one for one in figures if one.startswith(name))
        assert number(text.split("\n")[1]) == seen[name]
    assert {row[0]: [number(cell) for cell in row[1:5]]
            for row in rows_of(page, "Limits")} == {
                one["policy"]: [one["limited"], one["shadow_limited"],
                                one["near_limit"], one["allowed"]]
                for one in seen["limits"]}
    callers = page.get_by_role("region", name="Callers")
    callers.locator("..").get_by_label("Filter callers").fill("route,")
    page.get_by_role("button", name="Show more").click()
    assert {row[0]: number(row[1]) for row in rows_of(page, "Callers")} == {
        one["caller"]: one["limited"] for one in seen["callers"]
        if one["caller"].startswith("route,")}


def test_charts_add_up(example, open_page):
    """Each request is in a step of time, and each denial of a limit too."""
    file, seen = example
    page = open_page(file.as_uri())
    data = json.loads(page.locator("#data").text_content())
    [tree] = data["trees"]
    line = tree["timeline"]
    assert line["step"] == 300
    for name in ("requests", "limited", "shadowed"):
        assert sum(line[name]) == seen[name]
    for limit in seen["limits"]:
        one = tree["limit_timelines"][limit["policy"]]
        for name in ("allowed", "limited", "shadow_limited", "near_limit"):
            assert sum(one[name]) == limit[name], (limit, name)
            assert len(one[name]) == len(line["requests"])
    shadowed = {one["caller"]: one["limited"]
                for one in tree["shadow_callers"]}
    assert sum(shadowed.values()) == seen["shadowed"]


def test_sort_filter_hover_and_choose(example, open_page):
    file, seen = example
    page = open_page(file.as_uri())
    limits = page.get_by_role("region", name="Limits")
    assert rows_of(page, "Limits")[0][0] == "route:POST//login"
    limits.get_by_role("button", name="shadowed").click()
    assert rows_of(page, "Limits")[0][0] == "ip:*#daily"
    limits.get_by_role("button", name="limit", exact=True).click()
    names = [row[0] for row in rows_of(page, "Limits")]
    assert names[0].startswith("ip:") and names[-1].startswith("route:")
    page.get_by_label("Filter limits").fill("LOGIN")
    assert [row[0] for row in rows_of(page, "Limits")] == ["route:POST//login"]

    chart = page.get_by_role("slider", name="Requests over time")
    middle = chart.bounding_box()["width"] / 2
    chart.hover(position={"x": middle, "y": 60})  # it scrolls there
    legend = page.locator(".chart").first.locator(".legend")
    when, requests, *_ = legend.locator("li").all_inner_texts()
    assert re.fullmatch(r"2026-03-02 1[12]:\d\d", when)
    bins = json.loads(page.locator("#data").text_content())["trees"][0][
        "timeline"]
    place = int(chart.get_attribute("aria-valuenow"))
    assert number(requests) == bins["requests"][place]
    assert when == "2026-03-02 " + "{:02}:{:02}".format(
        *divmod(place * 5, 60))

    page.get_by_role("combobox", name="Limit").select_option("ip:*#daily")
    total = next(one["shadow_limited"] for one in seen["limits"]
                 if one["policy"] == "ip:*#daily")
    assert f"shadowed {total:,}" in page.locator(
        ".chart").nth(1).locator(".legend").inner_text()


def test_keyboard_only(example, open_page):
    """Tab reaches the theme, a chart, a filter and a title in this order."""
    page = open_page(example[0].as_uri())
    focused = "document.activeElement.getAttribute('aria-label') ??" \
        " document.activeElement.textContent"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Dark colours"
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"
    page.keyboard.press("Tab")
    assert page.evaluate(focused) == "Requests over time"
    page.keyboard.press("End")
    assert "2026-03-02 23:55" in page.locator(".legend").first.inner_text()
    page.keyboard.press("Tab")
    page.keyboard.type("daily")
    assert [row[0] for row in rows_of(page, "Limits")] == ["ip:*#daily"]
    page.keyboard.press("Tab")  # the table, which scrolls
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    assert page.evaluate(focused).startswith("limited")
    page.keyboard.press("Space")
    assert page.get_by_role("columnheader", name="limited").first \
        .get_attribute("aria-sort") == "ascending"


@pytest.fixture(name="far", scope="module")
def make_far(tmp_path_factory):
    """The report of files whose paths are longer than a phone is wide."""
    folder = tmp_path_factory.mktemp("far") / ("folder" * 20)
    folder.mkdir()
    for one in (WEB, EXAMPLE_LOG):
        (folder / one.name).write_bytes(one.read_bytes())
    file = folder / "report.html"
    good("replay", folder / WEB.name, folder / EXAMPLE_LOG.name, *BOTH_PATHS,
         "--html", file)
    return file


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_phone(far, open_page, theme):
    page = open_page(far.as_uri(), color_scheme=theme,
                     viewport={"width": 360, "height": 740})
    assert is_within_width(page)
    assert serious_findings(page) == []


def test_phone_with_large_letters(far, open_page):
    page = open_page(far.as_uri(), bypass_csp=True,
                     viewport={"width": 320, "height": 740})
    page.add_style_tag(content="html { font-size: 200% }")
    assert is_within_width(page)


def test_comparison(compared, open_page):
    file, seen = compared
    page = open_page(file.as_uri())
    total = seen["flips"]["total"]
    assert total > 100
    assert page.get_by_text(
        f"{total:,} requests are decided differently.").is_visible()
    assert [[row[0], number(row[2])]
            for row in rows_of(page, "Flips by limit")] == [
                [one["policy"], one["flips"]]
                for one in seen["flips"]["limits"]]
    first = rows_of(page, "The first flips")[0]
    flip = seen["flips"]["list"][0]
    assert first == [
        flip["time"][:19].replace("T", " "), "allowed \u2192 limited",
        flip["policy"], flip["path"], f"{flip['file']}:{flip['line']}"]
    changes = {row[0]: row for row in rows_of(page, "Limits, before and after")}
    assert changes["ip:*#daily"][1] == "0"
    assert changes["ip:*#daily"][3] == f"+{total:,}"
    assert serious_findings(page) == []


def test_a_comparison_has_both_numbers_of_a_caller(open_page, tmp_path):
    """Each tree denies others most, more than a report lists."""
    trees = []
    for strict, loose in (("a", "b"), ("b", "a")):
        trees.append(tmp_path / f"{strict}.yaml")
        trees[-1].write_text(
            f"schema: {{ip: {{children: {{'{strict}-*': {{limits: 1/hour}}, "
            f"'{loose}-*': {{limits: 5/hour}}, '*': {{limits: 1/day}}, "
            f"{strict}: {{limits: 1/hour}}, {loose}: {{limits: []}}}}}}}}\n",
            encoding="ascii")
    file = tmp_path / "report.html"
    text = "".join(log_line(0, f"{kind}-{i}") * 8
                   for kind in "ab" for i in range(210))
    # So many that a tree cannot know whether it denied another.
    more = "".join(log_line(1, f"{i}.x") * 2 for i in range(4100))
    for log, rows in (
            (text, {("a-0", "7", "3", "-4"), ("b-0", "3", "7", "+4")}),
            (log_line(0, "b") * 300 + more,
             {("b", "-", "299", "-")})):
        good("replay", trees[0], "--path", "ip,{remote_addr}", "--compare",
             trees[1], "--html", file, text=log)
        page = open_page(file.as_uri())
        for row in rows:
            page.get_by_label("Filter callers").fill(f"ip,{row[0]}")
            assert ["ip," + row[0], *row[1:]] in rows_of(
                page, "Callers, before and after")


def test_a_comparison_says_what_was_left_out(open_page, tmp_path):
    """Of both trees: the second one refuses a name that is no address."""
    trees = []
    for key in ("", "key: ip, "):
        trees.append(tmp_path / f"limits{len(trees)}.yaml")
        trees[-1].write_text(f"schema: {{ip: {{{key}children: {{'*': "
                             "{limits: 1/hour}}}}\n", encoding="ascii")
    file = tmp_path / "report.html"
    done = run("replay", trees[0], "--path", "ip,{remote_addr}", "--compare",
               trees[1], "--html", file, text=log_line(5) + log_line(4)
               + "not a line\n" + log_line(6, "one.example.net"))
    assert (done.code, done.err) == (0, "")
    page = open_page(file.as_uri())
    figures = [one.split("\n")[:2] for one in
               page.locator(".figures div").all_inner_texts()]
    for one in (["out of order", "1 \u2192 1"], ["bad lines", "1 \u2192 1"],
                ["skipped", "0 \u2192 1"]):
        assert one in figures
    places = [row[0] for row in rows_of(page, "Lines left out")]
    assert places == ["standard input:3", "standard input:4"]
    assert page.get_by_text("(after)").is_visible()


def test_names_are_texts(open_page, tmp_path):
    """Names of callers, limits, files and reasons may be markup."""
    limits = tmp_path / "limits.yaml"
    limits.write_text(json.dumps({"schema": {"route": {"children": {
        "*": {"limits": "1/hour"},
        f"{IMAGE}{ODD}{END}": {"limits": "1/hour"}}}}}), encoding="utf-8")
    log = tmp_path / "<b>&.log"
    lines = [log_line(0, request=f"GET {name} HTTP/1.1")
             for name in (f"{IMAGE}{ODD}{END}", IMAGE, END) for _ in range(3)]
    log.write_bytes("".join(lines).encode() + b"\xff<i>bad\n" + log_line(
        1, request="GET /\N{SNOWMAN} HTTP/1.1").encode() * 2)
    other = tmp_path / "other.yaml"
    other.write_text("schema: {route: {}}\n", encoding="ascii")
    for words in ([], ["--compare", other]):
        file = tmp_path / "page" / f"report{len(words)}.html"
        file.parent.mkdir(exist_ok=True)
        done = run("replay", limits, log, "--path", "route,{path}", "--html",
                   file, *words)
        assert (done.code, done.err) == (0, "")
        page = open_page(file.as_uri())
        for name in (IMAGE, END, ODD.replace("\u2028", "")):
            assert page.get_by_text(name).first.is_visible()
        assert page.locator("img, b:not(.legend b), i").count() == 0
        assert page.locator("script").count() == 2
        assert page.get_by_text("<b>&.log").first.is_visible()
        assert page.get_by_text(IMAGE).count() > 1


def test_nothing_to_show(open_page, tmp_path):
    file = tmp_path / "report.html"
    good("replay", WEB, *BOTH_PATHS, "--html", file)
    page = open_page(file.as_uri())
    assert page.get_by_text("nobody was limited").is_visible()
    good("replay", WEB, *BOTH_PATHS, "--compare", WEB, "--html", file)
    page = open_page(file.as_uri())
    assert page.get_by_text("No decision flips.").is_visible()


def test_policy_stops_other_scripts(example, browser, tmp_path):
    """The page with a script that was not in it."""
    file = tmp_path / "changed.html"
    file.write_text(example[0].read_text(encoding="ascii").replace(
        "</body>", "<script>window.changed = 1</script>"
        "<img src='other.png' alt=''></body>"), encoding="ascii")
    for bypass in (False, True):
        context = browser.new_context(bypass_csp=bypass)
        page = context.new_page()
        said = []
        page.on("console", lambda message: said.append(message.text))
        page.goto(file.as_uri())
        assert page.evaluate("window.changed ?? 0") == int(bypass)
        assert len([text for text in said
                    if "Content Security Policy" in text]) == (
                        0 if bypass else 2), said
        said.clear()
        context.close()
