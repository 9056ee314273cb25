"""The page /ui of `limitree serve`, with real traffic."""

import json
import sys
import urllib.error
import urllib.request

import pytest
from browser import ROOT, is_within_width, serious_findings

sys.path.insert(0, str(ROOT / "tests" / "server"))
from service import Service  # noqa: E402

TOKEN = "a-token-of-24-characters"
MARKUP = "<img src=x onerror=alert(1)></script><script>alert(2)</script>"
LIMITS = """\
schema:
  user:
    children:
      "*":
        limits: 100/hour
        children:
          trade: {limits: 3/hour}
  "<img src=x onerror=alert(3)>": {limits: {count: 1, period: 1h, mode: shadow}}
"""


def start(folder, *words):
    (folder / "limits.yaml").write_text(LIMITS, encoding="utf-8")
    return Service(folder / "limits.yaml", "--http-listen", "127.0.0.1:0",
                   "--admin-listen", "127.0.0.1:0", "--workers", "2", *words)


@pytest.fixture(name="service", scope="module")
def make_service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("live")
    (folder / "token").write_text(TOKEN, encoding="ascii")
    service = start(folder, "--admin-token-file", folder / "token")
    for _ in range(5):
        authorize(service, "user", "alex", "trade")
    for _ in range(4):
        authorize(service, "user", "alex:trade", "trade")
    for _ in range(3):
        authorize(service, "user", MARKUP, "trade", cost=2)
        authorize(service, "<img src=x onerror=alert(3)>")
    yield service
    service.kill()


def post(url, body, headers=None):
    request = urllib.request.Request(
        url, json.dumps(body).encode(),
        {"content-type": "application/json", **(headers or {})})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as error:
        text = error.read().decode()
        return error.code, json.loads(text) if "{" in text else text


def authorize(service, *segments, cost=1):
    return post(service.http[0] + "/v1/authorize",
                {"paths": [segments], "cost": cost})


def row(page, table, name):
    return page.get_by_role("region", name=table).get_by_role(
        "row").filter(has_text=name)


def open_ui(open_page, service, **options):
    page = open_page(service.admin[0] + "/ui", **options)
    page.get_by_text("as of ").wait_for()
    return page


def test_shows_traffic(open_page, service):
    page = open_ui(open_page, service)
    # The next sample, five seconds later at most, has it.
    row(page, "Limits, in the last minute", "user:*/trade").wait_for()
    name = "Limits, in the last minute"
    assert row(page, name, "<img%20src=x%20onerror=alert(3)>").count() == 1
    callers = "Callers that are limited now"
    alex = row(page, callers, "user:alex:trade")
    assert alex.get_by_role("cell").all_inner_texts() == ["2", "0"]
    # These do not look like other paths.
    assert row(page, callers, "user:alex%3Atrade:trade").count() == 1
    markup = MARKUP.replace(" ", "%20").replace("=", "%3D")
    assert row(page, callers, f"user:{markup}:trade").count() == 1
    chart = page.get_by_role("slider", name="Requests a second")
    chart.focus()
    page.keyboard.press("End")
    assert "limited" in chart.get_attribute("aria-valuetext")
    assert page.locator("img, main script").count() == 0
    page.get_by_role("button", name="Show the tree").click()
    tree = page.get_by_role("region", name="The tree of limits")
    assert "<img src=x onerror=alert(3)>" in tree.inner_text()
    page.get_by_label("Only lines with").fill("trade")
    assert tree.inner_text().strip().startswith("trade")


def test_tries_a_path_and_resets_it_by_keyboard(open_page, service):
    # Chromium counts these answers as errors of the page.
    page = open_ui(open_page, service, expected=(
        "status of 429", "status of 401", "status of 404"))
    page.get_by_role("button", name="user:alex:trade").focus()
    page.keyboard.press("Enter")
    field = page.get_by_role("textbox", name="Path")
    assert field.input_value() == "user:alex:trade"
    page.keyboard.press("Enter")  # it has the focus
    page.get_by_text("It would be limited now.").wait_for()
    level = row(page, "Limits on the path", "user:*/trade")
    assert level.get_by_role("cell").all_inner_texts()[:3] == [
        "limited", "0", "3"]
    page.get_by_label("Admin token").fill("another-token-of-some-length")
    page.keyboard.press("Enter")
    page.get_by_text("Not done: this needs the token").wait_for()
    assert authorize(service, "user", "alex", "trade")[0] == 429
    page.get_by_label("Admin token").fill(TOKEN)
    page.keyboard.press("Enter")
    page.get_by_text("Reset. It would be allowed now.").wait_for()
    assert level.get_by_role("cell").all_inner_texts()[:3] == [
        "allowed", "2", "3"]
    field.fill("user:%")
    page.keyboard.press("Enter")
    page.get_by_text("The path has a wrong %XX.").wait_for()
    field.fill("nobody")
    page.keyboard.press("Enter")
    page.get_by_text("Not done:").wait_for()


def test_asks_again_only_after_an_answer(open_page, service):
    page = open_ui(open_page, service)
    held = []
    page.route("**/ui/data.json", lambda route: held.append(route))
    shows = "document.dispatchEvent(new Event('visibilitychange'))"
    with page.expect_request("**/ui/data.json"):
        page.evaluate(shows)
    page.evaluate(f"{shows}; {shows}")
    page.evaluate("fetch('ui/style.css').then((one) => one.text())")
    assert len(held) == 1
    with page.expect_request("**/ui/data.json"):
        held[0].continue_()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_fits_a_phone_and_has_no_serious_findings(open_page, service, scheme,
                                                  tmp_path):
    page = open_ui(open_page, service, color_scheme=scheme,
                   viewport={"width": 360, "height": 700})
    row(page, "Limits, in the last minute", "user:*/trade").wait_for()
    page.get_by_role("button", name="Show the tree").click()
    page.get_by_role("region", name="The tree of limits").wait_for()
    assert is_within_width(page)
    assert serious_findings(page) == []
    page.screenshot(path=tmp_path / f"live-{scheme}.png", full_page=True)


def test_only_the_token_resets(service):
    url = service.admin[0] + "/v1/reset"
    path = {"paths": [["user", "alex", "trade"]]}
    assert post(url, path)[0] == 401
    bearer = {"authorization": f"Bearer {TOKEN}"}
    for headers, status in [({"origin": "http://evil.example"}, 403),
                            ({"host": "evil.example"}, 403),
                            ({"content-type": "text/plain"}, 415)]:
        assert post(url, path, {**bearer, **headers})[0] == status
    assert post(url, path, bearer)[0] == 200


def test_without_a_token_it_is_read_only(open_page, tmp_path):
    service = start(tmp_path)
    try:
        assert post(service.admin[0] + "/v1/reset",
                    {"paths": [["user", "alex"]]})[0] == 403
        assert post(service.admin[0] + "/v1/spend",
                    {"paths": [["user", "alex"]]})[0] == 404
        page = open_ui(open_page, service)
        page.get_by_text("Buckets can be reset here if").wait_for()
        assert page.get_by_label("Admin token").is_hidden()
    finally:
        service.kill()


def test_says_what_a_browser_may_do(service):
    for path in ("/ui", "/ui/live.js", "/ui/pages.js", "/ui/style.css",
                 "/ui/data.json"):
        with urllib.request.urlopen(service.admin[0] + path,
                                    timeout=60) as answer:
            policy = answer.headers["content-security-policy"]
            assert "default-src 'none'" in policy
            assert "frame-ancestors 'none'" in policy
            assert "unsafe" not in policy
            assert answer.headers["x-content-type-options"] == "nosniff"
