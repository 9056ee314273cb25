"""What clients of Envoy see while the service, or its store, is in trouble."""

import contextlib
import os
import signal
import threading

import pytest
from authority import Authority
from bootstrap import descriptor, key, route, tls_to
from servers import redis_server, suspended
from service import eventually, limit_of, succeeds

TWO = """\
domain: shop
descriptors:
  - key: route
    rate_limit: {unit: day, requests_per_unit: 2}
"""
ROUTE = route("/", descriptor(key("route", "all")))

#: What Envoy answers if it cannot know, by failure_mode_deny.
ALLOWED, DENIED = 200, 500


@pytest.fixture(name="start")
def make_start(serve, descriptors):
    """Starts services with that limit."""
    path = descriptors(TWO)

    def start(*words, **options):
        return serve("--descriptors", path, *words, limits=None, **options)

    return start


# ---- The service ------------------------------------------------------------

@pytest.mark.parametrize("deny", [False, True])
def test_a_service_that_is_gone(start, proxy, upstream, deny):
    service = start()
    envoy = proxy(service.target, ROUTE, failure_mode_deny=deny)
    assert envoy.statuses("/", 1) == [200]
    service.process.kill()
    service.wait()
    assert envoy.statuses("/", 4) == [DENIED if deny else ALLOWED] * 4
    assert len(upstream.requests) == (1 if deny else 5)
    # Another one takes over, with an empty memory.
    start(listen=service.target)
    eventually(lambda: "x-ratelimit-limit" in envoy.get("/").headers)
    eventually(lambda: envoy.get("/").status == 429)


def test_envoy_says_what_the_status_is(start, proxy):
    service = start()
    envoy = proxy(service.target, ROUTE, failure_mode_deny=True,
                  status_on_error={"code": "ServiceUnavailable"})
    service.process.kill()
    service.wait()
    assert envoy.statuses("/", 2) == [503] * 2


@pytest.mark.parametrize("deny", [False, True])
def test_a_service_that_hangs(start, proxy, deny):
    service = start()
    envoy = proxy(service.target, ROUTE, timeout="0.2s",
                  failure_mode_deny=deny)
    with suspended(service.process):
        assert envoy.get("/").status == (DENIED if deny else ALLOWED)
    # The connection is still good.
    eventually(lambda: envoy.get("/").status == 429)
    assert envoy.stat("cluster.limitree.upstream_cx_total") == 1


def test_a_service_that_is_replaced_under_load(start, proxy):
    """Not one request is lost, though Envoy denies whatever fails."""
    service = start("--drain-delay", "200ms")
    envoy = proxy(service.target, ROUTE, failure_mode_deny=True)
    seen, goes_on = [], threading.Event()

    def work():
        while not goes_on.is_set():
            seen.append(envoy.get("/").status)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        count = len(seen)
        eventually(lambda count=count: len(seen) > count + 50)
        fresh = start("--drain-delay", "200ms", "--share-ports",
                      listen=service.target)
        service.terminate()
        assert service.wait() == 0
        service = fresh
    count = len(seen)
    eventually(lambda: len(seen) > count + 50)
    goes_on.set()
    for thread in threads:
        thread.join()
    assert set(seen) <= {200, 429}
    assert seen.count(200) == 6  # two for each of the three services


def test_new_limits_while_it_runs(start, descriptors, proxy):
    service = start()
    envoy = proxy(service.target, ROUTE)
    assert envoy.statuses("/", 3) == [200, 200, 429]
    descriptors(TWO.replace("2}", "6}"))
    service.signal(signal.SIGHUP)
    eventually(lambda: envoy.get("/").headers[
        "x-ratelimit-limit"].startswith("6"))
    descriptors("domain: shop\ndescriptors: [{}]\n")
    service.signal(signal.SIGHUP)
    service.wait_for("descriptor has empty key")
    assert envoy.get("/").headers["x-ratelimit-limit"] == "6, 6;w=86400"


def test_a_unix_socket(start, proxy, tmp_path):
    service = start(listen=f"unix:{tmp_path}/s")
    envoy = proxy(service.target, ROUTE)
    assert envoy.statuses("/", 3) == [200, 200, 429]


def test_envoy_checks_its_health(start, proxy):
    service = start("--drain-delay", "1h")
    envoy = proxy(service.target, ROUTE, failure_mode_deny=True, service={
        "health_checks": [{
            "timeout": "10s", "interval": "0.1s", "unhealthy_threshold": 1,
            "healthy_threshold": 1, "no_traffic_interval": "0.1s",
            "grpc_health_check": {"service_name": "ratelimit"}}],
        "common_lb_config": {"healthy_panic_threshold": {"value": 0}}})

    def healthy():
        return envoy.stat("cluster.limitree.membership_healthy")

    eventually(lambda: healthy() == 1)
    assert envoy.statuses("/", 3) == [200, 200, 429]
    service.terminate()
    eventually(lambda: healthy() == 0)
    assert envoy.get("/").status == DENIED


# ---- The store --------------------------------------------------------------

@pytest.fixture(name="redis")
def make_redis():
    with redis_server() as (url, process):
        yield url, process


def test_services_with_one_store(start, proxy, redis):
    envoys = [proxy(start("--store", redis[0]).target, ROUTE)
              for _ in range(2)]
    assert [envoys[i % 2].get("/").status for i in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("deny", [False, True])
def test_envoy_decides_while_the_store_is_gone(start, proxy, redis, deny):
    url, process = redis
    service = start("--store", url, "--set", "on_store_error=raise", "--set",
                    "timeout=2s")
    envoy = proxy(service.target, ROUTE, failure_mode_deny=deny)
    eventually(lambda: succeeds(lambda: limit_of(service, "shop", "route")))
    for trouble in (suspended(process), killed(process)):
        with trouble:
            assert envoy.statuses("/", 2) == [
                DENIED if deny else ALLOWED] * 2


@contextlib.contextmanager
def killed(process):
    process.kill()
    process.wait()
    yield


@pytest.mark.parametrize(("policy", "statuses"), [
    ("allow", [200, 200, 200]), ("deny", [429, 429, 429]),
    ("local", [200, 200, 429])])
def test_the_service_decides_while_the_store_is_gone(start, proxy, redis,
                                                     policy, statuses):
    url, process = redis
    service = start("--store", url, "--set", f"on_store_error={policy}",
                    "--set", "timeout=300ms")
    with killed(process):
        envoy = proxy(service.target, ROUTE, failure_mode_deny=True)
        assert envoy.statuses("/", 3) == statuses


# ---- TLS --------------------------------------------------------------------

@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("envoy") / "one")


@pytest.fixture(name="other", scope="module")
def make_other(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("envoy") / "other")


@pytest.fixture(name="own", scope="module")
def make_own(authority):
    """Options for the certificate of the service."""
    cert, private = authority.sign("server", "DNS:limits.example")
    return ["--tls-cert", cert, "--tls-key", private]


def asked(proxy, service, transport):
    """The statuses of three requests through an Envoy with this transport."""
    envoy = proxy(service.target, ROUTE, transport=transport,
                  failure_mode_deny=True)
    return envoy.statuses("/", 3)


def test_tls(start, proxy, own, authority, other):
    service = start(*own)
    for transport in (tls_to(other, name="limits.example"),
                      tls_to(authority, name="else.example"), None):
        assert asked(proxy, service, transport) == [DENIED] * 3
    assert asked(proxy, service,
                 tls_to(authority, name="limits.example")) == [200, 200, 429]


def test_mutual_tls(start, proxy, own, authority, other):
    service = start(*own, "--tls-client-ca", authority.cert,
                    "--tls-client-name", "spiffe://mesh/envoy")
    pairs = [authority.sign("stranger", "URI:spiffe://mesh/stranger"),
             other.sign("forged", "URI:spiffe://mesh/envoy"), None]
    for pair in pairs:
        transport = tls_to(authority, pair, name="limits.example")
        assert asked(proxy, service, transport) == [DENIED] * 3
    right = authority.sign("envoy", "URI:spiffe://mesh/envoy")
    assert asked(proxy, service, tls_to(
        authority, right, name="limits.example")) == [200, 200, 429]


def test_certificates_that_change(start, proxy, authority, other, tmp_path):
    """Envoy's next connection has the new one."""
    cert, private = tmp_path / "tls.crt", tmp_path / "tls.key"

    def put(signer):
        pair = signer.sign("changing", "DNS:limits.example")
        for source, target in zip(pair, (cert, private)):
            fresh = tmp_path / "fresh"
            fresh.write_bytes(source.read_bytes())
            os.replace(fresh, target)

    put(authority)
    service = start("--tls-cert", cert, "--tls-key", private)
    first = tls_to(authority, name="limits.example")
    envoy = proxy(service.target, ROUTE, transport=first,
                  failure_mode_deny=True)
    assert envoy.get("/").status == 200
    put(other)
    service.wait_for("the certificates are reloaded")
    assert envoy.get("/").status == 200  # its connection stays
    second = tls_to(other, name="limits.example")
    eventually(lambda: asked(proxy, service, second)[0] == 429)
    assert asked(proxy, service, first) == [DENIED] * 3
