"""Web servers for one test: gunicorn, uWSGI, uvicorn and hypercorn, on a free
port."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

from asgi_servers import listening_address

HERE = pathlib.Path(__file__).parent


def _gunicorn_options():
    """Returns what keeps gunicorn from other programs; old ones have none."""
    import gunicorn.config
    known = {option for setting in gunicorn.config.KNOWN_SETTINGS
             for option in setting.cli or ()}
    return {"--no-control-socket"} & known


@contextlib.contextmanager
def gunicorn(application, *options, **environment):
    """Yields the address of a gunicorn, once it listens."""
    with _server("-m", "gunicorn", "--bind", "127.0.0.1:0",
                 *_gunicorn_options(), *options, application,
                 environment=environment) as found:
        yield found


@contextlib.contextmanager
def uwsgi(application, *options, **environment):
    """Yields the address of a uWSGI, once it listens."""
    with _server("-c", "import pyuwsgi; pyuwsgi.run()", "--http-socket",
                 "127.0.0.1:0", "--master", "--need-app", "--die-on-term",
                 "--module", application, *options,
                 environment=environment) as found:
        yield found


@contextlib.contextmanager
def uvicorn(application, *options, **environment):
    """Yields the address of a uvicorn, once it listens."""
    with _server("-m", "uvicorn", "--port", "0", "--lifespan", "off", *options,
                 application, environment=environment) as found:
        yield found


@contextlib.contextmanager
def hypercorn(application, *options, **environment):
    """Yields the address of a hypercorn, once it listens."""
    with _server("-m", "hypercorn", "--bind", "127.0.0.1:0", *options,
                 application, environment=environment) as found:
        yield found


@contextlib.contextmanager
def python(program, *options, **environment):
    """Yields the address that a program of this folder prints."""
    with _server(program, *options, environment=environment) as found:
        yield found


@contextlib.contextmanager
def _server(*command, environment):
    path = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            [sys.executable, *command], stdout=log, stderr=log, cwd=HERE,
            env={**os.environ, "PYTHONPATH": path, **environment})
        try:
            yield listening_address(process, log)
        finally:
            process.terminate()
            try:
                process.wait(60)
            finally:
                process.kill()
