"""grpc.health.v1, by the client of grpcio-health-checking."""

import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from service import error_of

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING
UNKNOWN = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN


def asked(name):
    return health_pb2.HealthCheckRequest(service=name)


@pytest.fixture(name="health")
def make_health(service):
    return health_pb2_grpc.HealthStub(service.channel())


@pytest.mark.parametrize("name", ["", "ratelimit", "limitree.v1.Limiter",
                                  "limitree.v1.Descriptors"])
def test_check(health, name):
    assert health.Check(asked(name)).status == SERVING


def test_an_unknown_service_is_not_found(health):
    assert error_of(lambda: health.Check(asked("100% n\u00f6\n"))) == (
        grpc.StatusCode.NOT_FOUND, "unknown service 100% n\u00f6\n")


def test_watch_answers_at_once(health):
    watch = health.Watch(asked("ratelimit"))
    assert next(watch).status == SERVING
    watch.cancel()


def test_watch_of_an_unknown_service_goes_on(health):
    watch = health.Watch(asked("nobody"))
    assert next(watch).status == UNKNOWN
    time.sleep(0.5)
    assert watch.is_active()
    watch.cancel()


def test_all_that_watch_learn_of_the_end(serve):
    service = serve("--workers", 2, "--drain-delay", "5s")
    watches = [health_pb2_grpc.HealthStub(service.channel()).Watch(asked(name))
               for name in ("", "ratelimit") for _ in range(5)]
    for watch in watches:
        assert next(watch).status == SERVING
    service.terminate()
    for watch in watches:
        assert next(watch).status == NOT_SERVING
    health = health_pb2_grpc.HealthStub(service.channel())
    assert health.Check(asked("")).status == NOT_SERVING  # in the delay
    for watch in watches:
        assert error_of(lambda watch=watch: next(watch)) == (
            grpc.StatusCode.UNAVAILABLE, "the server shuts down")
    assert service.wait() == 0
