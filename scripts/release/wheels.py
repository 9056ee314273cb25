"""Makes the wheels of a platform: one for each CPython, all with the same
library inside."""

import base64
import configparser
import hashlib
import io
import pathlib
import sys
import tarfile
import time
import tomllib
import zipfile

import compilation
import pythons
import sbom
from platforms import BUILD, ROOT, version
from run import ask, epoch, run

DIST = BUILD / "dist"


def sdist_path():
    return DIST / f"limitree-{version()}.tar.gz"


def sdist():
    """Makes the source package."""
    made = sdist_path()
    DIST.mkdir(parents=True, exist_ok=True)
    made.unlink(missing_ok=True)
    run("sdist", [sys.executable, "-m", "build", "--sdist", "--outdir", DIST],
        cwd=ROOT, env={"SOURCE_DATE_EPOCH": str(epoch())})


def build(platform, sources):
    """Makes the wheels for all versions of CPython; returns their paths."""
    made = []
    for number, headers in pythons.headers().items():
        module = compilation.module(
            platform, "limitree_python", "package/limitree/_native.so", [
                "LIMITREE_PYTHON=ON",
                f"LIMITREE_PYTHON_HEADERS={headers};{_pybind11_headers()}"])
        made.append(_wheel(platform, number, module, sources))
    return made


def _pybind11_headers():
    return ask(sys.executable, "-c",
               "import pybind11; print(pybind11.get_include())")


def tag(number):
    """"cp312" for "3.12"."""
    return "cp" + number.replace(".", "")


def path(platform, number):
    return DIST / (f"limitree-{version()}-{tag(number)}-{tag(number)}-"
                   f"{platform.wheel}.whl")


def _wheel(platform, number, module, sources):
    python = tag(number)
    name = f"limitree-{version()}"
    info = f"{name}.dist-info"
    suffix = f"cpython-{number.replace('.', '')}-{platform.extension}"
    files = {}
    package = ROOT / "python" / "limitree"
    for file in sorted(package.rglob("*")):
        inside = file.relative_to(package.parent)
        if file.is_file() and "__pycache__" not in inside.parts:
            files[str(inside)] = file.read_bytes()
    files[f"limitree/_native.{suffix}"] = module.read_bytes()
    metadata, entry_points = _metadata()
    headers = _pybind11()
    files[f"{info}/METADATA"] = metadata
    files[f"{info}/WHEEL"] = (
        "Wheel-Version: 1.0\nGenerator: limitree\nRoot-Is-Purelib: false\n" +
        "".join(f"Tag: {python}-{python}-{one}\n"
                for one in platform.wheel.split("."))).encode()
    files[f"{info}/entry_points.txt"] = entry_points
    files[f"{info}/licenses/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/licenses/THIRD-PARTY.txt"] = sbom.notices(
        sources, (headers[0], headers[-1])).encode()
    # https://peps.python.org/pep-0770/ has the place.
    files[f"{info}/sboms/limitree.cdx.json"] = sbom.bom(
        "limitree", f"pkg:pypi/limitree@{version()}",
        sbom.components(sources, headers[:-1])).encode()
    return _write(path(platform, number), info, files)


def _metadata():
    """What the source package says of itself."""
    with tarfile.open(sdist_path()) as archive:
        top = f"limitree-{version()}"
        text = archive.extractfile(f"{top}/PKG-INFO").read()
        project = archive.extractfile(f"{top}/pyproject.toml").read().decode()
    points = configparser.ConfigParser()
    points.read_dict(tomllib.loads(project)["project"]["entry-points"])
    out = io.StringIO()
    points.write(out)
    return text, out.getvalue().encode()


def _pybind11():
    """Name, version, licence and kind of package of pybind11, and the path of
    the text of its licence."""
    from importlib import metadata
    found = metadata.distribution("pybind11")
    [text] = [one for one in found.files if one.name == "LICENSE"]
    return ("pybind11", found.version, "BSD-3-Clause", "pypi",
            pathlib.Path(found.locate_file(text)))


def _write(to, info, files):
    """Writes a zip file.  The same files give the same bytes."""
    record = []
    for name, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
        record.append(f"{name},sha256={digest.rstrip(b'=').decode()},"
                      f"{len(content)}\n")
    record.append(f"{info}/RECORD,,\n")
    files = {**files, f"{info}/RECORD": "".join(record).encode()}
    made = time.gmtime(epoch())[:6]
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED,
                         compresslevel=9) as archive:
        for name, content in files.items():
            entry = zipfile.ZipInfo(name, made)
            entry.compress_type = zipfile.ZIP_DEFLATED
            mode = 0o755 if ".so" in pathlib.PurePath(name).suffixes else 0o644
            entry.external_attr = (0o100000 | mode) << 16
            archive.writestr(entry, content)
    return to
