"""The code blocks of the documents, followed as a new reader does: from the top
of a page to its end, in an empty folder.

A block is a file of that folder if its first line is a comment that begins with
the file's name (`# limits.yaml`), or if <!-- file NAME --> stands above it.
"""

import collections
import re

# `file` is the file's name, or empty.
Block = collections.namedtuple("Block", "page line language text mark file")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
MARK = re.compile(r"<!-- (fails|not run|file [\w.]+) -->\s*\Z")
STORE = re.compile(r"shm://(?=\w)")
NAMED = re.compile(r"(?:#|//) ([\w-]+\.(?:yaml|csv|py|mjs))(?=[:\n])")


def list_pages(root):
    """Returns the names of all pages, relative to `root`."""
    pages = sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md"))
    return [page.relative_to(root).as_posix() for page in pages]


def blocks_of(root, page):
    """Yields the blocks of a page in their order."""
    text = (root / page).read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        found = MARK.search(text, 0, match.start())
        mark = found[1] if found else ""
        named = NAMED.match(match[2])
        file = mark[len("file "):] if mark.startswith("file ") else (
            named[1] if named else "")
        yield Block(page, line, match[1], match[2], mark, file)


def in_folder(text, folder):
    """Returns `text` with the names in shm:// as files of `folder`, so that
    pages leave nothing behind."""
    return STORE.sub(f"shm://{folder}/", text)


def save(block, folder):
    """Saves a block that is a file."""
    (folder / block.file).write_text(block.text, encoding="utf-8")
