"""What the tests of `limitree serve` share."""

import pytest
from service import LIMITS, Service


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
