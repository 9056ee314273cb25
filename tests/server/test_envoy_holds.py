"""How many requests at once, and budgets of tokens, before a real Envoy: the
examples in examples/envoy."""

import concurrent.futures
import contextlib
import random
import socket

import pytest
from counting import CountingUpstream
from grpc_health.v1 import health_pb2, health_pb2_grpc
from proxy import Envoy, ask
from servers import redis_server, suspended
from service import PATIENT, ROOT, eventually, rls

EXAMPLES = ROOT / "examples" / "envoy"
SITE = (EXAMPLES / "concurrency" / "site.yaml").read_text("utf-8")
MOST = 10

OK, OVER = 1, 2


def descriptor(request, user="alex", **fields):
    one = rls.Descriptor(**fields)
    one.entries.add(key="user", value=user)
    one.entries.add(key="request", value=request)
    return one


def message(*descriptors):
    return rls.RateLimitRequest(domain="site", descriptors=descriptors)


def left_in(service, one):
    """What is left of the limit of a descriptor."""
    if not service.channels:
        service.channel()
    one.hits_addend.value = 0
    answer = rls.Stub(service.channels[0]).ShouldRateLimit(message(one))
    return answer.statuses[0].limit_remaining


def left_of(service, user="alex"):
    """How many slots of a user are free."""
    return left_in(service, descriptor("none", user))


@contextlib.contextmanager
def running(example, service, upstream, **changes):
    """Envoy with the configuration of an example."""
    text = (EXAMPLES / example / "envoy.yaml").read_text("utf-8")
    # It is not the time of this machine that is tested.
    changes = {"timeout: 0.25s": f"timeout: {PATIENT}s", **changes}
    for before, after in (
            *changes.items(),
            ("port_value: 9901}", "port_value: 0}"),
            ("port_value: 10000}", "port_value: 0}"),
            ("port_value: 8081}", f"port_value: {service.port}}}"),
            ("port_value: 8000}",
             f"port_value: {upstream.target.rpartition(':')[2]}}}")):
        assert text.count(before) == 1
        text = text.replace(before, after)
    envoy = Envoy(text)
    try:
        yield envoy
    finally:
        envoy.stop()


@pytest.fixture(name="counting")
def make_counting():
    upstream = CountingUpstream()
    yield upstream
    upstream.stop()


@pytest.fixture(name="store", params=["memory", "redis"])
def make_store(request):
    if request.param == "memory":
        yield "memory://"
        return
    with redis_server() as (url, _):
        yield url


def abort(port, user, moment):
    """A client that goes away after that many seconds."""
    with socket.create_connection(("127.0.0.1", port), PATIENT) as client:
        client.sendall(f"GET / HTTP/1.1\r\nhost: x\r\nx-user: {user}\r\n\r\n"
                       .encode())
        client.settimeout(moment)
        with contextlib.suppress(TimeoutError):
            client.recv(1)


def client(port, number):
    """Some requests of one client; the statuses of those that it waits for."""
    statuses = []
    for _ in range(5):
        if random.random() < 0.3:
            abort(port, "alex", random.uniform(0.0001, 0.01))
        else:
            statuses.append(ask(port, f"/{number}", x_user="alex").status)
    return statuses


def test_requests_at_once(serve, store, counting, descriptors):
    """200 clients, some of which go away, and never more than ten requests."""
    site = SITE.replace("hold: 10m", "hold: 10s")
    assert site != SITE
    service = serve("--descriptors", descriptors(site), "--store", store,
                    limits=None)
    with (running("concurrency", service, counting) as envoy,
          concurrent.futures.ThreadPoolExecutor(200) as pool):
        load = [pool.submit(client, envoy.port, i) for i in range(200)]
        # Another user has slots of its own.
        assert [ask(envoy.port, "/", x_user="carol").status
                for _ in range(20)] == [200] * 20
        statuses = [one for some in load for one in some.result()]
        assert set(statuses) == {200, 429}
        assert 1 < counting.most["alex"] <= MOST
        # What ended is free; what Envoy could not tell ends by itself.
        eventually(lambda: left_of(service) == MOST)
        counting.most.clear()
        waiting = [pool.submit(ask, envoy.port, "/wait", x_user="alex")
                   for _ in range(MOST)]
        eventually(lambda: counting.busy["alex"] == MOST)
        assert ask(envoy.port, "/wait", x_user="alex").status == 429
        counting.release()
        assert [one.result().status for one in waiting] == [200] * MOST
        assert counting.most["alex"] == MOST
        eventually(lambda: left_of(service) == MOST)


def test_a_denied_request_frees_nothing(serve, counting):
    """Envoy tells the end of denied requests, too."""
    service = serve("--descriptors", EXAMPLES / "concurrency" / "site.yaml",
                    limits=None)
    with (running("concurrency", service, counting) as envoy,
          concurrent.futures.ThreadPoolExecutor(MOST) as pool):
        waiting = [pool.submit(ask, envoy.port, "/wait", x_user="alex")
                   for _ in range(MOST)]
        eventually(lambda: counting.busy["alex"] == MOST)
        asked = envoy.stat("cluster.limitree.upstream_rq_total")
        # A client cannot choose the name of what it holds.
        for _ in range(20):
            answer = ask(envoy.port, "/", x_user="alex", x_request_id="mine")
            assert answer.status == 429
        eventually(lambda: envoy.stat(
            "cluster.limitree.upstream_rq_total") == asked + 40)
        eventually(lambda: envoy.stat(
            "cluster.limitree.upstream_rq_active") == 0)
        assert left_of(service) == 0
        counting.release()
        assert [one.result().status for one in waiting] == [200] * MOST


def test_several_services_share_the_slots(serve, counting):
    """One takes a slot, and the other frees it."""
    with redis_server() as (url, _):
        services = [serve("--descriptors",
                          EXAMPLES / "concurrency" / "site.yaml",
                          "--store", url, limits=None) for _ in range(2)]
        endpoint = ("- endpoint: {address: {socket_address: {address: "
                    "127.0.0.1, port_value: ")
        both = {f"{endpoint}8081}}}}}}": "".join(
            f"{endpoint}{port}}}}}}}\n              "
            for port in ("8081", services[1].port))}
        with (running("concurrency", services[0], counting, **both) as envoy,
              concurrent.futures.ThreadPoolExecutor(50) as pool):
            load = [pool.submit(ask, envoy.port, "/", x_user="alex")
                    for _ in range(400)]
            assert {one.result().status for one in load} == {200, 429}
            assert 1 < counting.most["alex"] <= MOST
            for service in services:
                eventually(lambda one=service: left_of(one) == MOST)


def test_a_client_that_goes_away_while_redis_is_asked(serve, counting):
    """Envoy does not tell the end of such a request; the service sees it."""
    with redis_server() as (url, process):
        service = serve("--descriptors",
                        EXAMPLES / "concurrency" / "site.yaml",
                        "--store", url, "--workers", 1,
                        "--set", f"timeout={PATIENT}s", limits=None)
        assert left_of(service) == MOST
        with running("concurrency", service, counting) as envoy:
            with suspended(process):
                with socket.create_connection(
                        ("127.0.0.1", envoy.port)) as client_:
                    client_.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n"
                                    b"x-user: alex\r\n\r\n")
                    eventually(lambda: envoy.stat(
                        "cluster.limitree.upstream_rq_active") == 1)
                eventually(lambda: envoy.stat(
                    "cluster.limitree.upstream_rq_active") == 0)
                assert envoy.stat("cluster.limitree.upstream_rq_total") == 1
            eventually(lambda: left_of(service) == MOST)
            assert counting.served["alex"] == 0


def test_a_call_that_is_cancelled_holds_nothing(serve, descriptors):
    """The same by gRPC, with descriptors that hold and others that do not."""
    with redis_server() as (url, process):
        service = serve(
            "--descriptors", descriptors(SITE + """\
  - {key: other, rate_limit: {unit: month, requests_per_unit: 100}}
"""), "--store", url, "--workers", 1, "--set", f"timeout={PATIENT}s",
            limits=None)
        channel = service.channel()
        stub = rls.Stub(channel)
        health = health_pb2_grpc.HealthStub(channel)
        other = rls.Descriptor()
        other.entries.add(key="other")
        assert left_of(service) == MOST
        with suspended(process):
            calls = [stub.ShouldRateLimit.future(
                message(descriptor(f"r{i}"), other)) for i in range(3)]
            health.Check(health_pb2.HealthCheckRequest(), timeout=PATIENT)
            for call in calls[:2]:
                call.cancel()
            health.Check(health_pb2.HealthCheckRequest(), timeout=PATIENT)
        assert calls[2].result(PATIENT).overall_code == OK
        eventually(lambda: left_of(service) == MOST - 1)
        # Hits of ordinary limits stay counted.
        other.hits_addend.value = 0
        answer = stub.ShouldRateLimit(message(other))
        assert answer.statuses[0].limit_remaining == 97


# ---- Tokens -----------------------------------------------------------------

@pytest.fixture(name="model")
def make_model():
    """Its answers say how many tokens they have used: /700 uses 700."""
    upstream = CountingUpstream(tokens=lambda path: path[1:])
    yield upstream
    upstream.stop()


def tokens_left(service):
    one = rls.Descriptor()
    for key, value in (("user", "alex"), ("unit", "tokens"),
                       ("request", "none")):
        one.entries.add(key=key, value=value)
    return left_in(service, one)


def test_a_budget_of_tokens(serve, store, model, descriptors):
    site = (EXAMPLES / "tokens" / "site.yaml").read_text("utf-8")
    site = site.replace("unit: minute", "unit: month")
    service = serve("--descriptors", descriptors(site), "--store", store,
                    limits=None)
    with (running("tokens", service, model) as envoy,
          concurrent.futures.ThreadPoolExecutor(50) as pool):
        assert ask(envoy.port, "/700", x_user="alex").status == 200
        eventually(lambda: tokens_left(service) == 9300)
        # At once no more pass than their estimates allow: 18 of 500.
        waiting = [pool.submit(ask, envoy.port, "/wait", x_user="alex")
                   for _ in range(18)]
        eventually(lambda: model.busy["alex"] == 18)
        assert ask(envoy.port, "/1", x_user="alex").status == 429
        assert ask(envoy.port, "/1", x_user="carol").status == 200
        model.release()
        # These do not say what they have used: they stay held.
        assert [one.result().status for one in waiting] == [200] * 18
        assert tokens_left(service) == 300


def test_a_budget_is_used_up(serve, model, descriptors):
    site = (EXAMPLES / "tokens" / "site.yaml").read_text("utf-8")
    site = site.replace("unit: minute", "unit: month")
    service = serve("--descriptors", descriptors(site), limits=None)
    with running("tokens", service, model) as envoy:
        for used, left in ((3000, 7000), (200, 6800), (6500, 300)):
            answer = ask(envoy.port, f"/{used}", x_user="alex")
            assert answer.status == 200
            eventually(lambda all_left=left: tokens_left(service) == all_left)
        for _ in range(3):
            assert ask(envoy.port, "/1", x_user="alex").status == 429
        assert tokens_left(service) == 300


def test_without_an_estimate_all_pass(serve, model, descriptors):
    """What a plain limit by the answer cannot do: envoyproxy/ratelimit, too,
    learns what was used when it is too late."""
    service = serve("--descriptors", descriptors("""\
domain: site
descriptors:
  - key: user
    descriptors:
      - key: unit
        value: tokens
        rate_limit: {unit: month, requests_per_unit: 1000}
"""), limits=None)
    plain = {"hits_addend: {number: 500}": "hits_addend: {number: 0}",
             ", is_negative_hits: true": "",
             "                                    - request_headers: "
             "{header_name: x-request-id, descriptor_key: request}\n": ""}
    with (running("tokens", service, model, **plain) as envoy,
          concurrent.futures.ThreadPoolExecutor(20) as pool):
        load = [pool.submit(ask, envoy.port, "/wait", x_user="alex")
                for _ in range(20)]
        eventually(lambda: model.busy["alex"] == 20)
        model.release()
        assert {one.result().status for one in load} == {200}
        assert ask(envoy.port, "/1001", x_user="alex").status == 200
        eventually(lambda: ask(envoy.port, "/1", x_user="alex").status == 429)
