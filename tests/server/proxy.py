"""Runs a real Envoy before a real upstream, and asks it."""

import http.client
import http.server
import json
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from service import PATIENT, eventually

#: `./dev test server` installs one.
ENVOY = shutil.which("envoy")


class Answer:
    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value
                        for name, value in response.getheaders()}
        self.text = response.read().decode("utf-8")


def ask(port, path, method="GET", **headers):
    """One request to this machine, on a connection of its own."""
    connection = http.client.HTTPConnection("127.0.0.1", port,
                                            timeout=PATIENT)
    try:
        connection.request(method, path, headers={
            name.replace("_", "-"): str(value)
            for name, value in headers.items()})
        return Answer(connection.getresponse())
    finally:
        connection.close()


class Upstream:
    """Answers each request; `requests` are those that have reached it."""

    def __init__(self):
        self.requests = requests = []

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                requests.append(self.path)
                body = b"from the upstream\n"
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                # What a request says that its answer cost.
                if "x-cost" in self.headers:
                    self.send_header("x-cost", self.headers["x-cost"])
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *words):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0),
                                                      Handler)
        self.server.daemon_threads = True
        self.target = "127.0.0.1:%d" % self.server.server_port
        self.thread = threading.Thread(
            target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def stop(self):
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


class Envoy:
    """A running Envoy.  `text` is its configuration, in YAML or JSON."""

    def __init__(self, text):
        self.folder = tempfile.TemporaryDirectory(prefix="limitree-envoy-")
        folder = pathlib.Path(self.folder.name)
        (folder / "envoy.yaml").write_text(text, "utf-8")
        self.admin_path, self.log_path = folder / "admin", folder / "log"
        with open(self.log_path, "wb") as log:
            # It ends with this process, however that ends.
            self.process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", ENVOY,
                 "--config-path", folder / "envoy.yaml", "--admin-address-path",
                 self.admin_path, "--concurrency", "1", "--log-level",
                 "warning", "--disable-hot-restart"],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        try:
            self.admin = self.wait_for_admin()
            eventually(self.is_ready)
            self.port = self.find_port()
        except BaseException:
            self.stop()
            raise

    def log(self):
        return self.log_path.read_text("utf-8", "replace")

    def wait_for_admin(self):
        """Waits until Envoy says on which port it can be asked."""
        until = time.monotonic() + PATIENT
        while time.monotonic() < until:
            if self.process.poll() is not None:
                break
            if self.admin_path.exists():
                text = self.admin_path.read_text("ascii")
                if ":" in text:
                    return int(text.rpartition(":")[2])
            time.sleep(0.01)
        raise RuntimeError(f"Envoy does not start: {self.log()}")

    def is_ready(self):
        assert self.process.poll() is None, self.log()
        try:
            return ask(self.admin, "/ready").status == 200
        except OSError:
            return False

    def find_port(self):
        said = json.loads(ask(self.admin, "/listeners?format=json").text)
        status = said["listener_statuses"][0]
        return status["local_address"]["socket_address"]["port_value"]

    def get(self, path, **headers):
        return ask(self.port, path, **headers)

    def statuses(self, path, count, **headers):
        """The statuses of `count` equal requests, one after the other."""
        return [self.get(path, **headers).status for _ in range(count)]

    def stat(self, name):
        """The value of one of Envoy's statistics."""
        for line in ask(self.admin, "/stats").text.splitlines():
            if line.startswith(f"{name}: "):
                return int(line.rpartition(" ")[2])
        raise AssertionError(f"no {name}")

    def stop(self):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()
