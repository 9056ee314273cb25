"""Buckets in Redis."""

import contextlib
import json
import time
import urllib.error
import urllib.request

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from servers import redis_server, suspended
from service import error_of, eventually, pb, pb_grpc, request, succeeds

TRADE = ("user", "alex", "trade")


@pytest.fixture(name="redis")
def make_redis():
    with redis_server() as (url, process):
        yield url, process


def test_all_workers_decide_in_redis(serve, redis):
    services = [serve("--store", redis[0], "--workers", 4) for _ in range(2)]
    assert services[0].lines[0].endswith("with 4 workers")
    limiters = [service.limiter() for service in services]
    decision = limiters[0].Authorize(request(*TRADE))
    assert (decision.remaining, decision.level_count) == (2, 2)
    assert [level.policy for level in decision.levels] == [
        "user:*", "user:*/trade"]
    assert limiters[1].Authorize(request(*TRADE)).remaining == 1
    limiters[1].Reset(pb.ResetRequest(segments=TRADE))
    assert limiters[0].Peek(request(*TRADE, cost=0)).remaining == 3
    code, _ = error_of(lambda: limiters[0].Authorize(request("nobody")))
    assert code == grpc.StatusCode.NOT_FOUND
    code, _ = error_of(lambda: limiters[0].Reset(
        pb.ResetRequest(segments=["nobody"])))
    assert code == grpc.StatusCode.NOT_FOUND


def test_the_environment_names_the_store(serve, redis):
    service = serve("--workers", 2, env={"LIMITREE_STORE": redis[0]})
    assert service.lines[0].endswith("with 2 workers")
    assert service.limiter().Authorize(request(*TRADE)).remaining == 2
    service = serve("--store", redis[0])
    assert service.limiter().Authorize(request(*TRADE)).remaining == 1


def test_connections_to_any_worker_have_the_same_buckets(serve, redis):
    service = serve("--store", redis[0], "--workers", 4)
    # The system spreads them over the workers.
    channels = [service.channel() for _ in range(16)]
    calls = [pb_grpc.LimiterStub(channel).Authorize.future(request(*TRADE))
             for channel in channels]
    allowed = [call.result(30) for call in calls if not call.result(30).limited]
    assert len(allowed) == 3


def test_thousands_of_calls_at_once(serve, redis):
    limiter = serve("--store", redis[0]).limiter()
    calls = [limiter.Authorize.future(request("user", "alex"))
             for _ in range(3000)]
    assert sum(not call.result(60).limited for call in calls) == 100


def test_a_store_that_hangs_holds_nobody_up(serve, redis):
    url, process = redis
    service = serve("--store", url, "--set", "timeout=10s",
                    "--set", "on_store_error=raise")
    limiter = service.limiter()
    limiter.Authorize(request(*TRADE))
    with suspended(process):
        start = time.monotonic()
        code, _ = error_of(
            lambda: limiter.Authorize(request(*TRADE), timeout=0.3))
        assert code == grpc.StatusCode.DEADLINE_EXCEEDED
        waiting = [limiter.Authorize.future(request(*TRADE))
                   for _ in range(10)]
        # What needs no store is answered meanwhile, in the same thread.
        assert limiter.Authorize(request("free"), timeout=5).unlimited
        waiting[0].cancel()
        resets = [limiter.Reset.future(pb.ResetRequest(segments=TRADE))
                  for _ in range(3)]
        assert limiter.Authorize(request("free"), timeout=5).unlimited
        assert time.monotonic() - start < 9
    for call in waiting[1:]:
        assert call.result(30).level_count == 2
    for reset in resets:
        reset.result(30)


def test_a_store_that_fails_is_a_status(serve, redis):
    url, process = redis
    service = serve("--store", url, "--set", "timeout=2s",
                    "--set", "on_store_error=raise")
    limiter = service.limiter()
    eventually(lambda: succeeds(lambda: limiter.Authorize(request(*TRADE))))
    with suspended(process):
        code, message = error_of(lambda: limiter.Authorize(request(*TRADE)))
        assert code == grpc.StatusCode.DEADLINE_EXCEEDED, message
        assert message != "Deadline Exceeded"
    process.kill()
    process.wait()
    for call in (lambda: limiter.Authorize(request(*TRADE)),
                 lambda: limiter.Reset(pb.ResetRequest(segments=TRADE))):
        code, message = error_of(call)
        assert code in (grpc.StatusCode.UNAVAILABLE,
                        grpc.StatusCode.DEADLINE_EXCEEDED), message


def test_the_policy_for_failures_decides(serve, redis):
    url, process = redis
    service = serve("--store", url, "--set", "timeout=300ms",
                    "--set", "on_store_error=allow")
    process.kill()
    process.wait()
    decision = service.limiter().Authorize(request(*TRADE))
    assert decision.degraded and not decision.limited
    assert decision.source == pb.SOURCE_ALLOW


def test_the_end_with_calls_that_wait(serve, redis):
    url, process = redis
    service = serve("--store", url, "--set", "timeout=60s", "--drain-grace",
                    "500ms")
    limiter = service.limiter()
    limiter.Authorize(request(*TRADE))
    with suspended(process):
        waiting = [limiter.Authorize.future(request(*TRADE))
                   for _ in range(10)]
        time.sleep(0.2)
        service.terminate()
        assert service.wait() == 0
        for call in waiting:
            assert call.exception(30) is not None


def health(service):
    stub = health_pb2_grpc.HealthStub(service.channel())
    answer = stub.Check(health_pb2.HealthCheckRequest(service="ratelimit"))
    return health_pb2.HealthCheckResponse.ServingStatus.Name(answer.status)


def test_health_may_depend_on_the_store(serve, redis):
    service = serve("--store", redis[0], "--check-store", "--http-listen",
                    "127.0.0.1:0", "--set", "timeout=2s")

    def is_ready():
        """As the probes of Kubernetes ask."""
        url = service.http[0] + "/healthcheck"
        with contextlib.suppress(urllib.error.HTTPError):
            with urllib.request.urlopen(url) as answer:
                return answer.status == 200
        return False

    eventually(lambda: health(service) == "SERVING")
    assert is_ready()
    assert not any("the store" in line for line in service.lines)
    with suspended(redis[1]):
        service.wait_for("the store does not answer")
        eventually(lambda: health(service) == "NOT_SERVING")
        assert not is_ready()
    eventually(lambda: health(service) == "SERVING")
    assert is_ready()


def test_health_of_a_store_that_was_never_there(serve):
    service = serve("--store", "redis://127.0.0.1:1", "--admin-listen",
                    "127.0.0.1:0", env={
                        "REDIS_HEALTH_CHECK_ACTIVE_CONNECTION": "true"})
    assert health(service) == "NOT_SERVING"
    service.wait_for("warning: the store does not answer")
    with urllib.request.urlopen(
            f"{service.admin[0]}/ui/data.json") as answer:
        assert json.load(answer)["store"]["answers"] is False
    assert health(service) == "NOT_SERVING"
    service = serve("--store", "redis://127.0.0.1:1")
    assert health(service) == "SERVING"


def test_memory_always_answers(serve):
    assert health(serve("--check-store")) == "SERVING"


def test_redis_as_the_environment_says(serve, redis):
    path = redis[0].removeprefix("redis+unix://")
    service = serve(env={"REDIS_URL": path, "REDIS_SOCKET_TYPE": "unix"})
    assert service.limiter().Authorize(request(*TRADE)).remaining == 2
    # The same buckets.
    service = serve("--store", redis[0])
    assert service.limiter().Authorize(request(*TRADE)).remaining == 1
