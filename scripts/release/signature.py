"""Checks the signature of a library for macOS: on Apple silicon no unsigned one
is loaded.  It is "ad hoc", hashes of all pages without a certificate.

https://github.com/apple-oss-distributions/xnu, osfmk/kern/cs_blobs.h, has the
structures.
"""

import hashlib
import struct

_LC_CODE_SIGNATURE = 0x1D
_SUPER_BLOB, _CODE_DIRECTORY = 0xFADE0CC0, 0xFADE0C02
_SHA256 = 2


def problem(binary):
    """What is wrong with the signature of a 64-bit Mach-O file, or ""."""
    place = _place(binary)
    if place is None:
        return "is not signed"
    magic, _, count = struct.unpack_from(">III", binary, place)
    if magic != _SUPER_BLOB:
        return "has no signature where its header says so"
    for index in range(count):
        _, offset = struct.unpack_from(">II", binary, place + 12 + 8 * index)
        start = place + offset
        if struct.unpack_from(">I", binary, start)[0] == _CODE_DIRECTORY:
            return _wrong_page(binary, start, place)
    return "has a signature without hashes"


def _place(binary):
    """Where the signature is."""
    count, = struct.unpack_from("<I", binary, 16)
    offset = 32
    for _ in range(count):
        command, size = struct.unpack_from("<II", binary, offset)
        if command == _LC_CODE_SIGNATURE:
            return struct.unpack_from("<I", binary, offset + 8)[0]
        offset += size
    return None


def _wrong_page(binary, start, end):
    """`start` is that of the directory, `end` that of all signatures."""
    hashes, _, _, pages, limit = struct.unpack_from(">IIIII", binary,
                                                    start + 16)
    size, kind, _, exponent = struct.unpack_from(">BBBB", binary, start + 36)
    page = 1 << exponent
    if kind != _SHA256 or limit != end or pages != -(-limit // page):
        return "has a signature of another file"
    for index in range(pages):
        content = binary[index * page:min((index + 1) * page, limit)]
        at = start + hashes + index * size
        if hashlib.sha256(content).digest()[:size] != binary[at:at + size]:
            return f"has a wrong hash of page {index} in its signature"
    return ""
