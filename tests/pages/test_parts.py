"""What pages share: the theme, charts and tables of bindings/pages."""

import pytest
from browser import ROOT, is_within_width, serious_findings

PAGES = ROOT / "bindings" / "pages"
NAMES = ["page.js", "chart.js", "table.js"]
MARKUP = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"

USE = """
const main = document.querySelector('main');
const header = document.querySelector('header');
header.append(pages.element('h1', {}, 'Parts'), pages.themeButton());
main.append(pages.figures([['requests', 1234567, 'of all'],
                           ['share', pages.percent(1, 3)]]));
const data = (limited) => ({begin: 0, step: 3600, offset: 7200, series: [
  {name: 'requests', tone: 1, area: true, values: [10, 2000, 30, 40]},
  {name: MARKUP, tone: 2, values: limited}]});
const chart = pages.chart(main, 'Requests over time', data([0, 5, 1, 0]));
main.append(pages.sparkline([1, 5, 2], 'a small line', 1));
const rows = [['a', 3], ['b', 20], ['c', 100], [MARKUP, 7]];
for (let i = 0; i < 100; ++i) rows.push([`row ${i}`, 1000 + i]);
const named = rows.map(([name, number]) => ({name, number}));
const table = pages.table(main, {
  caption: 'Callers', filter: 'Filter callers', sort: 'number', rows: named,
  columns: [{title: 'caller', key: 'name', head: true},
            {title: 'limited', key: 'number', number: true},
            {title: 'line', cell: () => pages.sparkline([1, 2], 'up', 2)}],
});
"""


@pytest.fixture(name="parts")
def open_parts(open_page, tmp_path):
    """A page that uses all parts, as files beside it."""
    for name in [*NAMES, "theme.css"]:
        (tmp_path / name).write_bytes((PAGES / name).read_bytes())
    (tmp_path / "use.js").write_text(
        "'use strict';\nconst MARKUP = " + repr(MARKUP) + ";\n" + USE,
        encoding="ascii")
    scripts = "".join(f"<script src={name}></script>"
                      for name in [*NAMES, "use.js"])
    file = tmp_path / "parts.html"
    file.write_text(
        "<!doctype html><html lang=en><title>Parts</title>"
        "<meta name=viewport content='width=device-width'>"
        "<link rel=stylesheet href=theme.css><header class=top></header>"
        f"<main></main>{scripts}", encoding="ascii")

    def open_it(**options):
        return open_page(file.as_uri(), own=tmp_path.as_uri(), **options)

    return open_it


def titles(page):
    """The first column as it is shown."""
    return page.locator("tbody tr > th").all_inner_texts()


def test_sort_and_filter(parts):
    page = parts()
    assert titles(page)[:2] == ["row 99", "row 98"]  # large numbers first
    by_number = page.get_by_role("columnheader", name="limited")
    assert by_number.get_attribute("aria-sort") == "descending"
    by_number.get_by_role("button").click()
    assert by_number.get_attribute("aria-sort") == "ascending"
    assert titles(page)[:4] == ["a", MARKUP, "b", "c"]
    page.get_by_role("button", name="caller").click()
    assert by_number.get_attribute("aria-sort") is None
    assert page.get_by_role("status").inner_text() == "20 of 104 shown"
    page.get_by_role("button", name="Show more").click()
    assert len(titles(page)) == 104
    assert page.get_by_role("button", name="Show more").is_hidden()
    page.get_by_label("Filter callers").fill("ROW 9")
    assert titles(page) == ["row 9", *(f"row {i}" for i in range(90, 100))]
    assert page.get_by_role("status").inner_text() == (
        "11 of 11 shown, 104 in all")
    page.get_by_label("Filter callers").fill("onerror")
    assert titles(page) == [MARKUP]
    assert page.locator("img").count() == 0


def test_pointer_and_keys_show_numbers(parts):
    page = parts()
    chart = page.get_by_role("slider", name="Requests over time")
    legend = page.locator(".legend")
    assert "all of the time" in legend.inner_text()
    right = chart.bounding_box()["width"] - 10
    chart.hover(position={"x": right, "y": 50})
    assert legend.locator("li").all_inner_texts() == [
        "1970-01-01 05:00", "requests 40", f"{MARKUP} 0"]
    page.mouse.move(2, 2)
    assert "all of the time" in legend.inner_text()
    chart.focus()
    chart.press("ArrowRight")
    assert chart.get_attribute("aria-valuetext") == (
        f"1970-01-01 03:00: requests 2,000, {MARKUP} 5")
    chart.press("End")
    chart.press("ArrowRight")  # there is nothing beyond
    assert chart.get_attribute("aria-valuenow") == "3"
    chart.press("Home")
    assert "requests 10," in chart.get_attribute("aria-valuetext")


def test_other_data(parts):
    """What a page does that is alive."""
    page = parts()
    page.evaluate("chart.update(data([9, 9, 9, 9]))")
    assert "36" in page.locator(".legend").inner_text()
    page.evaluate("table.update([])")
    assert titles(page) == []
    page.evaluate("chart.update({begin: 0, step: 1, offset: 0,"
                  " series: [{name: 'x', tone: 1, values: []}]})")
    page.get_by_role("slider").press("ArrowRight")


def test_dark_and_narrow(parts):
    page = parts(color_scheme="dark", viewport={"width": 360, "height": 700})
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(ground)
    assert is_within_width(page)
    assert serious_findings(page) == []
    page.get_by_role("button", name="Light colours").click()
    assert page.evaluate(ground) == "rgb(255, 255, 255)" != dark
    assert serious_findings(page) == []
    page.get_by_role("button", name="Dark colours").click()
    assert page.evaluate(ground) == dark
