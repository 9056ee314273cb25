"""Runs `limitree serve` as a separate process, and makes clients for it."""

import os
import pathlib
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time

import grpc
import grpc_tools
from grpc_tools import protoc

COMMAND = os.environ["LIMITREE_COMMAND"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROTO = ROOT / "server" / "proto"

LIMITS = """\
schema:
  user:
    children:
      "*":
        limits: 100/hour
        children:
          trade: {limits: 3/hour}
  free: {}
  huge: {children: {"*": {limits: 1000000000/second}}}
"""

#: Long, for a busy machine.
PATIENT = 60


ENVOY = [f"envoy/{name}.proto" for name in (
    "service/ratelimit/v3/rls", "extensions/common/ratelimit/v3/ratelimit",
    "config/core/v3/base", "type/v3/ratelimit_unit")]


def compile_protos(root, *names):
    """Makes the modules of .proto files, as a client would.  `root` may be
    NAME=FOLDER, where NAME stands for the folder in `names`."""
    folder = tempfile.mkdtemp(prefix="limitree-protos-")
    done = protoc.main([
        "protoc", f"-I{root}", f"-I{PROTO}", f"--python_out={folder}",
        f"--grpc_python_out={folder}",
        f"-I{pathlib.Path(grpc_tools.__file__).parent / '_proto'}", *names])
    assert done == 0
    sys.path.insert(0, folder)


compile_protos(PROTO, *ENVOY)
compile_protos(f"limitree_rpc={PROTO}/limitree",
               "limitree_rpc/v1/limiter.proto",
               "limitree_rpc/v1/descriptors.proto")
from limitree_rpc.v1 import limiter_pb2 as pb  # noqa: E402
from limitree_rpc.v1 import limiter_pb2_grpc as pb_grpc  # noqa: E402
from limitree_rpc.v1 import (  # noqa: E402
    descriptors_pb2_grpc as descriptors_grpc)
from envoy.extensions.common.ratelimit.v3 import (  # noqa: E402
    ratelimit_pb2)
from envoy.service.ratelimit.v3 import rls_pb2 as rls  # noqa: E402
from envoy.service.ratelimit.v3 import rls_pb2_grpc  # noqa: E402

rls.Descriptor = ratelimit_pb2.RateLimitDescriptor
rls.Stub = rls_pb2_grpc.RateLimitServiceStub


def path(*segments, **fields):
    return pb.Path(segments=segments, **fields)


def request(*segments, **fields):
    """A request with one path."""
    return pb.DecideRequest(paths=[path(*segments)], **fields)


class Service:
    """A running service.  `lines` are its messages so far.  Without `listen`
    the words, or the environment, say where.  `prefix` is a command that
    starts the service, `command` one in place of it.  A store has PATIENT
    seconds, unless `--set timeout=` says how long; without LIMITREE_SET in
    `env`, that is empty, it has the default time."""

    def __init__(self, limits, *words, listen="127.0.0.1:0", env=None,
                 waits=False, max_descriptors=None, prefix=(), command=None):
        self.lines = []
        self.fresh = queue.Queue()
        self.channels = []
        environment = {**os.environ, **(env or {})}
        if env is None:
            environment.pop("LIMITREE_STORE", None)
        environment.setdefault("LIMITREE_SET", f"timeout={PATIENT}s")
        shell = [] if max_descriptors is None else [
            "sh", "-c", f'ulimit -n {max_descriptors} && exec "$@"', "sh"]
        limits = [] if limits is None else [str(limits)]
        listen = [] if listen is None else ["--listen", listen]
        self.process = subprocess.Popen(
            [*shell, *prefix, *(command or [COMMAND, "serve"]), *limits,
             *listen, *map(str, words)],
            stderr=subprocess.PIPE, text=True, env=environment)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        if not waits:
            self.wait_until_listening()

    def wait_until_listening(self):
        line = self.wait_for("listening on ")
        places = line.split("listening on ")[1].split(" with")[0].split(", ")
        self.http = [place for place in places if place.startswith("http")]
        self.admin = [place.removeprefix("admin ") for place in places
                      if place.startswith("admin ")]
        self.metrics = [place.removeprefix("metrics ") for place in places
                        if place.startswith("metrics ")]
        self.target = ", ".join(place for place in places
                                if "http" not in place)

    def read(self):
        for line in self.process.stderr:
            self.lines.append(line.rstrip("\n"))
            self.fresh.put(self.lines[-1])
        self.fresh.put(None)

    def wait_for(self, text):
        """Returns the next message with `text` in it."""
        until = time.monotonic() + PATIENT
        while (left := until - time.monotonic()) > 0:
            try:
                line = self.fresh.get(timeout=left)
            except queue.Empty:
                break
            if line is None:
                break
            if text in line:
                return line
        raise AssertionError(f"no {text!r} in {self.lines}")

    @property
    def port(self):
        return int(self.target.rpartition(":")[2])

    def channel(self, *options, credentials=None):
        """A channel with a connection of its own."""
        options = [("grpc.use_local_subchannel_pool", 1), *options]
        channel = (grpc.insecure_channel(self.target, options=options)
                   if credentials is None else
                   grpc.secure_channel(self.target, credentials,
                                       options=options))
        self.channels.append(channel)
        return channel

    def limiter(self, *options):
        return pb_grpc.LimiterStub(self.channel(*options))

    def signal(self, number):
        self.process.send_signal(number)

    def terminate(self):
        self.signal(signal.SIGTERM)

    def wait(self):
        """Waits for the end of the process and returns its exit code."""
        code = self.process.wait(PATIENT)
        self.reader.join()
        return code

    def memory(self):
        """Bytes that the process has in memory; 0 if a sanitizer keeps what is
        freed."""
        if os.environ.get("LIMITREE_SANITIZED"):
            return 0
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text(
            "ascii")
        return int(text.split("VmRSS:")[1].split()[0]) * 1024

    def cpu(self):
        """Seconds of processor time that the process has taken."""
        text = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text("ascii")
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def kill(self):
        for channel in self.channels:
            channel.close()
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stderr.close()


def fails(*words, code, **env):
    """Starts a service that must not start; returns its messages."""
    done = subprocess.run([COMMAND, "serve", *map(str, words)], text=True,
                          capture_output=True, check=False, timeout=60,
                          env={**os.environ, **env})
    assert done.returncode == code, done.stderr
    return done.stderr.splitlines()


def limit_of(service, domain="apis", key="user"):
    """The limit that the one descriptor of a request of Envoy meets."""
    one = rls.Descriptor()
    one.entries.add(key=key, value="alex")
    answer = rls.Stub(service.channel()).ShouldRateLimit(
        rls.RateLimitRequest(domain=domain, descriptors=[one]))
    return answer.statuses[0].current_limit


def error_of(call):
    """The status with which `call()` fails, and its message."""
    try:
        call()
    except grpc.RpcError as error:
        return error.code(), error.details()
    raise AssertionError("the call has not failed")


def succeeds(call):
    """Whether `call()` does not fail."""
    try:
        call()
    except grpc.RpcError:
        return False
    return True


def eventually(fact):
    """Waits until fact() is true."""
    until = time.monotonic() + PATIENT
    while not fact():
        assert time.monotonic() < until
        time.sleep(0.01)
