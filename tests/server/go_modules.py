"""Files of Go modules, which other projects publish."""

import functools
import json
import pathlib
import shutil
import subprocess


@functools.cache
def go_module(name):
    """The folder of a module, "example.com/name@v1.2.3", which is downloaded
    the first time.  None if there is no Go."""
    if shutil.which("go") is None:
        return None
    done = subprocess.run(["go", "mod", "download", "-json", name], text=True,
                          capture_output=True, check=False, cwd="/")
    told = json.loads(done.stdout or "{}")
    assert done.returncode == 0, told.get("Error", done.stderr)
    return pathlib.Path(told["Dir"])
