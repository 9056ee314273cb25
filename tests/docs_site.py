"""Checks the site that `./dev docs` has built.

  links      every link and image leads to a file of the site, and every
             anchor to an element of that page
  markup     no Markdown is left: a list without an empty line above it, a table
             or a block that was not understood
  reference  every function of limitree.h and every export of the packages is
             there

Usage: docs_site.py <root> <site>
"""

import html.parser
import json
import pathlib
import re
import sys
import urllib.parse

LEFT = re.compile(r"^(\* |\d\. |\|.*\|$|```|:::)", re.M)
NOT_TEXT = {"code", "pre", "script", "style"}
CHECKED = {("a", "href"), ("link", "href"), ("img", "src"), ("script", "src")}


class Page(html.parser.HTMLParser):
    """Collects the links, ids and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.text = [], set(), []
        self._open = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.add(value)
            elif (tag, name) in CHECKED and value:
                self.links.append(value)
        if tag in NOT_TEXT:
            self._open.append(tag)

    def handle_endtag(self, tag):
        if self._open and self._open[-1] == tag:
            self._open.pop()

    def handle_data(self, data):
        if not self._open:
            self.text.append(data)


def wrong_link(site, pages, file, link):
    """Returns what is wrong with a link of a page, or None."""
    url = urllib.parse.urlsplit(link)
    if url.scheme or url.netloc:
        return None
    path = urllib.parse.unquote(url.path)
    target = file if not path else (
        site / path[1:] if path.startswith("/") else file.parent / path)
    target = target.resolve()
    if target.is_dir():
        target /= "index.html"
    if not target.exists():
        return f"there is no {link}"
    anchor = urllib.parse.unquote(url.fragment)
    if anchor and anchor not in pages[target].ids:
        return f"nothing has the anchor of {link}"
    return None


def wrong_reference(root, site):
    """Yields what the reference leaves out."""
    header = (root / "capi/limitree.h").read_text(encoding="utf-8")
    names = {"c": re.findall(r"^LIMITREE_API[^;]*?\b(limitree_\w+)\(", header,
                             re.M)}
    code = (root / "node/src/index.ts").read_text(encoding="utf-8")
    names["node"] = [one.strip() for block in
                     re.findall(r"^export (?:type )?{(.*?)}", code, re.M | re.S)
                     for one in block.split(",") if one.strip()]
    package = json.loads((root / "package.json").read_text(encoding="utf-8"))
    names["node"] += [f"limitree{entry[1:]}" for entry in package["exports"]
                      if not entry.endswith(".json")]
    code = (root / "python/limitree/__init__.py").read_text(encoding="utf-8")
    names["python"] = [f"limitree.{name}" for name in
                       re.findall(r'^    "([a-zA-Z]\w+)",$', code, re.M)]
    for page, found in names.items():
        text = (site / "reference" / page / "index.html").read_text(
            encoding="utf-8")
        headings = re.findall(r'<h[23] id="([^"]+)".*?</h[23]>', text, re.S)
        shown = set(headings) | set(re.findall(
            r"<h[23][^>]*><code>([^<]+)</code>", text))
        assert found, page
        for name in found:
            if name not in shown:
                yield f"reference/{page}: leaves out {name}"


def check(root, site):
    """Returns one line for each thing that is wrong."""
    pages = {file.resolve(): Page(file.read_text(encoding="utf-8"))
             for file in site.rglob("*.html")}
    bad = []
    for file, page in sorted(pages.items()):
        name = file.relative_to(site.resolve()).as_posix()
        for link in page.links:
            wrong = wrong_link(site, pages, file, link)
            if wrong:
                bad.append(f"{name}: {wrong}")
        for left in LEFT.finditer("".join(page.text)):
            bad.append(f"{name}: Markdown is left: {left[0]}")
    return bad + list(wrong_reference(root, site))


def main():
    root, site = map(pathlib.Path, sys.argv[1:])
    bad = check(root, site)
    print(f"{len(list(site.rglob('*.html')))} pages")
    sys.exit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
