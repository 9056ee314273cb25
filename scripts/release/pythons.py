"""The headers of each CPython.

Only their text is used, so any build of the same version has the right ones for
all platforms: pyconfig.h is the one file that differs, and the compilers of all
platforms here have 64-bit pointers.
"""

import pathlib
import re
import shutil
import subprocess

import sources
from platforms import BUILD, PYTHONS
from run import ask, fail, run


def headers():
    """The include folder of each version in PYTHONS."""
    found = {number: interpreter_headers(number) or _packaged(number)
             for number in PYTHONS}
    missing = [number for number, folder in found.items() if folder is None]
    if missing:
        fail(f"needs the headers of CPython {', '.join(missing)}: put "
             f"python{missing[0]} on the PATH, for example with pyenv or uv")
    return {number: _alone(number, folder) for number, folder in found.items()}


def interpreter(number):
    """The path of that Python on this machine, or None."""
    candidates = [shutil.which(f"python{number}")]
    candidates += sorted(pathlib.Path.home().glob(
        f".pyenv/versions/{number}.*/bin/python{number}"))
    for path in filter(None, candidates):
        # pyenv's shims are on the PATH for versions that are not chosen.
        done = subprocess.run([path, "-c", ""], check=False,
                              capture_output=True)
        if done.returncode == 0:
            return str(path)
    return None


def interpreter_headers(number):
    python = interpreter(number)
    if python is None:
        return None
    folder = pathlib.Path(ask(
        python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"))
    return folder if (folder / "Python.h").exists() else None


def _packaged(number):
    """From the package of the Debian release that has this version."""
    suite = PYTHONS[number]
    if suite is None:
        return None
    folder = BUILD / "headers" / f"{number}.package"
    found = folder / "usr" / "include" / f"python{number}"
    if (found / "Python.h").exists():
        return found
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    env = sources.apt(sources.lines("deb", suite))
    log = f"headers-{number}"
    run(log, ["apt-get", "--quiet", "update"], env=env)
    run(log, ["apt-get", "--quiet", "download", f"libpython{number}-dev"],
        cwd=folder, env=env)
    [package] = folder.glob("*.deb")
    run(log, ["dpkg-deb", "--extract", package, folder])
    package.unlink()
    return found


def _alone(number, folder):
    """A copy of the folder in which pyconfig.h is the real one: that of Debian
    includes the one of an architecture, where compilers for others do not
    look."""
    text = (folder / "pyconfig.h").read_text()
    name = re.search(r"<(x86_64-linux-gnu/\S+/pyconfig\.h)>", text)
    if name is None:
        return folder
    copy = BUILD / "headers" / number
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    shutil.copy(folder.parent / name[1], copy / "pyconfig.h")
    return copy
