"""Buckets in memcached."""

import grpc
import pytest
from servers import memcached, suspended
from service import PATIENT, error_of, eventually, fails, pb, request

TRADE = ("user", "alex", "trade")


@pytest.fixture(name="server")
def make_server():
    """The path of a server's socket, and its process."""
    with memcached() as (url, process):
        yield url.removeprefix("memcached+unix://"), process


def by_environment(path, **more):
    return {"BACKEND_TYPE": "memcache", "MEMCACHE_HOST_PORT": path} | more


def test_services_share_it_by_the_variables_of_the_original(serve, server):
    limiters = [serve("--workers", 2, env=by_environment(
        server[0], CACHE_KEY_PREFIX="x:")).limiter() for _ in range(2)]
    assert [limiter.Authorize(request(*TRADE)).remaining
            for limiter in limiters * 2] == [2, 1, 0, 0]
    other = serve(env=by_environment(server[0])).limiter()
    assert other.Authorize(request(*TRADE)).remaining == 2


@pytest.mark.parametrize("policy", ["raise", "deny", "local"])
def test_while_it_hangs(serve, server, policy):
    path, process = server
    service = serve("--set", f"on_store_error={policy}", "--set",
                    "timeout=2s", env=by_environment(path))
    limiter = service.limiter()

    def answers():
        try:
            return limiter.Authorize(request(*TRADE, cost=0),
                                     timeout=PATIENT).source
        except grpc.RpcError:
            return None

    eventually(lambda: answers() == pb.SOURCE_STORE)
    with suspended(process):
        if policy == "raise":
            code, _ = error_of(lambda: limiter.Authorize(
                request(*TRADE), timeout=PATIENT))
            assert code in (grpc.StatusCode.UNAVAILABLE,
                            grpc.StatusCode.DEADLINE_EXCEEDED)
        else:
            decision = limiter.Authorize(request(*TRADE), timeout=PATIENT)
            assert decision.limited == (policy == "deny")
            assert decision.source != pb.SOURCE_STORE
    eventually(lambda: answers() == pb.SOURCE_STORE)


def test_a_service_starts_without_it(serve, server, tmp_path):
    service = serve("--check-store",
                    env=by_environment(f"{tmp_path}/nobody.sock"))
    code, _ = error_of(lambda: service.limiter().Authorize(request(*TRADE)))
    assert code == grpc.StatusCode.UNAVAILABLE
    assert server[1].poll() is None


@pytest.mark.parametrize("variables, said", [
    ({}, "MEMCACHE_HOST_PORT: or MEMCACHE_SRV is needed"),
    ({"MEMCACHE_HOST_PORT": "a:1", "MEMCACHE_SRV": "_m._tcp.x"},
     "MEMCACHE_SRV: and MEMCACHE_HOST_PORT exclude each other"),
    ({"MEMCACHE_SRV": "cache.example.org"}, "MEMCACHE_SRV: a name must follow")
])
def test_variables_that_make_no_sense(limits, variables, said):
    [*_, message] = fails(limits, code=2, BACKEND_TYPE="memcache",
                          **variables)
    assert said in message
