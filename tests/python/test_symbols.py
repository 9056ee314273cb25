"""The module exports only its entry point."""

import os
import subprocess

import pytest

import limitree._native

NM = os.environ.get("LIMITREE_NM", "nm")


def test_exports():
    listing = subprocess.run(
        [NM, "-D", "--defined-only", limitree._native.__file__], check=True,
        capture_output=True, text=True).stdout
    # Except for the symbols that the linker adds.
    names = {line.split()[-1] for line in listing.splitlines()}
    assert names - {"_init", "_fini"} == {"PyInit__native"}


def test_two_copies_in_one_process(tmp_path):
    """Types are local to the module, so another copy of it can be loaded."""
    import importlib.util
    import shutil

    copy = tmp_path / os.path.basename(limitree._native.__file__)
    shutil.copy(limitree._native.__file__, copy)
    spec = importlib.util.spec_from_file_location("other._native", copy)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    assert other.Limiter is not limitree._native.Limiter
    limiter = other.Limiter([(b"schema: {a: {}}", b"x")], {}, None, False,
                            ([], False), (None, False))
    assert limiter.authorize("a").unlimited
    with pytest.raises(TypeError):
        limitree._native.Limiter.authorize(limiter, "a")
