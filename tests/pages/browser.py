"""A headless Chromium for tests of pages: one browser for all tests of a
program, and a new profile for each page.

A page is watched: it may ask only its own origin, and may write no error to the
console; a broken policy of CSP is such an error.  Other folders of tests use it
with

    sys.path.insert(0, str(TESTS / "pages"))
    from browser import make_browser, make_open_page  # noqa: F401

which gives the fixture open_page(url, **options of a context).
"""

import json
import pathlib
import shutil

import pytest
from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"

#: Milliseconds; long, for a busy machine.
PATIENT = 60_000


class Watched:
    """A page and what it did that it should not have done."""

    def __init__(self, page, own, expected):
        self.page = page
        self.wrong = []
        self.expected = expected
        page.set_default_timeout(PATIENT)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("dialog", self._on_dialog)
        page.on("request", lambda request: self._on_request(request, own))

    def _on_console(self, message):
        if (message.type in ("error", "warning")
                and not any(one in message.text for one in self.expected)):
            self.wrong.append(f"console: {message.text}")

    def _on_dialog(self, dialog):
        self.wrong.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def _on_request(self, request, own):
        if not request.url.startswith(own):
            self.wrong.append(f"a request of {request.url}")


@pytest.fixture(name="browser", scope="session")
def make_browser():
    program = shutil.which("chromium")
    assert program, "chromium is missing: ./dev setup installs it"
    with sync_playwright() as playwright:
        # Its sandbox needs what containers forbid, and the pages are our own.
        browser = playwright.chromium.launch(
            executable_path=program, chromium_sandbox=False,
            args=["--disable-gpu"])
        yield browser
        browser.close()


@pytest.fixture(name="open_page")
def make_open_page(browser):
    """open_page(url, own=None, **options) returns a page of Playwright.  It may
    ask what begins with `own`: the origin of the url, or the file itself.  The
    console may tell of what is `expected`, such as "status of 404".  The
    options are those of a context, such as color_scheme="dark".  When the test
    ends, no page may have done what Watched forbids."""
    opened = []

    def open_page(url, own=None, expected=(), **options):
        options.setdefault("viewport", {"width": 1000, "height": 800})
        context = browser.new_context(**options)
        if own is None:
            own = url if url.startswith("file:") else "/".join(
                url.split("/")[:3]) + "/"
        opened.append((context, Watched(context.new_page(), own, expected)))
        page = opened[-1][1].page
        page.goto(url)
        return page

    yield open_page
    for context, watched in opened:
        context.close()
    wrong = [one for _, watched in opened for one in watched.wrong]
    assert not wrong, wrong


def serious_findings(page):
    """What axe-core finds that is serious or critical, as texts.  A policy of
    the page does not stop what the debugger runs."""
    debugger = page.context.new_cdp_session(page)

    def run(source):
        answer = debugger.send("Runtime.evaluate", {
            "expression": source, "awaitPromise": True, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    # Without `preload`, which would request the style sheets again.
    run(AXE.read_text(encoding="utf-8") + "; 0")
    found = json.loads(run("axe.run({preload: false}).then((one) =>"
                           " JSON.stringify({passes: one.passes.length,"
                           " violations: one.violations}))"))
    assert found["passes"] > 5  # it has looked at something
    return [f"{one['id']}: {one['help']}: {node['html']}"
            for one in found["violations"]
            if one["impact"] in ("serious", "critical")
            for node in one["nodes"]]


def is_within_width(page):
    """Whether nothing makes the page wider than the window."""
    return page.evaluate("document.documentElement.scrollWidth"
                         " <= document.documentElement.clientWidth")
