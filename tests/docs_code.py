"""Compiles, runs or loads the code blocks of the documents.

  ```c, ```cpp   a program is compiled and run and must return 0; other code is
                 compiled as the body of a function that has what C_FRAGMENT
                 or CXX_FRAGMENT gives it; an excerpt of a source file must
                 stand there still
  ```yaml        a whole limits.yaml must pass `limitree check`, beside the
                 blocks of its page that are marked <!-- file users.csv -->
  ```sh          commands that begin with `limitree` are run in a copy of
                 examples/ and must succeed
  ```console     the same for what follows "$ "; the output must be as shown,
                 where a line "..." stands for any lines

An HTML comment on the line before a block says otherwise: <!-- fails --> for a
yaml file or commands that must be refused, <!-- not run --> for neither.

Usage: docs_code.py <root> <cc> <c++> <liblimitree.so> <limitree>
"""

import collections
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

Block = collections.namedtuple("Block", "place language text mark")
Tools = collections.namedtuple("Tools", "root cc cxx library command")

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.S | re.M)
MARK = re.compile(r"<!-- (fails|not run|file [\w.]+) -->\s*\Z")

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
FRAGMENT_WARNINGS = ["-Wno-unused-variable", "-Wno-unused-but-set-variable"]
# What an excerpt may take as given.
C_FRAGMENT = """#include <limitree.h>
#include <stdio.h>
#include <string.h>
limitree_str str(const char *text);
int too_many_requests(int64_t retry_after_ns);
int fragment(limitree_limiter *limiter, limitree_config *config,
             limitree_error *error);
int fragment(limitree_limiter *limiter, limitree_config *config,
             limitree_error *error) {
(void)limiter; (void)config; (void)error;
{
%s
}
return 0;
}
"""
CXX_FRAGMENT = """#include <array>
#include <cstdio>
#include <limitree.hpp>
#include <string>
void fragment(limitree::Limiter& limiter, limitree::Config& config);
void fragment(limitree::Limiter& limiter, limitree::Config& config) {
(void)limiter; (void)config;
%s
}
"""


def blocks_of(root):
    pages = sorted(root.glob("*.md")) + sorted((root / "docs").rglob("*.md"))
    for page in pages:
        text = page.read_text(encoding="utf-8")
        for match in FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            mark = MARK.search(text, 0, match.start())
            yield Block(f"{page.relative_to(root)}:{line}", match[1], match[2],
                        mark[1] if mark else "")


def run(command, cwd, **kwargs):
    """Returns the exit status and the output of a command."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=60, **kwargs)
    return done.returncode, done.stdout


def is_excerpt(block, tools):
    """Whether the block still stands in a source file."""
    for folder in ("core", "capi", "bindings", "examples"):
        for path in (tools.root / folder).rglob("*"):
            if path.suffix not in {".c", ".h", ".cpp", ".hpp"}:
                continue
            if block.text in path.read_text(encoding="utf-8"):
                return True
    return False


def wrong_with_code(block, tools, work):
    """Returns what is wrong with a block of C or C++, or None."""
    if is_excerpt(block, tools):
        return None
    is_c = block.language == "c"
    is_program = re.search(r"\bint main\(", block.text)
    text = block.text
    if not is_program:
        text = (C_FRAGMENT if is_c else CXX_FRAGMENT) % text
    source = work / ("block.c" if is_c else "block.cpp")
    source.write_text(text, encoding="utf-8")
    command = [tools.cc, "-std=c99"] if is_c else [tools.cxx, "-std=c++20"]
    command += WARNINGS + [f"-I{tools.root / 'capi'}",
                           f"-I{tools.root / 'bindings'}", str(source)]
    if not is_program:
        command += FRAGMENT_WARNINGS + ["-fsyntax-only"]
    else:
        command += ["-o", "block", str(tools.library),
                    f"-Wl,-rpath,{tools.library.parent}"]
    status, output = run(command, work)
    if status == 0 and is_program:
        status, output = run(["./block"], work)
    return None if status == 0 else output or f"exit status {status}"


def files_beside(block, root):
    """Yields the files that the page of a block shows, by name."""
    page = block.place.rpartition(":")[0]
    for other in blocks_of(root):
        if other.place.startswith(page + ":"):
            word, _, name = other.mark.partition(" ")
            if word == "file":
                yield name, other.text


def wrong_with_yaml(block, tools, work):
    """Returns what is wrong with a limits.yaml, or None."""
    if not re.match(r"(#.*\n|\s*\n)*schema:", block.text):
        return None  # a part of one
    for name, content in files_beside(block, tools.root):
        (work / name).write_text(content, encoding="utf-8")
    (work / "limits.yaml").write_text(block.text, encoding="utf-8")
    status, output = run([tools.command, "check", "limits.yaml"], work)
    if block.mark == "fails":
        return None if status == 1 else f"exit status {status}\n{output}"
    return None if status == 0 else output


def commands_of(block):
    """Returns the commands of a block, each with the output shown or None."""
    text = block.text.replace("\\\n", " ")
    if block.language == "sh":
        return [(line, None) for line in text.splitlines()]
    found = []
    for line in text.splitlines(keepends=True):
        if line.startswith("$ "):
            found.append([line[2:].strip(), ""])
        elif found:
            found[-1][1] += line
    return found


def is_like(shown, output):
    """Whether `output` is what a document shows, "..." being any lines."""
    parts = [re.escape(part) for part in re.split(r"^\.\.\.\n", shown,
                                                  flags=re.M)]
    return re.fullmatch(r"(?:.*\n)*?".join(parts), output) is not None


def wrong_with_commands(block, tools, work):
    """Returns what is wrong with commands, or None."""
    scratch = work / "scratch"
    shutil.copytree(tools.root / "examples", scratch)
    shutil.copytree(tools.root / "examples", scratch / "examples")
    path = f"{pathlib.Path(tools.command).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}
    for command, shown in commands_of(block):
        words = shlex.split(command, comments=True)
        if not words or words[0] != "limitree":
            continue
        status, output = run(["sh", "-c", command], scratch, env=environment)
        if (status == 0) == (block.mark == "fails"):
            return f"{command}\nexit status {status}\n{output}"
        if shown is not None and not is_like(shown, output):
            return f"{command}\nshown:\n{shown}\nis:\n{output}"
    return None


CHECKS = {
    "c": wrong_with_code,
    "cpp": wrong_with_code,
    "yaml": wrong_with_yaml,
    "sh": wrong_with_commands,
    "console": wrong_with_commands,
}


def main():
    root, cc, cxx, library, command = sys.argv[1:]
    tools = Tools(pathlib.Path(root), cc, cxx, pathlib.Path(library), command)
    bad, tried = [], 0
    for block in blocks_of(tools.root):
        check = CHECKS.get(block.language)
        if check is None or block.mark == "not run":
            continue
        tried += 1
        with tempfile.TemporaryDirectory() as work:
            wrong = check(block, tools, pathlib.Path(work))
        if wrong:
            bad.append(f"{block.place}: {block.language}\n{wrong}")
    print(f"{tried} blocks")
    sys.exit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
