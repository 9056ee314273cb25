"""pip makes an archive of the sources, and from it a wheel that works."""

import os
import pathlib
import subprocess
import sys
import tarfile
import venv
import zipfile

import pytest

ROOT = pathlib.Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tests"))
import docs_blocks  # noqa: E402

PROGRAM = """
import limitree
limiter = limitree.Limiter("schema: {job: {limits: [0, 1, 60]}}")
assert limiter.authorize("job").allowed and limiter.authorize("job").limited
print(limitree.__file__, limitree.__version__)
"""


# The application of docs/fastapi.md, started by the server's own command.
SERVED = """
import asgi_servers, httpx, sys
with asgi_servers.serve("uvicorn", "main:app", cwd=".") as (address, _):
    answers = [httpx.get(f"{address}/prices") for _ in range(4)]
    while answers[-1].status_code == 200 and len(answers) < 61:  # slow ones
        answers.append(httpx.get(f"{address}/prices"))
assert [one.status_code for one in answers[:3]] == [200, 200, 200], answers
assert answers[0].json() == {"btc": 1}
assert answers[-1].status_code == 429, answers
assert int(answers[-1].headers["retry-after"]) >= 1
"""


def first_program(page):
    """Returns the first Python program of a page."""
    return next(block.text for block in docs_blocks.blocks_of(ROOT, page)
                if block.language == "python")


def run(*command, fails=False, env=(), **keywords):
    """Runs a command without the package of the build folder."""
    environment = {name: value for name, value in os.environ.items()
                   if name != "PYTHONPATH"}
    environment.update(env)
    done = subprocess.run(list(map(str, command)), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=environment, **keywords)
    assert (done.returncode != 0) == fails, done.stdout
    return done.stdout


def environment_with(folder, *packages):
    """Returns the Python of a new environment with these, by this one's pip."""
    venv.create(folder / "venv")
    python = folder / "venv/bin/python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet",
        *packages)
    return python


@pytest.fixture(scope="module")
def sdist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sdist")
    run(sys.executable, "-c", "import sys; from scikit_build_core.build import "
        "build_sdist; build_sdist(sys.argv[1])", folder, cwd=ROOT)
    return next(folder.glob("limitree-*.tar.gz"))


@pytest.fixture(scope="module")
def wheel(sdist, tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder)
    sources = next(folder.iterdir())
    # In a folder as deep as that of the other build, with the same flags and
    # compiler, so that ccache, if installed, has the results.
    run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation",
        "--no-deps", "--no-index", "--wheel-dir", folder,
        "--config-settings=build-dir=build/wheel",
        "--config-settings=cmake.define.LIMITREE_WERROR=ON",
        "--config-settings=cmake.define.CMAKE_UNITY_BUILD=ON",
        "--config-settings=cmake.define.CMAKE_UNITY_BUILD_BATCH_SIZE=4",
        sources,
        env={"CC": "cc", "CXX": "c++", "CCACHE_BASEDIR": str(sources)})
    return next(folder.glob("limitree-*.whl"))


def test_archive_is_complete(sdist):
    with tarfile.open(sdist) as archive:
        names = {name.split("/", 1)[1] for name in archive.getnames()
                 if "/" in name}
    assert {"CMakeLists.txt", "LICENSE", "README.md", "capi/limitree.h",
            "python/limitree/py.typed", "PKG-INFO"} <= names
    assert not [name for name in names if name.startswith(("build/", ".git/"))]


def test_pip_shows_what_is_missing(sdist, tmp_path):
    shown = run(sys.executable, "-m", "pip", "wheel", "--no-build-isolation",
                "--no-deps", "--no-index", "--wheel-dir", tmp_path, sdist,
                fails=True, env={"PKG_CONFIG_LIBDIR": str(tmp_path)})
    words = " ".join(shown.split())  # CMake breaks lines
    assert ("limitree cannot be built without libyaml and hiredis: apt-get "
            "install libyaml-dev libhiredis-dev (Debian, Ubuntu)") in words
    assert "Traceback" not in shown


def test_wheel_has_what_it_needs(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    inside = {name.split("/", 1)[1] for name in names
              if name.startswith("limitree/")}
    package = ROOT / "python/limitree"
    sources = {str(path.relative_to(package)) for path in package.rglob("*")
               if path.is_file() and path.suffix != ".pyc"}
    native = {name for name in inside if name.endswith(".so")}
    assert len(native) == 1 and inside - native == sources
    assert {name.split("/")[0] for name in names} == {
        "limitree", wheel.name.rsplit("-", 3)[0] + ".dist-info"}


def test_wheel_works_in_an_empty_environment(wheel, tmp_path):
    python = environment_with(tmp_path, "--no-index", wheel)
    file, version = run(python, "-c", PROGRAM, cwd=tmp_path).split()
    assert file.startswith(str(tmp_path))
    assert version in wheel.name
    plugins = run(python, "-c", "from importlib.metadata import entry_points; "
                  "print(entry_points(group='pytest11')['limitree'].value)")
    assert plugins.strip() == "limitree.pytest_plugin"


def test_the_first_application_of_fastapi_md_is_served(wheel, tmp_path):
    python = environment_with(tmp_path, f"{wheel}[fastapi]", "uvicorn", "httpx",
                              "uvloop")
    (tmp_path / "main.py").write_text(first_program("docs/fastapi.md"))
    (tmp_path / "asgi_servers.py").write_bytes(
        (ROOT / "tests/python/asgi_servers.py").read_bytes())
    run(python, "-c", SERVED, cwd=tmp_path)


FLASK = """
from main import app
client = app.test_client()
found = [client.get("/search") for _ in range(5)]
while found[-1].status_code == 200 and len(found) < 101:  # on a slow machine
    found.append(client.get("/search"))
assert [one.status_code for one in found[:5]] == [200] * 5, found
assert found[0].text == "nothing found"
assert "view:search/*/5/1s" in found[0].headers["RateLimit"], found[0].headers
assert found[-1].status_code == 429, found
"""


def test_the_first_application_of_flask_md_works(wheel, tmp_path):
    python = environment_with(tmp_path, f"{wheel}[flask]")
    (tmp_path / "main.py").write_text(first_program("docs/flask.md"))
    run(python, "-c", FLASK, cwd=tmp_path)


DJANGO = """
import django
from django.conf import settings
from django.core.management import call_command
from django.urls import path

settings.configure(
    ROOT_URLCONF="main", ALLOWED_HOSTS=["*"], SECRET_KEY="of the test",
    INSTALLED_APPS=["rest_framework", "limitree.django"],
    MIDDLEWARE=["limitree.django.LimitreeMiddleware"])
django.setup()

from django.http import HttpResponse
from limitree.django import ratelimit

@ratelimit(key="ip", rate="5/m; 100/h")
def login(request):
    return HttpResponse("hello")

import limitree.drf
from django.test import Client
import sys

sys.modules["main"] = sys.modules[__name__]
urlpatterns = [path("login", login)]
found = [Client().get("/login") for _ in range(6)]
assert [one.status_code for one in found] == [200] * 5 + [429], found
assert found[0]["RateLimit"].startswith('"view:main.login/*/5/1m";r=4')
call_command("limitree", "check")
"""


def test_limits_of_django_work(wheel, tmp_path):
    python = environment_with(tmp_path, f"{wheel}[drf]")
    (tmp_path / "main.py").write_text(DJANGO)
    shown = run(python, "-c", "import main", cwd=tmp_path)
    assert "view:main.login/*/100/1h" in shown


def test_import_brings_in_nothing_that_is_optional():
    optional = {"django", "rest_framework", "flask", "werkzeug", "fastapi",
                "starlette", "opentelemetry", "prometheus_client", "pytest"}
    subprocess.run([sys.executable, "-c", "import limitree, sys; "
                    f"assert not {optional!r} & sys.modules.keys()"],
                   check=True)
