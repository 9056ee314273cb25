"""Makes the pictures of docs/replay.md and of README.md: reports of the example
log, in a headless Chromium.

Usage, after `./dev build` and with the Python of the tests:

    build/venv/bin/python scripts/docs_pictures.py build/release
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[1]
PATHS = ["--path", "ip,{remote_addr}", "--path", "route,{method},{path}"]
WEB = ROOT / "examples" / "web" / "limits.yaml"


def write_report(build, folder, name, *more):
    file = folder / name
    subprocess.run([pathlib.Path(build).resolve() / "bindings/cli/limitree",
                    "replay", WEB.relative_to(ROOT), "examples/access.log.gz",
                    *PATHS, "--html", file, *more],
                   check=True, stdout=subprocess.DEVNULL, cwd=ROOT)
    return file.as_uri()


def main():
    docs = ROOT / "docs"
    with tempfile.TemporaryDirectory() as name, sync_playwright() as play:
        folder = pathlib.Path(name)
        enforced = folder / "enforced.yaml"
        enforced.write_text(WEB.read_text(encoding="utf-8").replace(
            ", mode: shadow", ""), encoding="utf-8")
        browser = play.chromium.launch(
            executable_path=shutil.which("chromium"), chromium_sandbox=False,
            args=["--disable-gpu"])
        page = browser.new_page(viewport={"width": 880, "height": 700})
        page.goto(write_report(build := sys.argv[1], folder, "report.html"))
        box = page.get_by_role("slider").first.bounding_box()
        page.mouse.move(box["x"] + 0.6225 * box["width"], box["y"] + 80)
        page.screenshot(path=docs / "report.png")
        page.set_viewport_size({"width": 880, "height": 560})
        page.goto(write_report(build, folder, "compare.html", "--compare",
                               enforced))
        page.get_by_text("enforced.yaml").first.evaluate(
            "(one) => { one.textContent ="
            " 'before: limits.yaml, after: enforced.yaml'; }")
        page.screenshot(path=docs / "compare.png")
        browser.close()


if __name__ == "__main__":
    main()
