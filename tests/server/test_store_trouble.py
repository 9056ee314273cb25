"""Requests of Envoy while Redis hangs, restarts, or hands its work to another
server: each is answered by the policy, in time, over gRPC and over /json."""

import collections
import contextlib
import signal
import socket
import subprocess
import threading
import time

import grpc
import httpx
import pytest
from google.protobuf import json_format
from servers import redis_server, suspended, wait_for
from service import PATIENT, eventually, rls

DESCRIPTORS = """\
domain: apis
descriptors:
  - {key: user, rate_limit: {unit: year, requests_per_unit: 1000000}}
"""
UNAVAILABLE = {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
TIMEOUT = 1
#: What a machine with other work may add.
SLACK = 5
FULL = 1000000


def ask(*users, **fields):
    message = rls.RateLimitRequest(domain="apis", **fields)
    for user in users:
        message.descriptors.add().entries.add(key="user", value=user)
    return message


class GrpcClient:
    """Asks over gRPC."""

    def __init__(self, service):
        self.call = rls.Stub(service.channel()).ShouldRateLimit

    def __call__(self, message):
        """The answer, or the name of the error."""
        try:
            return self.call(message, timeout=PATIENT)
        except grpc.RpcError as error:
            return error.code().name


class JsonClient:
    """Asks /json."""

    def __init__(self, service):
        self.client = httpx.Client(base_url=service.http[0], timeout=PATIENT)

    def __call__(self, message):
        got = self.client.post("/json",
                               content=json_format.MessageToJson(message))
        if got.status_code in (200, 429):
            return json_format.Parse(got.text, rls.RateLimitResponse())
        return {503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED"}[got.status_code]


def left(answer):
    return [status.limit_remaining for status in answer.statuses]


def outcome(answer):
    if isinstance(answer, str):
        return answer
    return rls.RateLimitResponse.Code.Name(answer.overall_code)


class Redis:
    """A server that can be ended and started again."""

    def __init__(self, url, process):
        self.url = url
        self.path = url.removeprefix("redis+unix://")
        self.process = process

    def say(self, words):
        """The reply to a command that fits into one read."""
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(self.path)
            connection.sendall(f"{words}\r\n".encode())
            return connection.recv(1 << 16).decode()

    def calls(self, command):
        """How often a command was carried out."""
        name = f"cmdstat_{command}:calls="
        text = self.say("INFO commandstats")
        return int(text.split(name)[1].split(",")[0]) if name in text else 0

    @contextlib.contextmanager
    def hanging(self):
        with suspended(self.process):
            yield

    def kill(self):
        self.process.kill()
        self.process.wait()

    def start(self):
        self.process = subprocess.Popen(
            self.process.args, stdout=subprocess.DEVNULL,
            start_new_session=True)
        wait_for(self.path, self.process)


@pytest.fixture(name="redis")
def make_redis():
    with redis_server() as (url, process):
        redis = Redis(url, process)
        yield redis
        redis.kill()


@pytest.fixture(name="start")
def make_start(serve, redis, descriptors):
    """Starts a service on that server, with a policy for its failures."""
    path = descriptors(DESCRIPTORS)

    def start(policy, *words, **options):
        return serve("--descriptors", path, "--http-listen", "127.0.0.1:0",
                     "--store", redis.url, "--workers", 1, "--set",
                     f"on_store_error={policy}", *words, **options)

    return start


CLIENTS = pytest.mark.parametrize("client", [GrpcClient, JsonClient])
POLICIES = pytest.mark.parametrize("policy, outcomes", [
    ("raise", UNAVAILABLE), ("allow", {"OK"}), ("deny", {"OVER_LIMIT"}),
    ("local", {"OK"})])


@CLIENTS
@POLICIES
def test_redis_hangs(start, redis, client, policy, outcomes):
    asking = client(start(policy, "--set", f"timeout={TIMEOUT}s"))
    eventually(lambda: outcome(asking(ask("alex"))) == "OK")
    with redis.hanging():
        for _ in range(2):
            began = time.monotonic()
            assert outcome(asking(ask("alex"))) in outcomes
            assert time.monotonic() - began < TIMEOUT + SLACK
    # Then Redis decides again.
    eventually(lambda: outcome(asking(ask("kim"))) == "OK"
               and left(asking(ask("alex")))[0] < FULL - 1)


@CLIENTS
@POLICIES
def test_redis_restarts_under_load(start, redis, client, policy, outcomes):
    service = start(policy, "--set", f"timeout={TIMEOUT}s")
    seen = set()
    longest = [0]
    ends = threading.Event()

    def run(name):
        asking = client(service)
        while not ends.is_set():
            began = time.monotonic()
            seen.add(outcome(asking(ask(name, "all"))))
            longest[0] = max(longest[0], time.monotonic() - began)

    threads = [threading.Thread(target=run, args=[f"t{i}"]) for i in range(4)]
    for thread in threads:
        thread.start()
    try:
        eventually(lambda: "OK" in seen)
        redis.kill()
        eventually(lambda: seen & outcomes)
        redis.start()
        eventually(lambda: redis.calls("evalsha") + redis.calls("eval") > 100)
    finally:
        ends.set()
        for thread in threads:
            thread.join()
    assert seen <= outcomes | {"OK"}
    assert longest[0] < TIMEOUT + SLACK


def asked_while_it_hangs(service, redis, seconds, threads=4):
    """The outcomes of requests made while Redis hangs."""
    clients = [GrpcClient(service) for _ in range(threads)]
    for one in clients:
        eventually(lambda one=one: outcome(one(ask("warm"))) == "OK")
    ends = threading.Event()
    seen = collections.Counter()

    def run(asking):
        while not ends.is_set():
            seen[outcome(asking(ask("alex")))] += 1

    workers = [threading.Thread(target=run, args=[one]) for one in clients]
    for worker in workers:
        worker.start()
    with redis.hanging():
        time.sleep(seconds)
    ends.set()
    for worker in workers:
        worker.join()
    return seen


def test_a_blip_of_redis_is_waited_for(start, redis):
    service = start("raise", env={"LIMITREE_SET": ""})
    # Now and then Redis gets no processor for longer.
    assert any(all(
        asked_while_it_hangs(service, redis, 0.13).keys() == {"OK"}
        for _ in range(4)) for _ in range(5))


def test_a_service_that_is_stopped_does_not_blame_redis(start, redis):
    """Whatever the process loses, a healthy Redis is no store that fails."""
    # Longer than Redis waits for a processor here.
    service = start("raise", "--set", "timeout=1s")
    ends = threading.Event()
    seen = collections.Counter()

    def run(name):
        asking = GrpcClient(service)
        while not ends.is_set():
            seen[outcome(asking(ask(name)))] += 1

    workers = [threading.Thread(target=run, args=[f"t{i}"]) for i in range(4)]
    for worker in workers:
        worker.start()
    for pause in (0.02, 0.06, 0.5, 1.5, 0.2, 0.02, 1.5, 1.5):
        before = seen["OK"]
        eventually(lambda before=before: seen["OK"] > before + 8)
        service.signal(signal.SIGSTOP)
        time.sleep(pause)
        service.signal(signal.SIGCONT)
    before = seen["OK"]
    eventually(lambda: seen["OK"] > before + 8)
    ends.set()
    for worker in workers:
        worker.join()
    assert seen.keys() == {"OK"}
    assert not [line for line in service.lines if "the store" in line]


def test_the_environment_says_how_long(serve, redis, descriptors):
    service = serve("--descriptors", descriptors(DESCRIPTORS), "--workers", 1,
                    limits=None, env={"REDIS_TIMEOUT": f"{PATIENT}s",
                                      "REDIS_URL": redis.path,
                                      "LIMITREE_SET": ""})
    assert asked_while_it_hangs(service, redis, 1).keys() == {"OK"}


def test_a_client_with_less_time_gets_the_answer_of_the_policy(start, redis):
    service = start("allow", "--set", f"timeout={PATIENT}s")
    call = rls.Stub(service.channel()).ShouldRateLimit
    assert outcome(call(ask("alex"), timeout=PATIENT)) == "OK"

    def answers():
        try:
            return outcome(call(ask("alex"), timeout=0.5)) == "OK"
        except grpc.RpcError:  # the machine was busy for a tenth of that
            return False

    with redis.hanging():
        eventually(answers)


def test_the_log_says_what_clients_see(start, redis):
    service = start("deny")
    asking = GrpcClient(service)
    assert outcome(asking(ask("alex"))) == "OK"
    redis.kill()
    assert outcome(asking(ask("alex"))) == "OVER_LIMIT"
    here = f"in process {service.process.pid}"
    line = service.wait_for("the store")
    assert f"{redis.path} fails {here} (" in line
    assert line.endswith("on_store_error=deny: requests are denied unchecked "
                         "until it is back")
    redis.start()
    eventually(lambda: outcome(asking(ask("alex"))) == "OK")
    # The first request after five quiet seconds says it.
    eventually(lambda: outcome(asking(ask("alex"))) == "OK" and
               any(f"is back {here}" in one for one in service.lines))
    line = service.wait_for("the store")
    assert f"{redis.path} is back {here} after " in line
    assert "on_store_error=deny: " in line
    assert " requests were denied unchecked, " in line


@CLIENTS
def test_redis_becomes_a_replica(start, redis, client):
    asking = client(start("raise", "--set", f"timeout={PATIENT}s"))
    assert left(asking(ask("alex"))) == [FULL - 1]
    redis.say("REPLICAOF 127.0.0.1 1")
    assert outcome(asking(ask("alex"))) == "UNAVAILABLE"
    redis.say("REPLICAOF NO ONE")
    eventually(lambda: outcome(asking(ask("kim"))) == "OK")
    assert left(asking(ask("alex"))) == [FULL - 2]


@CLIENTS
def test_one_round_trip_for_all_descriptors(start, redis, client):
    asking = client(start("raise", "--set", f"timeout={PATIENT}s"))
    users = [f"user{i}" for i in range(20)]
    asking(ask(*users))  # the script is not known yet
    before = redis.calls("evalsha"), redis.calls("eval")
    assert left(asking(ask(*users))) == [FULL - 2] * 20
    assert (redis.calls("evalsha"), redis.calls("eval")) == (
        before[0] + 1, before[1])
