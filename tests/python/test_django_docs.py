"""docs/django.md is a project that works, and examples/django an app."""

import os
import pathlib
import re
import subprocess
import sys

import django_site  # noqa: F401
import httpx

ROOT = pathlib.Path(__file__).parents[2]
BLOCK = re.compile(r"^```(?:python|yaml)\n# ([\w.]+)\n(.*?)^```$", re.S | re.M)

#: What `django-admin startproject` makes, as far as it matters here.
BEFORE = {
    "manage.py": """
import os, sys
os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
""",
    "settings.py": """
import pathlib
BASE_DIR = pathlib.Path(__file__).parent
SECRET_KEY = "of the test"
ROOT_URLCONF = "urls"
INSTALLED_APPS = ["django.contrib.auth", "django.contrib.contenttypes",
                  "django.contrib.sessions", "rest_framework"]
MIDDLEWARE = ["django.contrib.sessions.middleware.SessionMiddleware",
              "django.contrib.auth.middleware.AuthenticationMiddleware"]
""",
    "urls.py": """
from django.urls import path
import api, views
urlpatterns = [path("trade", views.trade), path("contact", views.contact),
               path("report/<name>", views.report),
               path("order", views.Order.as_view()),
               path("export", views.export), path("ask", views.ask),
               path("sale/<name>", views.sale), path("login", views.login),
               path("trades", api.TradeList.as_view())]
""",
    "test_more.py": """
from django.test import SimpleTestCase, override_settings
from django.conf import settings

class MoreTest(SimpleTestCase):
    def setUp(self):
        changed = override_settings(LIMITREE={**settings.LIMITREE})
        changed.enable()
        self.addCleanup(changed.disable)

    def count(self, allowed, url, ask=None, **data):
        found = [(ask or self.client.get)(url, data).status_code
                 for _ in range(12)]
        first = found[0]
        self.assertEqual(found, [first] * allowed + [429] * (12 - allowed))

    def test_trade(self):
        self.count(6, "/trade")
        response = self.client.get("/trade")
        self.assertIn('"ip:*";q=100;w=60', response["RateLimit-Policy"])

    def test_contact(self):
        self.count(5, "/contact", self.client.post)

    def test_report(self):
        self.count(8, "/report/alex")

    def test_order(self):
        self.count(6, "/order", self.client.post)

    def test_sale(self):
        self.count(6, "/sale/alex")

    def test_login(self):
        self.count(12, "/login", self.client.post, name="a", password="secret")
        self.count(5, "/login", self.client.post, name="a", password="wrong")

    def test_throttles(self):
        self.count(6, "/trades")

    def test_slots_and_budgets(self):
        for _ in range(3):
            response = self.client.get("/export")
            self.assertIn('"export:*";r=1;', response["RateLimit"])
            self.assertEqual(response.getvalue().count(b"line"), 3)
        for left in 500, 419, 338:
            response = self.client.get("/ask")
            self.assertIn(f'"model";r={left};', response["RateLimit"])

    def test_every_request(self):
        for _ in range(100):
            self.client.get("/nowhere")
        self.assertEqual(self.client.get("/nowhere").status_code, 429)
        self.assertEqual(self.client.get("/health").status_code, 404)
""",
}


def environment():
    path = os.pathsep.join(os.path.abspath(one) for one in
                           os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return {**os.environ, "PYTHONPATH": path}


def run(folder, *arguments):
    return subprocess.run([sys.executable, "manage.py", *arguments], cwd=folder,
                          text=True, stdout=subprocess.PIPE, check=False,
                          stderr=subprocess.STDOUT, env=environment())


def test_page(tmp_path):
    files = dict(BEFORE)
    for name, text in BLOCK.findall((ROOT / "docs/django.md").read_text()):
        files[name] = files.get(name, "") + text
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    assert {"settings.py", "limits.yaml", "views.py", "api.py",
            "tests.py"} <= files.keys()
    tested = run(tmp_path, "test")
    assert tested.returncode == 0, tested.stdout
    assert "Ran 10 tests" in tested.stdout
    assert "System check identified 1 issue" in tested.stdout  # W001
    shown = run(tmp_path, "limitree", "check").stdout
    assert "ip:*\n" in shown and "user:*/trade\n" in shown


def test_no_block_is_left_out():
    text = (ROOT / "docs/django.md").read_text()
    assert len(BLOCK.findall(text)) == len(
        re.findall(r"^```(?:python|yaml)$", text, re.M))


def test_every_setting_is_in_the_page():
    from limitree.django import conf
    text = (ROOT / "docs/django.md").read_text()
    for name in conf._READ:
        assert re.search(rf"^\|[^|]*`{name}`", text, re.M), name


def test_every_check_is_in_the_page():
    source = (ROOT / "python/limitree/django/checks.py").read_text() + (
        ROOT / "python/limitree/django/conf.py").read_text()
    found = set(re.findall(r"limitree\.[EW]\d{3}", source))
    text = (ROOT / "docs/django.md").read_text()
    assert found == set(re.findall(r"^\| `(limitree\.[EW]\d{3})`", text, re.M))


def test_example():
    app = ROOT / "examples/django/app.py"
    assert len(app.read_text().splitlines()) < 40
    server = subprocess.Popen(
        [sys.executable, "-u", app, "runserver", "--noreload", "127.0.0.1:0"],
        env=environment(), text=True, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT)
    try:
        url = None
        for line in server.stdout:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                url = found[0]
                break
        assert url, "the server does not start"
        with httpx.Client(base_url=url) as client:
            for _ in range(6):
                response = client.get("/trade/alex")
                assert response.text == "alex has traded\n"
            assert response.headers["RateLimit"].startswith(
                '"view:default/*/1000/1h";r=99')
            denied = client.get("/trade/alex")
            assert denied.status_code == 429
            assert denied.headers["Retry-After"] in ("1", "2")
            assert client.get("/trade/bob").status_code == 200
            found = [client.post("/login").status_code for _ in range(6)]
            assert found == [200] * 5 + [429]
    finally:
        server.kill()  # runserver may take long after other signals
        server.wait()
        server.stdout.close()
