"""limitree top: samples of a real Redis, and of a service at work."""

import json
import os
import pty
import re
import signal
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request

import pytest
from command import COMMAND, bad, environment, good, resize
from redis_server import free_ports, make_start  # noqa: F401

LIMITS = """\
schema:
  user:
    children:
      "*":
        limits: {count: 10, period: 1h}
        children:
          trade:
            limits:
              {count: 2, period: 1d, algorithm: fixed_window, align: first}
          report: {limits: {name: slow, count: 5, period: 1h}}
  ip: {key: ip, children: {"*": {limits: 3/hour}}}
  all: {limits: 1000/hour}
"""
ODD = "al:e%x \033[2J\u00e9"


@pytest.fixture(name="limits")
def make_limits(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text(LIMITS, encoding="utf-8")
    return path


@pytest.fixture(name="listening")
def make_listening():
    """A socket that tests answer on, as a server would."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(60)
        yield server


def charge(url, limits, *path, times=1):
    good("try", limits, *path, "--times", times, "--store", url)


def top(limits, url, *words):
    return json.loads(good("top", limits, "--store", url, "--json", *words))


def policies(found):
    return {one["policy"]: (one["at_limit"], one["buckets"])
            for one in found["limits"]}


def test_limits_and_callers(start, limits):
    url = start().url
    charge(url, limits, "user", "alex", "trade", times=4)
    charge(url, limits, "user", "bob", "trade")
    charge(url, limits, "user", ODD, "report", times=2)
    charge(url, limits, "ip", "2001:db8::1", times=3)
    charge(url, limits, "all")
    found = top(limits, url)
    assert found["complete"]
    assert policies(found) == {
        "user:*": (0, 3), "user:*/trade": (1, 2), "user:*/report": (0, 1),
        "ip:*": (1, 1), "all": (0, 1)}
    first, second = found["callers"][:2]
    # Both have nothing left; a window of a day takes longer than an hour.
    assert (first["caller"], first["policy"]) == (
        "user:alex:trade", "user:*/trade")
    assert (first["limit"], first["remaining"]) == (2, 0)
    assert second["policy"] == "ip:*"
    assert second["caller"].startswith("ip:2001:db8::/64")
    used = {(one["caller"], one["policy"]): one["remaining"]
            for one in found["callers"]}
    assert used["user:alex", "user:*"] == 8
    assert used[f"user:{ODD}", "user:*"] == 8
    text = good("top", limits, "--store", url, "--once")
    assert "\033" not in text
    assert r"al:e%x \x1b[2J" in text
    assert len(top(limits, url, "--top", 2)["callers"]) == 2


def test_other_keys_do_no_harm(start, limits):
    url = start().url
    charge(url, limits, "user", "alex")
    script = """
for i = 1, 300 do
  redis.call('SET', 'limitree:{text' .. i .. '}', 'x')
  redis.call('HSET', 'limitree:{no:such:root' .. i .. '}', 'a#b', '1')
  redis.call('HSET', 'limitree:{user:%G' .. i .. '}', '', '1')
  redis.call('RPUSH', 'limitree:{user:alex}more' .. i, 'x')
end
redis.call('HSET', 'limitree:{user:wrong}', '', 'no state')
return 1"""
    port = url.rpartition(":")[2]
    subprocess.run(["redis-cli", "-p", port, "EVAL", script, "0"], check=True,
                   stdout=subprocess.DEVNULL)
    found = top(limits, url)
    assert policies(found) == {"user:*": (0, 1)}
    assert found["complete"]


def test_it_forgets_before_a_pass_ends(start, tmp_path):
    limits = tmp_path / "three.yaml"
    names = ", ".join(f"{{name: n{i}, count: 9, period: 1d}}" for i in range(3))
    limits.write_text(
        f"schema: {{user: {{children: {{'*': {{limits: [{names}]}}}}}}}}",
        encoding="ascii")
    server = start()
    charge(server.url, limits, "user", "alex")
    script = """
local fields = redis.call('HGETALL', 'limitree:{user:alex}')
for i = 1, 21000 do
  redis.call('HSET', 'limitree:{user:u' .. i .. '}', unpack(fields))
end"""
    subprocess.run(["redis-cli", "-p", str(server.port), "EVAL", script, "0"],
                   check=True, stdout=subprocess.DEVNULL)
    found = top(limits, server.url)
    assert not found["complete"]
    # Of 60,000: twice 20,000, and those of one refresh.
    assert 20_000 <= sum(one["buckets"] for one in found["limits"]) <= 41_500


def test_names_that_begin_like_a_hash(start, limits):
    url = start().url
    charge(url, limits, "user", "~alex")
    charge(url, limits, "user", "~" * 1000)  # stored as its hash
    assert {one["caller"] for one in top(limits, url)["callers"]} == {
        "user:~alex"}


def test_a_prefix_a_database_and_a_password(start, limits, tmp_path):
    server = start("--requirepass", "s3c/et")
    file = tmp_path / "password"
    file.write_text("s3c/et\n", encoding="ascii")
    prefix = ("--set", "prefix=my[1]*:", "--set", f"password_file={file}")
    url = f"{server.url}/3"
    good("try", limits, "user", "alex", "--store", url, *prefix)
    assert policies(top(limits, url, *prefix)) == {"user:*": (0, 1)}
    with_password = f"redis://:s3c%2Fet@127.0.0.1:{server.port}"
    assert policies(top(limits, with_password)) == {}
    assert policies(top(limits, f"{with_password}/3",
                        "--set", "prefix=my[1]*:")) == {"user:*": (0, 1)}
    assert "s3c" not in bad(1, "top", limits, "--once", "--store",
                            f"redis://:wrong@127.0.0.1:{server.port}")


def test_what_it_says_of_a_server_that_refuses(start, limits):
    server = start("--rename-command", "AUTH", "")
    place = f"127.0.0.1:{server.port}"
    # Redis repeats the words of a command that it does not know.
    said = bad(1, "top", limits, "--once", "--store",
               f"redis://joe:S3CRET@{place}")
    assert f"{place}: AUTH was refused" in said and "S3CRET" not in said


def test_what_a_server_says_moves_no_cursor(listening, limits):
    def refuse():
        with listening.accept()[0] as client:
            client.recv(65536)
            client.sendall(b"-ERR a\033[2Jb\r\n")

    refusing = threading.Thread(target=refuse)
    refusing.start()
    port = listening.getsockname()[1]
    assert r"ERR a\x1b[2Jb" in bad(1, "top", limits, "--once", "--store",
                                   f"redis://127.0.0.1:{port}/1")
    refusing.join(60)


def test_the_library_checks_the_url_first(start, limits):
    said = bad(2, "top", limits, "--once", "--store",
               "redis://joe:S3CRET/x@127.0.0.1:1")
    assert "must be written %40" in said and "S3CRET" not in said
    # Of a path to a socket, "@" is a part.
    server = start()
    link = server.path.parent / "a@b.sock"
    link.symlink_to(server.path)
    charge(server.url, limits, "user", "alex")
    assert policies(top(limits, f"redis+unix://{link}")) == {"user:*": (0, 1)}


def test_a_sentinel_with_a_password(start, limits, tmp_path):
    server = start()
    port, = free_ports(1)
    settings, file = tmp_path / "sentinel.conf", tmp_path / "password"
    settings.write_text(
        f"port {port}\nbind 127.0.0.1\nrequirepass s3c\n"
        f"sentinel monitor main 127.0.0.1 {server.port} 1\n")
    file.write_text("s3c\n")
    url = f"redis+sentinel://127.0.0.1:{port}/main"
    charge(server.url, limits, "user", "alex")
    with subprocess.Popen(["redis-server", settings, "--sentinel"],
                          stdout=subprocess.DEVNULL) as sentinel:
        try:
            until = time.monotonic() + 60
            while subprocess.run(["redis-cli", "-p", str(port), "PING"],
                                 capture_output=True, check=False).returncode:
                assert time.monotonic() < until
                time.sleep(0.1)
            for option in ("sentinel_password=s3c",
                           f"sentinel_password_file={file}"):
                assert policies(top(limits, url, "--set", option)) == {
                    "user:*": (0, 1)}
        finally:
            sentinel.kill()


def test_all_primaries_of_a_cluster(start, limits):
    # By default the other port is 10,000 above the port, which may be too much.
    nodes = [start("--cluster-enabled", "yes", "--unixsocket", "",
                   "--cluster-port", str(free_ports(1)[0]),
                   "--cluster-config-file", f"nodes{i}.conf")
             for i in range(3)]

    def ask(node, *words):
        return subprocess.run(["redis-cli", "-p", str(node.port), *words],
                              check=True, capture_output=True, text=True).stdout

    bus = nodes[0].settings[nodes[0].settings.index("--cluster-port") + 1]
    for i, node in enumerate(nodes):
        ask(node, "CLUSTER", "SET-CONFIG-EPOCH", str(i + 1))
        ask(node, "CLUSTER", "ADDSLOTSRANGE", str(i * 5461),
            str(16383 if i == 2 else i * 5461 + 5460))
        ask(node, "CLUSTER", "MEET", "127.0.0.1", str(nodes[0].port), bus)
    until = time.monotonic() + 60
    while not all("cluster_state:ok" in ask(node, "CLUSTER", "INFO") and
                  ask(node, "CLUSTER", "NODES").count("connected") == 3
                  for node in nodes):
        assert time.monotonic() < until
        time.sleep(0.1)
    url = f"redis+cluster://127.0.0.1:{nodes[1].port}"
    for i in range(12):
        charge(url, limits, "ip", f"192.0.2.{i}", times=3)
    assert [ask(node, "DBSIZE").strip() for node in nodes].count("0") == 0
    assert policies(top(limits, url)) == {"ip:*": (12, 12)}


@pytest.fixture(name="service")
def make_service(start, limits):
    """A service with a store in Redis; .http, .admin and .store are URLs."""
    store = start().url
    child = subprocess.Popen(
        [COMMAND, "serve", str(limits), "--listen", "127.0.0.1:0",
         "--http-listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
         "--store", store, "--set", "timeout=60s"],
        stderr=subprocess.PIPE, text=True, env=environment())
    for line in child.stderr:
        if "listening on " in line:
            break
    child.admin = re.search(r"admin (http://\S+:\d+)", line)[1]
    child.http = re.search(r", (http://\S+:\d+)", line)[1]
    child.store = store
    yield child
    child.kill()
    child.wait()
    child.stderr.close()


def ask(url, *segments):
    request = urllib.request.Request(
        url, json.dumps({"paths": [segments]}).encode(),
        {"content-type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def test_a_service(service, limits):
    answers = [ask(service.http + "/v1/authorize", "user", ODD, "trade")
               for _ in range(6)]
    assert answers == [200, 200, 429, 429, 429, 429]
    # /ui asks this, and the store answers later.
    assert ask(service.admin + "/v1/peek", "user", ODD, "trade") == 429
    assert ask(service.admin + "/v1/peek", "user", "kim", "trade") == 200
    assert ask(service.admin + "/v1/reset", "user", ODD, "trade") == 403
    until = time.monotonic() + 60
    while True:
        found = json.loads(good("top", "--server", service.admin, "--json"))
        if found["limits"]:
            break
        assert time.monotonic() < until
        time.sleep(0.2)
    first = found["limits"][0]
    assert first["policy"] == "user:*/trade"
    assert first["limited_per_s"] > 0
    assert found["denied"] == [
        {"caller": "user:al%3Ae%25x%20%1B[2J%C3%A9:trade", "limited": 4,
         "shadow_limited": 0}]
    # Both together: a limit has the numbers of the store and of the service.
    both = top(limits, service.store, "--server", service.admin)
    trade = both["limits"][0]
    assert trade["policy"] == "user:*/trade"
    assert (trade["at_limit"], trade["buckets"]) == (1, 1)
    assert trade["limited_per_s"] > 0
    text = good("top", "--server", service.admin + "/", "--once")
    assert "limited/s" in text and "\033" not in text
    assert "is not the admin port" in bad(
        1, "top", "--server", service.http, "--once")


def test_a_screen_until_a_signal(start, limits):
    url = start().url
    charge(url, limits, "user", "alex")
    ours, theirs = pty.openpty()
    resize(theirs, 80)
    child = subprocess.Popen(
        [COMMAND, "top", str(limits), "--store", url, "--every", "100ms"],
        stdout=theirs, stderr=theirs, env=environment())
    os.close(theirs)
    shown = b""
    while shown.count(b"user:alex") < 3:  # three times
        shown += os.read(ours, 65536)
    child.send_signal(signal.SIGINT)
    while True:
        try:
            shown += os.read(ours, 65536)
        except OSError:  # the other end is closed
            break
    assert child.wait(60) == 0
    os.close(ours)
    assert shown.startswith(b"\033[?1049h\033[?25l")
    assert shown.rstrip().endswith(b"\033[?25h\033[?1049l")


def url_of(server):
    return f"http://127.0.0.1:{server.getsockname()[1]}"


def take(server):
    """Takes a connection, and reads the request."""
    client, _ = server.accept()
    while not client.recv(65536).endswith(b"\r\n\r\n"):
        pass
    return client


def test_a_signal_during_a_refresh(listening):
    ours, theirs = pty.openpty()
    child = subprocess.Popen(
        [COMMAND, "top", "--server", url_of(listening), "--every", "1h"],
        stdout=theirs, stderr=theirs, env=environment())
    os.close(theirs)
    with take(listening) as client:
        child.send_signal(signal.SIGTERM)
        client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + json.dumps(
            {"interval_ms": 5000, "limits": [], "denied": [], "all": {}}
        ).encode())
    try:
        assert child.wait(60) == 0
    finally:
        child.kill()
        os.close(ours)


def test_an_answer_without_an_end(listening):
    def drip():
        with take(listening) as client:
            try:
                while True:
                    client.sendall(b"x")
                    time.sleep(0.1)
            except OSError:  # it has gone
                pass

    dripping = threading.Thread(target=drip)
    dripping.start()
    assert "timed out" in bad(1, "top", "--server", url_of(listening), "--once")
    dripping.join(60)


@pytest.mark.parametrize("answer", [
    "no JSON", "[]", '{"interval_ms": 5000}',
    '{"interval_ms": 0, "denied": [], "all": {"allowed": [1]}, "limits": []}'])
def test_an_answer_of_another_form(listening, answer):
    def answer_once():
        with take(listening) as client:
            client.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + answer.encode())

    answering = threading.Thread(target=answer_once)
    answering.start()
    url = url_of(listening)
    assert bad(1, "top", "--server", url, "--once") == (
        f"limitree: {url}: has an answer of another form\n")
    answering.join(60)


def test_what_it_cannot_read(limits):
    assert "needs a limits.yaml" in bad(2, "top")
    assert "without TLS" in bad(2, "top", limits, "-u", "rediss://host")
    assert "of Redis, not of shm://" in bad(2, "top", limits, "-u", "shm://x")
    assert "not a URL" in bad(2, "top", "--server", "https://host")
    assert bad(1, "top", "--server", "http://127.0.0.1:1").startswith(
        "limitree: 127.0.0.1:1: ")
