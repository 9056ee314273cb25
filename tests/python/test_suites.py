"""The suites of others, by a change of the import.

The sources come from the index of Python's packages; nothing of them is here.
``suites/<name>.txt`` has the tests that fail, each below the line of the page
that says what is different.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile

import pytest

from servers import memcached, redis_server

HERE = pathlib.Path(__file__).parent
DOCS = HERE.parents[1] / "docs"

DJANGO = """
from django.conf import settings

settings.configure(
    SECRET_KEY="x", INSTALLED_APPS=["limitree.django"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3",
                           "NAME": ":memory:"}},
    CACHES={"default": {"BACKEND": f"{BACKENDS}.locmem.LocMemCache"},
            "connection-errors": {
                "BACKEND": f"{BACKENDS}.memcached.PyMemcacheCache",
                "LOCATION": "127.0.0.1:1"},
            "connection-errors-redis": {
                "BACKEND": f"{BACKENDS}.redis.RedisCache",
                "LOCATION": "redis://127.0.0.1:1"},
            "instant-expiration": {
                "BACKEND": f"{BACKENDS}.filebased.FileBasedCache",
                "LOCATION": "cache"}})
"""


def run(*command, **keywords):
    """Runs a command; returns its output."""
    done = subprocess.run(list(map(str, command)), text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          **keywords)
    assert done.returncode in (0, 1), done.stdout  # pytest: some have failed
    return done.stdout


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """A folder with the packages that the suites need."""
    folder = tmp_path_factory.mktemp("tools")
    shown = run(sys.executable, "-m", "pip", "install", "--quiet", "--no-deps",
                "--target", folder, "--requirement",
                HERE / "suites/requirements.txt")
    assert (folder / "hiro").is_dir(), shown
    return folder


def source(folder, name, version):
    """Returns the folder of the sources of a package."""
    shown = run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps",
                "--no-binary", name, "--dest", folder, f"{name}=={version}")
    found = list(folder.glob("*.tar.gz"))
    assert found, shown
    with tarfile.open(found[0]) as archive:
        archive.extractall(folder)
    return next(one for one in folder.iterdir() if one.is_dir())


def change(folder, *pairs):
    """Changes the texts of all modules in a folder."""
    for path in folder.rglob("*.py"):
        text = path.read_text()
        for old, new in pairs:
            text = re.sub(old, new, text)
        path.write_text(text)


def failures(suite, folder, tools, *what):
    """Runs a suite; returns the names of the tests that fail, and the count of
    those that pass."""
    path = [os.environ["PYTHONPATH"], HERE / "suites", tools]
    shown = run(sys.executable, "-B", "-m", "pytest", "-q", "-p",
                "no:cacheprovider", "-p", "limitree.pytest_plugin", "-p",
                "suite_plugin", "-p", "no:warnings", "-rfE", "--tb=short",
                "-c", os.devnull, "--rootdir", folder, *what, cwd=folder,
                env={**os.environ, "SUITE": suite, "NO_COLOR": "1",
                     "PYTHONPATH": os.pathsep.join(map(str, path))})
    print(shown)
    found = re.findall(r"^(?:FAILED|ERROR) .*?::(\w+)(?: - .*)?$", shown, re.M)
    return sorted(found), int(re.search(r"(\d+) passed", shown)[1])


def check(suite, page, found, passed):
    """Compares with the list beside this, and that with the page."""
    lines, names = {}, []
    for line in (HERE / f"suites/{suite}.txt").read_text().splitlines():
        if line.startswith("  "):
            names.append(line.strip())
            lines[title] += 1
        else:
            title = line
            lines[title] = 0
    assert found == sorted(names)
    text = (DOCS / page).read_text()
    for title, count in lines.items():
        assert f"| {title} | {count} |\n" in text
    assert re.search(rf"\b{passed} pass\b", text)


def test_flask_limiter(tmp_path, tools):
    tests = tmp_path / "run/tests"
    shutil.copytree(source(tmp_path, "flask-limiter", "4.1.1") / "tests", tests)
    with redis_server() as (redis, _), memcached() as (cached, _):
        change(tests,
               (r"\bfrom flask_limiter\b", "from limitree.flask_limiter"),
               ("memcached://localhost:31211", cached))
        change(tests, (r'from_url\("redis://localhost:46379"\)',
                       f'from_url("{redis.removeprefix("redis+")}")'),
               ("redis://localhost:46379", redis))
        check("flask_limiter", "flask.md",
              *failures("flask_limiter", tests.parent, tools))


def test_django_ratelimit(tmp_path, tools):
    folder = tmp_path / "run/suite"
    folder.mkdir(parents=True)
    shutil.copy(source(tmp_path, "django-ratelimit", "4.1.0")
                / "django_ratelimit/tests.py", folder / "tests.py")
    (folder / "__init__.py").touch()
    change(folder, ("from django_ratelimit", "from limitree.django"),
           (r"django_ratelimit\.tests", "suite.tests"),
           (r",\s+_split_rate, _get_ip\)", ")"))
    (folder.parent / "conftest.py").write_text(
        'BACKENDS = "django.core.cache.backends"\n' + DJANGO)
    check("django_ratelimit", "django.md",
          *failures("django_ratelimit", folder.parent, tools, "suite/tests.py"))


def test_rest_framework(tmp_path, tools):
    tests = tmp_path / "run/tests"
    shutil.copytree(source(tmp_path, "djangorestframework", "3.18.3") / "tests",
                    tests)
    change(tests, ("import dj_database_url", ""),
           ("from rest_framework.throttling", "from limitree.drf"))
    check("rest_framework", "django.md",
          *failures("rest_framework", tests.parent, tools,
                    "tests/test_throttling.py"))
