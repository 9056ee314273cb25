"""limitree.drf: throttles, asked by REST framework's own client."""

import django_site  # noqa: F401  its settings come first

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings
from django.urls import path
from rest_framework import throttling
from rest_framework.decorators import api_view, throttle_classes
from rest_framework.response import Response
from rest_framework.test import APIClient, APIRequestFactory
from rest_framework.views import APIView

from limitree import drf
from limitree.django import keys, limiter, ratelimit


class Named:
    is_authenticated = True

    def __init__(self, pk):
        self.pk = pk


class Few(drf.AnonRateThrottle):
    rate = "3/min"


class FewForUsers(drf.UserRateThrottle):
    rate = "2/min"


class Scoped(drf.ScopedRateThrottle):
    THROTTLE_RATES = {"small": "1/day", "large": "4/hour"}


class Odd(drf.SimpleRateThrottle):
    """Has its own format of rates, and a key that may be None."""

    rate = "2 every 90"

    def parse_rate(self, rate):
        count, _, seconds = rate.split()
        return int(count), int(seconds)

    def get_cache_key(self, request, view):
        return request.GET.get("key")


class Trades(drf.LimitreeThrottle):
    def throttle_path(self, request, view):
        return "user", request.GET["user"], "trade"


class Both(drf.LimitreeThrottle):
    cost = 2

    def throttle_path(self, request, view):
        if "free" in request.GET:
            return None
        return [("user", 7, "trade"), ("ip", self.get_ident(request))]


class Plain(APIView):
    authentication_classes = []
    permission_classes = []

    def get(self, request):
        return Response({"done": True})


def view_of(*throttles, **more):
    kind = type("View", (Plain,), {"throttle_classes": throttles, **more})
    return kind.as_view()


@api_view(["GET"])
@throttle_classes([Few])
def function(request):
    return Response({"done": True})


class Decorated(Plain):
    @keys.needs_user  # stands for any decorator in between
    def get(self, request):
        return decorated(request)


@ratelimit("user", "alex", "trade")
def decorated(request):
    return Response({"done": True})


urlpatterns = [
    path("anon", view_of(Few)),
    path("user", view_of(FewForUsers)),
    path("small", view_of(Scoped, throttle_scope="small")),
    path("large", view_of(Scoped, throttle_scope="large")),
    path("none", view_of(Scoped)),
    path("odd", view_of(Odd)),
    path("trades", view_of(Trades)),
    path("both", view_of(Both)),
    path("several", view_of(Few, FewForUsers)),
    path("by-view", view_of(drf.LimitreeThrottle, throttle_path=(
        lambda self, request: ("user", "view", "trade")))),
    path("no-path", view_of(drf.LimitreeThrottle)),
    path("function", function),
    path("decorated", Decorated.as_view()),
]


@pytest.fixture(autouse=True)
def clock(limitree_clock):
    with override_settings(
            ROOT_URLCONF=__name__,
            LIMITREE={"LIMITS": django_site.LIMITS},
            REST_FRAMEWORK={"UNAUTHENTICATED_USER": None}):
        yield limitree_clock


@pytest.fixture
def client():
    return APIClient()


def allowed(client, url, times=10, **headers):
    return [client.get(url, **headers).status_code
            for _ in range(times)].count(200)


def test_anon(client, clock):
    response = client.get("/anon")
    assert response["RateLimit"].startswith('"view:anon/*/3/1m";r=2')
    assert allowed(client, "/anon") == 2
    denied = client.get("/anon")
    assert denied.status_code == 429
    assert denied["Retry-After"] == "20"
    assert denied.json() == {"detail": "Request was throttled. Expected "
                                       "available in 20 seconds."}
    assert allowed(client, "/anon", REMOTE_ADDR="10.0.0.7") == 3
    clock.advance(20)
    assert allowed(client, "/anon") == 1


@pytest.mark.parametrize("address", ["", None])
@pytest.mark.parametrize("proxies", [None, 1])
def test_requests_without_an_address_are_one_client(client, caplog, address,
                                                    proxies):
    """REST framework gives all of them the key None, too."""
    drf._told.clear()
    with override_settings(REST_FRAMEWORK={"NUM_PROXIES": proxies}):
        assert allowed(client, "/anon", REMOTE_ADDR=address) == 3
        assert allowed(client, "/anon", REMOTE_ADDR=address) == 0
    assert allowed(client, "/anon") == 3
    assert [one.getMessage() for one in caplog.records
            if one.name == "limitree"] == [
        "throttles count all requests without an address as one client: the "
        "peer has no address, and nobody who is trusted names the client"]
    with pytest.raises(ValueError, match="nonsense"):
        client.get("/anon", REMOTE_ADDR="nonsense")


def test_function(client):
    assert allowed(client, "/function") == 3


def test_user():
    for user, expected in [(Named(1), 2), (Named(2), 2), (None, 2),
                           (Named(1), 0)]:
        client = APIClient()
        client.force_authenticate(user)
        assert allowed(client, "/user", 4) == expected


def test_scopes(client):
    assert allowed(client, "/small") == 1
    assert allowed(client, "/large") == 4
    assert allowed(client, "/none") == 10
    assert client.get("/small")["Retry-After"] == "86400"


def test_a_format_of_its_own(client):
    assert allowed(client, "/odd") == 10
    assert allowed(client, "/odd?key=a") == 2
    assert allowed(client, "/odd?key=b") == 2
    assert client.get("/odd?key=a")["Retry-After"] == "45"


def test_a_whole_tree(client):
    assert allowed(client, "/trades?user=a") == 6
    response = client.get("/trades?user=a")
    assert '"user:*";r=10' in response["RateLimit"]
    assert allowed(client, "/trades?user=b") == 6
    assert allowed(client, "/by-view") == 6


def test_several_paths(client):
    assert allowed(client, "/both") == 3
    assert limiter().peek("ip", "127.0.0.1", cost=0).remaining == 94
    assert allowed(client, "/both?free=1") == 10


def test_no_path(client):
    with pytest.raises(NotImplementedError, match="throttle_path"):
        client.get("/no-path")


def test_several_throttles(client):
    assert allowed(client, "/several") == 2
    policies = client.get("/several")["RateLimit-Policy"]
    assert policies == ('"view:anon/*/3/1m";q=3;w=60, '
                        '"view:user/*/2/1m";q=2;w=60')


def test_no_wait_helps():
    kind = view_of(type("Huge", (Trades,), {"cost": 17}))
    response = kind(APIRequestFactory().get("/?user=a"))
    assert response.status_code == 429
    assert "Retry-After" not in response


def test_a_decorated_method(client):
    """REST framework itself answers a PermissionDenied with 403."""
    assert allowed(client, "/decorated") == 6
    response = client.get("/decorated")
    assert response.status_code == 429
    assert response["Retry-After"] == "2"
    assert response["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("proxies, allowed_of_two", [
    (None, 3), (0, 3), (1, 6), (2, 3)])
def test_num_proxies(client, proxies, allowed_of_two):
    """A client cannot choose its address, whatever it writes."""
    with override_settings(REST_FRAMEWORK={"UNAUTHENTICATED_USER": None,
                                           "NUM_PROXIES": proxies}):
        found = 0
        for place in range(10):
            header = f"198.51.100.{place}, 10.0.0.1, 192.0.2.{place % 2}"
            found += client.get("/anon", HTTP_X_FORWARDED_FOR=header
                                ).status_code == 200
    assert found == allowed_of_two


def test_disabled(client):
    with override_settings(LIMITREE={"ENABLED": False}):
        for url in ("/anon", "/small", "/trades?user=a"):
            assert allowed(client, url) == 10


def test_the_names_of_rest_framework():
    for name in ("AnonRateThrottle", "UserRateThrottle", "ScopedRateThrottle",
                 "SimpleRateThrottle"):
        assert issubclass(getattr(drf, name), getattr(throttling, name))
        assert getattr(drf, name).scope == getattr(throttling, name).scope


def test_no_rate_is_an_error():
    kind = type("Unrated", (drf.AnonRateThrottle,), {"THROTTLE_RATES": {}})
    with pytest.raises(ImproperlyConfigured, match="anon"):
        kind()
