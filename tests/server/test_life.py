"""The start, the reload and the end of a service."""

import contextlib
import http.client
import os
import pathlib
import resource
import signal
import subprocess
import threading
import time

import grpc
import h2.events
import pytest
from hyperframe.frame import SettingsFrame
from raw import (
    AUTHORIZE, PREFACE, WATCH, Client, connect, connect_unix, framed)
from service import (
    COMMAND, LIMITS, PATIENT, eventually, pb_grpc, request)

OK = request("huge", "x").SerializeToString()


def start_fails(*words, code=1):
    done = subprocess.run([COMMAND, "serve", *map(str, words)], text=True,
                          capture_output=True, check=False, timeout=60)
    assert done.returncode == code, done.stderr
    return done.stderr.rstrip("\n")


def test_what_it_says_at_the_start(serve):
    assert serve("--workers", 3).lines[0].endswith("with 3 workers")
    assert serve("--workers", 1).lines[0].endswith("with 1 worker")


def test_several_addresses(serve, tmp_path):
    service = serve("--listen", f"unix:{tmp_path}/s", "--workers", 2)
    tcp, unix = service.target.split(", ")
    for target in (tcp, unix):
        with grpc.insecure_channel(target) as channel:
            limiter = pb_grpc.LimiterStub(channel)
            assert not limiter.Authorize(request("huge", "x")).limited


def test_mistakes_end_the_start(limits, tmp_path):
    none = tmp_path / "none.yaml"
    assert start_fails(none) == f"limitree: {none}: no such file or directory"
    assert start_fails(tmp_path) == f"limitree: {tmp_path}: is a directory"
    bad = tmp_path / "bad.yaml"
    bad.write_text("schema: {user: {limits: 0/s}}\n")
    assert start_fails(bad).startswith(f"{bad}:1:25: ")
    assert start_fails(limits, "--listen", "localhost:1") == (
        "limitree: 'localhost:1' is not an address such as 127.0.0.1:8081, "
        "[::1]:8081, :8081 or unix:/path")
    assert start_fails(limits, "--listen", "192.0.2.1:1") == (
        "limitree: listen on 192.0.2.1:1: cannot assign requested address")
    assert "near_limit" in start_fails(limits, "--set", "near_limit=x")
    assert start_fails(limits, "--set", "x", code=2) == (
        "limitree: --set: 'x' is not NAME=VALUE")
    assert start_fails(limits, "--workers", "0", code=2).startswith(
        "limitree: --workers: ")


def test_a_unix_socket_in_use_is_not_taken(serve, limits, tmp_path):
    serve(listen=f"unix:{tmp_path}/s")
    assert start_fails(limits, "--listen", f"unix:{tmp_path}/s") == (
        f"limitree: listen on unix:{tmp_path}/s: address already in use")


@pytest.mark.parametrize("option", ["--listen", "--http-listen",
                                    "--admin-listen"])
def test_a_port_in_use_is_not_shared_by_accident(serve, limits, option):
    first = serve("--http-listen", "127.0.0.1:0", "--admin-listen",
                  "127.0.0.1:0")
    place = {"--listen": first.target, "--http-listen": first.http[0],
             "--admin-listen": first.admin[0]}[option].removeprefix("http://")
    refusal = f"limitree: listen on {place}: address already in use"
    assert start_fails(limits, option, place) == refusal
    if option == "--admin-listen":  # its pages are about one service
        assert start_fails(limits, option, place, "--share-ports") == refusal
    assert not first.limiter().Authorize(request("huge", "x")).limited


def test_a_port_in_use_is_shared_on_demand(serve):
    first = serve()
    second = serve("--share-ports", listen=first.target)
    assert second.target == first.target
    clients = [Client(first) for _ in range(100)]
    eventually(lambda: min(first.descriptors(), second.descriptors()) > 30)
    for client in clients:
        client.close()


def test_a_unix_socket_is_handed_over(serve, tmp_path):
    """The old service has a call open when the new one takes the name."""
    listen = f"unix:{tmp_path}/s"
    old = serve("--drain-grace", "1h", listen=listen)
    client = Client(old, connect_unix(tmp_path / "s"))
    open_call = client.start(AUTHORIZE)
    client.wait(h2.events.SettingsAcknowledged)
    old.terminate()
    eventually(lambda: not (tmp_path / "s").exists())
    new = serve(listen=listen)
    client.send(open_call, framed(OK), end=True)
    assert client.status(open_call) == ("0", "")
    client.close()
    assert old.wait() == 0
    assert (tmp_path / "s").exists()
    assert not new.limiter().Authorize(request("huge", "x")).limited


@pytest.mark.skipif("undefined" in os.environ.get("LIMITREE_SANITIZED", ""),
                    reason="this sanitizer needs descriptors, too")
def test_without_descriptors_it_goes_on(serve):
    service = serve("--workers", 2, max_descriptors=40)
    start = time.monotonic()
    idle = [connect(service) for _ in range(60)]
    service.wait_for("no new connections for now: too many open files")
    time.sleep(0.5)  # several attempts
    for connection in idle:
        connection.close()
    assert not service.limiter().Authorize(
        request("huge", "x"), wait_for_ready=True, timeout=PATIENT).limited
    # One line a minute for each worker, not one for each attempt.
    minutes = 1 + (time.monotonic() - start) // 60
    said = [line for line in service.lines if "for now" in line]
    assert len(said) <= 2 * minutes


NEEDS_ITS_OWN_MEMORY = pytest.mark.skipif(
    bool(os.environ.get("LIMITREE_SANITIZED")),
    reason="a sanitizer has memory of its own")


def without_memory(service):
    """Return connections that take what memory the service may have."""
    service.limiter().Authorize(request("huge", "x"))  # all threads run
    status = pathlib.Path(f"/proc/{service.process.pid}/status")
    _, most = resource.prlimit(service.process.pid, resource.RLIMIT_DATA)
    idle, limit = [], most
    # A thread that has ended since leaves memory for many connections, so the
    # limit follows it down, but never up.
    while not any("is refused: std::bad_alloc" in line
                  for line in service.lines) and len(idle) < 9_000:
        text = status.read_text("ascii")
        data = int(text.split("VmData:")[1].split()[0]) * 1024
        limit = (data + 4_000_000 if limit == resource.RLIM_INFINITY
                 else min(limit, data + 4_000_000))
        resource.prlimit(service.process.pid, resource.RLIMIT_DATA,
                         (limit, most))
        for _ in range(1000):
            idle.append(connect(service))
            with contextlib.suppress(OSError):
                idle[-1].sendall(PREFACE + SettingsFrame(0).serialize())
        time.sleep(1)
    assert len(idle) < 9_000, (service.lines, limit, data)
    return idle


@NEEDS_ITS_OWN_MEMORY
def test_without_memory_it_goes_on(serve):
    service = serve("--workers", 1)
    start = time.monotonic()
    for connection in without_memory(service):
        connection.close()
    assert not service.limiter().Authorize(
        request("huge", "x"), wait_for_ready=True, timeout=PATIENT).limited
    # Not a line for each of hundreds of connections.
    minutes = 1 + (time.monotonic() - start) // 60
    assert len(service.lines) <= 1 + minutes


@NEEDS_ITS_OWN_MEMORY
def test_without_memory_it_ends_when_told_to(serve):
    service = serve("--workers", 1, "--drain-grace", "1s")
    idle = without_memory(service)
    service.terminate()
    assert service.process.wait(PATIENT) == 0
    for connection in idle:
        connection.close()


def test_nobody_need_read_its_messages(limits):
    process = subprocess.Popen(
        [COMMAND, "serve", str(limits), "--listen", "127.0.0.1:0"],
        stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        process.stderr.close()
        target = line.split("listening on ")[1].split(" with")[0]
        process.send_signal(signal.SIGHUP)  # it says that it has reloaded
        with grpc.insecure_channel(target) as channel:
            limiter = pb_grpc.LimiterStub(channel)
            assert not limiter.Authorize(request("huge", "x")).limited
        process.terminate()
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()


def test_sighup_reads_the_limits_again(serve, limits):
    service = serve()
    limiter = service.limiter()
    for _ in range(3):
        limiter.Authorize(request("user", "alex", "trade"))
    limits.write_text(LIMITS.replace("3/hour", "7/hour"))
    service.signal(signal.SIGHUP)
    service.wait_for("the limits are reloaded")
    decision = limiter.Authorize(request("user", "alex", "trade"))
    assert decision.limit == 7
    limits.write_text("schema: {user: {limits: 0/s}}\n")
    service.signal(signal.SIGHUP)
    service.wait_for(f"{limits}:1:25: ")
    service.wait_for("the limits are as before")
    limits.unlink()
    service.signal(signal.SIGHUP)
    service.wait_for(f"{limits}: no such file or directory")
    assert limiter.Authorize(request("user", "alex", "trade")).limit == 7


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(serve, number):
    service = serve()
    assert not service.limiter().Authorize(request("huge", "x")).limited
    service.signal(number)
    assert service.wait() == 0
    assert service.lines[-2:] == ["limitree serve: draining",
                                  "limitree serve: stopped"]


def test_a_second_signal_ends_it_at_once(serve):
    service = serve("--drain-delay", "1h")
    service.terminate()
    service.wait_for("draining")
    start = time.monotonic()
    service.terminate()
    assert service.wait() == 0
    assert time.monotonic() - start < 30


def test_open_calls_have_a_grace(serve):
    service = serve("--drain-grace", "1s")
    client = Client(service)
    client.start(AUTHORIZE)  # and never more
    client.wait(h2.events.SettingsAcknowledged)
    start = time.monotonic()
    service.terminate()
    assert service.wait() == 0
    assert 0.9 < time.monotonic() - start < 30


def test_a_drain_says_goaway_and_answers_what_is_open(serve):
    service = serve()
    client = Client(service)
    open_call = client.start(AUTHORIZE)
    watch = client.start(WATCH)
    client.send(watch, framed(b""), end=True)
    client.wait(h2.events.DataReceived, watch)
    service.terminate()
    client.wait(h2.events.ConnectionTerminated)
    client.send(open_call, framed(OK), end=True)
    assert client.status(open_call) == ("0", "")
    assert client.status(watch) == ("14", "the server shuts down")
    while client.read():
        pass
    assert service.wait() == 0


class Load:
    """Threads that call a service as fast as they can."""

    def __init__(self, target, threads=4):
        self.target = target
        self.errors = []
        self.count = 0
        self.goes_on = True
        self.threads = [threading.Thread(target=self.work, daemon=True)
                        for _ in range(threads)]
        for thread in self.threads:
            thread.start()

    def end(self):
        self.goes_on = False
        for thread in self.threads:
            thread.join()


class GrpcLoad(Load):
    def work(self):
        options = [("grpc.use_local_subchannel_pool", 1)]
        with grpc.insecure_channel(self.target, options=options) as channel:
            limiter = pb_grpc.LimiterStub(channel)
            while self.goes_on:
                calls = [limiter.Authorize.future(
                    request("huge", "x"), timeout=30, wait_for_ready=True)
                    for _ in range(20)]
                for call in calls:
                    try:
                        call.result()
                        self.count += 1
                    except grpc.RpcError as error:
                        self.errors.append((error.code(), error.details()))


class HttpLoad(Load):
    """Connections of HTTP/1.1, each with one request after the other."""

    def work(self):
        host, port = self.target.removeprefix("http://").split(":")
        connection = None
        while self.goes_on:
            if connection is None:
                connection = http.client.HTTPConnection(host, port, 30)
            try:
                connection.request("POST", "/v1/authorize",
                                   '{"paths": [["huge", "x"]]}',
                                   {"content-type": "application/json"})
                answer = connection.getresponse()
                answer.read()
            except (OSError, http.client.HTTPException) as error:
                self.errors.append(error)
                connection = None
                continue
            if answer.status != 200:
                self.errors.append(answer.status)
            self.count += 1
            if answer.getheader("connection") == "close":
                connection.close()
                connection = None


@pytest.mark.parametrize("kind, option", [
    (GrpcLoad, "--listen"), (HttpLoad, "--http-listen")])
def test_no_call_is_lost_when_one_service_replaces_another(serve, kind,
                                                           option):
    """Three times, under load."""
    words = ("--workers", 2, "--drain-delay", "200ms")
    service = serve(*words, option, "127.0.0.1:0", listen=None)
    target = service.target or service.http[0]
    load = kind(target)
    for _ in range(3):
        seen = load.count
        eventually(lambda seen=seen: load.count > seen + 200)
        fresh = serve(*words, "--share-ports", option,
                      target.removeprefix("http://"), listen=None)
        service.terminate()
        assert service.wait() == 0
        service = fresh
    seen = load.count
    eventually(lambda seen=seen: load.count > seen + 200)
    load.end()
    assert not load.errors
