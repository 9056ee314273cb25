"""Subinterpreters, which mod_wsgi uses by default: an import there says what to
do, and does not wait for ever."""

import contextlib
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

import httpx
import pytest

import limitree
from servers import free_ports

PACKAGE = pathlib.Path(limitree.__file__).parent
MODULES = pathlib.Path("/usr/lib/apache2/modules")

# Makes two subinterpreters; from CPython 3.13 on, the first shares the lock of
# the main interpreter, and the second has its own.
PROGRAM = f"""
import sys
sys.path.insert(0, {str(PACKAGE.parent)!r})
if sys.argv[1] == "first":
    import limitree
try:
    import _interpreters as made
    kinds = ("legacy",), ("isolated",)
except ImportError:
    import _xxsubinterpreters as made
    kinds = (), ()
code = "import sys; sys.path = " + repr(sys.path) + '''
try:
    import limitree
except ImportError as error:
    print(error, flush=True)
'''
for kind in kinds:
    made.run_string(made.create(*kind), code)
import limitree
print(limitree.Limiter("schema: {{job: {{limits: 1/h}}}}").peek("job").limit)
"""


@pytest.mark.parametrize("when", ["first", "later"])
def test_an_import_in_a_subinterpreter(when):
    done = subprocess.run([sys.executable, "-c", PROGRAM, when], text=True,
                          stdout=subprocess.PIPE, timeout=60, check=True)
    *refused, limit = done.stdout.splitlines()
    assert refused == [
        "limitree does not run in a subinterpreter: under mod_wsgi, set "
        "WSGIApplicationGroup %{GLOBAL}; elsewhere, import it in the main "
        "interpreter"] * 2
    assert limit == "1"  # the first interpreter is as it was


# ---- mod_wsgi ---------------------------------------------------------------

SCRIPT = """
import limitree.wsgi

def hello(environ, start_response):
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [b"hello"]

application = limitree.wsgi.LimitreeMiddleware(
    hello, "schema: {ip: {children: {'*': {limits: 2/h}}}}",
    lambda environ: ("ip", environ["REMOTE_ADDR"]))
"""

CONF = """
ServerName localhost
Listen 127.0.0.1:{port}
DefaultRuntimeDir {folder}
PidFile {folder}/pid
ErrorLog {folder}/error.log
LoadModule mpm_event_module {modules}/mod_mpm_event.so
LoadModule authz_core_module {modules}/mod_authz_core.so
LoadModule wsgi_module {modules}/mod_wsgi.so
StartServers 1
ServerLimit 1
ThreadsPerChild 4
MaxRequestWorkers 4
WSGIPythonPath {folder}
WSGIScriptAlias / {folder}/hello.wsgi
{user}
{more}
"""


@contextlib.contextmanager
def apache(more):
    """Yields a client of an Apache with mod_wsgi, and its log."""
    folder = pathlib.Path(tempfile.mkdtemp())
    # An Apache that root starts has another user, who must read all this.
    folder.chmod(0o755)
    shutil.copytree(PACKAGE, folder / "limitree")
    (folder / "hello.wsgi").write_text(SCRIPT)
    port, = free_ports(1)
    user = "User #65534\nGroup #65534" if os.geteuid() == 0 else ""
    (folder / "conf").write_text(CONF.format(
        port=port, folder=folder, modules=MODULES, user=user, more=more))
    process = subprocess.Popen(
        ["/usr/sbin/apache2", "-f", folder / "conf", "-D", "FOREGROUND"])
    try:
        wait_for(port, process)
        with httpx.Client(base_url=f"http://127.0.0.1:{port}",
                          timeout=60) as client:
            yield client, folder / "error.log"
    finally:
        process.terminate()
        process.wait(60)
        shutil.rmtree(folder)


def wait_for(port, process):
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as connection:
            if connection.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise AssertionError("Apache does not listen")


needs_mod_wsgi = pytest.mark.skipif(
    not shutil.which("apt-get"), reason="only on Debian is it installed")


@needs_mod_wsgi
def test_mod_wsgi_by_default():
    with apache("") as (client, log):
        assert client.get("/").status_code == 500
        assert "set WSGIApplicationGroup %{GLOBAL}" in log.read_text()


@needs_mod_wsgi
def test_mod_wsgi_in_the_main_interpreter():
    with apache("WSGIApplicationGroup %{GLOBAL}") as (client, _):
        answers = [client.get("/") for _ in range(3)]
    assert [one.status_code for one in answers] == [200, 200, 429]
    assert answers[0].headers["RateLimit"] == '"ip:*";r=1;t=1800'
