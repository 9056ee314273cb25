"""Compiles, runs or loads the code blocks of the documents.

  ```c, ```cpp   a program is compiled and run and must return 0; other code is
                 compiled as the body of a function that has what C_FRAGMENT
                 or CXX_FRAGMENT gives it; an excerpt of a source file must
                 still be in that file
  ```yaml        a whole limits.yaml must pass `limitree check`, beside the
                 files that its page gives
  ```sh          commands that begin with `limitree` are run in a folder that
                 holds the files the page has given so far, and must succeed
  ```console     the same for what follows "$ "; the output must be as shown,
                 where a line "..." stands for any lines

An HTML comment on the line before a block changes this: <!-- fails --> marks a
yaml file or commands that must be refused, <!-- not run --> a block to skip.

Usage: docs_code.py <root> <cc> <c++> <liblimitree.so> <limitree>
"""

import collections
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

import docs_blocks

Tools = collections.namedtuple("Tools", "root cc cxx library command")

WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
FRAGMENT_WARNINGS = ["-Wno-unused-variable", "-Wno-unused-but-set-variable"]
# The declarations that a fragment may use.
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


def run(command, cwd, **kwargs):
    """Returns the exit status and the output of a command."""
    done = subprocess.run(command, cwd=cwd, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False,
                          timeout=60, **kwargs)
    return done.returncode, done.stdout


def is_excerpt(block, tools):
    """Whether the block is still part of a source file."""
    for folder in ("core", "io", "capi", "bindings", "examples", "tests"):
        for path in (tools.root / folder).rglob("*"):
            if path.suffix not in {".c", ".h", ".cpp", ".hpp"}:
                continue
            if block.text in path.read_text(encoding="utf-8"):
                return True
    return False


def wrong_with_code(block, tools, _, work):
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


def wrong_with_yaml(block, tools, _, work):
    """Returns what is wrong with a limits.yaml, or None."""
    if not re.match(r"(#.*\n|\s*\n)*schema:", block.text):
        return None  # a part of one
    for other in docs_blocks.blocks_of(tools.root, block.page):
        if other.file:
            docs_blocks.save(other, work)
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


def wrong_with_commands(block, tools, folder, _):
    """Returns what is wrong with commands, or None."""
    path = f"{pathlib.Path(tools.command).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "LC_ALL": "C.UTF-8"}
    for command, shown in commands_of(block):
        words = shlex.split(command, comments=True)
        if not words or words[0] != "limitree":
            continue
        command = docs_blocks.in_folder(command, folder)
        status, output = run(["sh", "-c", command], folder, env=environment)
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


def check_page(page, tools, folder):
    """Follows a page in an empty folder.

    Returns how many blocks were tried, and what was wrong with them.
    """
    bad, tried = [], 0
    for block in docs_blocks.blocks_of(tools.root, page):
        if block.file:
            docs_blocks.save(block, folder)
        check = CHECKS.get(block.language)
        if check is None or block.mark == "not run":
            continue
        tried += 1
        with tempfile.TemporaryDirectory() as work:
            wrong = check(block, tools, folder, pathlib.Path(work))
        if wrong:
            bad.append(f"{page}:{block.line}: {block.language}\n{wrong}")
    return tried, bad


def main():
    root, cc, cxx, library, command = sys.argv[1:]
    tools = Tools(pathlib.Path(root), cc, cxx, pathlib.Path(library), command)
    bad, tried = [], 0
    for page in docs_blocks.list_pages(tools.root):
        with tempfile.TemporaryDirectory() as folder:
            count, wrong = check_page(page, tools, pathlib.Path(folder))
        tried += count
        bad.extend(wrong)
    print(f"{tried} blocks")
    sys.exit("\n".join(bad) or 0)


if __name__ == "__main__":
    main()
