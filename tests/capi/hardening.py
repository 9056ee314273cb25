"""Checks that the shared library is hardened as cmake/flags.cmake says.

Usage: hardening.py <liblimitree.so> <objdump>
"""

import platform
import re
import subprocess
import sys

# The first instruction of a function if the processor checks jumps.
LANDING = {"x86_64": "endbr64", "aarch64": "(bti|paciasp)"}


def path_cost(*command):
    return subprocess.run(command, check=True, capture_output=True,
                          text=True).stdout


def wrong_with(library, objdump):
    code = path_cost(objdump, "-d", "--no-show-raw-insn",
               "--disassemble=limitree_version", library)
    landing = LANDING.get(platform.machine(), "")
    if not re.search(r"<limitree_version[^>]*>:\n\s*[0-9a-f]+:\s+" + landing,
                     code):
        yield f"limitree_version does not begin with {landing}"
    headers = path_cost(objdump, "-p", library)
    if "RELRO" not in headers:
        yield "the library has no RELRO segment"
    if not re.search(r"FLAGS\s+0x0*8\b", headers):  # DF_BIND_NOW
        yield "the library binds symbols late"
    if not re.search(r"STACK.*\n.*flags rw-\n", headers):
        yield "the stack of the library may be executed"
    if "__stack_chk_fail" not in path_cost(objdump, "-T", library):
        yield "the library has no stack protector"


if __name__ == "__main__":
    sys.exit("\n".join(wrong_with(*sys.argv[1:])) or 0)
