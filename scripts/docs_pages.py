"""The pages of the site outside docs/: pages of the root, and the reference.

Pages link to files of the repository, so that the links work there, too.  Here
they become links of the site, or of the repository if a file is not part of the
site.
"""

import pathlib
import re
import sys

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "scripts"))
import docs_reference  # noqa: E402

#: Files outside docs/, and the page of the site that shows each.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changes.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "capi/limitree.h": "reference/c.md",
}
TYPES = ROOT / "build/docs/types"
CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.S | re.M)
LINK = re.compile(r"\]\(([^)#\s:]+)(#[^)\s]*)?\)")


def on_files(files, config):
    """Adds the pages that are not in docs/."""
    header = (ROOT / "capi/limitree.h").read_text(encoding="utf-8")
    made = {"reference/c.md": docs_reference.of_header(header),
            "reference/node.md": docs_reference.of_types(ROOT, TYPES),
            "reference/python.md": docs_reference.of_python(ROOT)}
    for name, page in PAGES.items():
        if page not in made:
            made[page] = (ROOT / name).read_text(encoding="utf-8")
    for page, text in made.items():
        files.append(File.generated(config, page, content=text))
    return files


def source_of(page):
    """Returns the file of the repository that a page of the site shows."""
    for name, shown in PAGES.items():
        if shown == page:
            return ROOT / name
    return ROOT / "docs" / page


def target_of(source, page, target, repository):
    """Returns where a link of a file leads in the site."""
    path = (source.parent / target).resolve()
    if not path.exists():
        return target  # mkdocs will complain
    name = path.relative_to(ROOT).as_posix()
    up = "../" * page.count("/")
    if name in PAGES:
        return up + PAGES[name]
    if name.startswith("docs/"):
        return up + name.removeprefix("docs/")
    kind = "tree" if path.is_dir() else "blob"
    return f"{repository}/{kind}/main/{name}"


def on_page_markdown(markdown, page, config, **_):
    """Turns links between files into links of the site."""
    if page.file.src_uri.startswith("reference/"):
        return markdown
    source = source_of(page.file.src_uri)

    def rewrite(match):
        target = target_of(source, page.file.src_uri, match[1],
                           config.repo_url.rstrip("/"))
        return f"]({target}{match[2] or ''})"

    parts, end = [], 0
    for code in CODE.finditer(markdown):
        parts += [LINK.sub(rewrite, markdown[end:code.start()]), code[0]]
        end = code.end()
    # A link may have code as its text, so its end stands in the next part.
    return "".join([*parts, LINK.sub(rewrite, markdown[end:])])
