"""What the tests of `limitree serve` share."""

import pathlib
import sys

import certifi
import pytest
from service import LIMITS, Service

# The tests of Python have servers for all.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "python"))
from servers import redis_server  # noqa: E402


@pytest.fixture(autouse=True, scope="session")
def few_authorities(tmp_path_factory):
    """Leaves one of the authorities of this machine: to read all of them takes
    each client of httpx 50 ms of a processor, and no test needs them."""
    every = pathlib.Path(certifi.where()).read_text("ascii")
    end = "-----END CERTIFICATE-----\n"
    one = tmp_path_factory.mktemp("authorities") / "one.pem"
    one.write_text(every[:every.index(end)] + end, "ascii")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("SSL_CERT_FILE", "SSL_CERT_DIR"):
            patch.delenv(name, raising=False)
        patch.setattr(certifi, "where", lambda: str(one))
        yield


@pytest.fixture(name="limits")
def make_limits(tmp_path):
    """A file with LIMITS."""
    path = tmp_path / "limits.yaml"
    path.write_text(LIMITS, encoding="utf-8")
    return path


@pytest.fixture(name="serve")
def make_serve(limits):
    """Starts services, and kills those that a test has left."""
    services = []

    def start(*words, **options):
        services.append(Service(options.pop("limits", limits), *words,
                                **options))
        return services[-1]

    yield start
    for service in services:
        service.kill()


@pytest.fixture(name="service")
def make_service(serve):
    return serve()


@pytest.fixture(name="store", params=["memory", "shm", "redis"])
def make_store(request, tmp_path):
    """The URL of a store of each kind."""
    if request.param == "redis":
        with redis_server() as (url, _):
            yield url
    elif request.param == "shm":
        yield f"shm://{tmp_path}/buckets"
    else:
        yield "memory://"


@pytest.fixture(name="collect")
def make_collect():
    """Starts collectors of OpenTelemetry, and ends them."""
    from collector import Collector
    collectors = []

    def collect(*statuses):
        collectors.append(Collector(*statuses))
        return collectors[-1]

    yield collect
    for collector in collectors:
        collector.shutdown()
        collector.server_close()


@pytest.fixture(name="upstream")
def make_upstream():
    from proxy import Upstream
    upstream = Upstream()
    yield upstream
    upstream.stop()


@pytest.fixture(name="proxy")
def make_proxy(upstream):
    """Starts Envoys before the upstream, and ends them."""
    from bootstrap import bootstrap, cluster, rate_limit_filter
    from proxy import Envoy
    started = []

    def start(target, *routes, filters=None, transport=None, service=None,
              **fields):
        """`target` is the service, and its cluster has the fields `service`;
        the other fields are of the rate limit filter."""
        service = cluster("limitree", target, http2=True, **(service or {}))
        if transport is not None:
            service["transport_socket"] = transport
        if filters is None:
            filters = [rate_limit_filter(**fields)]
        started.append(Envoy(bootstrap(routes, filters, [
            cluster("upstream", upstream.target), service])))
        return started[-1]

    yield start
    for one in started:
        one.stop()


@pytest.fixture(name="descriptors")
def make_descriptors(tmp_path):
    """Writes a file of descriptors."""
    def write(text, name="shop.yaml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write
