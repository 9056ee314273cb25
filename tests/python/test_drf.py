"""limitree.drf: throttles, asked by REST framework's own client."""

import subprocess
import sys

import django_site  # noqa: F401  its settings come first

import pytest
from django.core.exceptions import ImproperlyConfigured, PermissionDenied
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


class Everybody(drf.SimpleRateThrottle):
    """All clients share it."""

    rate = "11/min"
    asked = 0
    told = []

    def get_cache_key(self, request, view):
        Everybody.asked += 1
        return "all"

    def throttle_success(self):
        self.told.append(True)
        return super().throttle_success()

    def throttle_failure(self):
        self.told.append(False)
        return super().throttle_failure()


class FewOf(drf.SimpleRateThrottle):
    rate = "2/min"

    def get_cache_key(self, request, view):
        return request.GET["user"]


class Foreign(throttling.BaseThrottle):
    def allow_request(self, request, view):
        return "foreign" not in request.GET

    def wait(self):
        return 77.0


class OnlyGuests(FewOf):
    def allow_request(self, request, view):
        return "staff" in request.GET or super().allow_request(request, view)


class Costly(drf.AnonRateThrottle):
    rate = "10/min"
    cost = 4


class OfSize(drf.AnonRateThrottle):
    rate = "10/min"
    scope = "size"

    def throttle_cost(self, request, view):
        return int(request.GET["size"])


class Failures(drf.AnonRateThrottle):
    rate = "2/min"
    scope = "failures"

    def deduct_when(self, response):
        return response.status_code == 404


class Finds(Plain):
    throttle_classes = [Failures, Everybody]

    def get(self, request):
        return Response(status=200 if "right" in request.GET else 404)


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
    path("costly", view_of(Costly)),
    path("size", view_of(OfSize)),
    path("finds", Finds.as_view()),
    path("everybody", view_of(Everybody)),
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
    drf._warned.clear()
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


@pytest.mark.parametrize("throttles", [
    (Everybody, FewOf), (FewOf, Everybody), (Foreign, FewOf, Everybody),
    (Everybody, Foreign, FewOf)])
@pytest.mark.parametrize("headers", ["ietf", "legacy"])
def test_denied_requests_of_one_user_are_not_charged_to_all(throttles,
                                                            headers):
    Everybody.asked, Everybody.told = 0, []
    view, factory = view_of(*throttles), APIRequestFactory()

    def ask(user, times=9):
        return [view(factory.get(f"/?user={user}")).status_code
                for _ in range(times)].count(200)

    with override_settings(LIMITREE={"HEADERS": headers}):
        assert [ask(user) for user in "abcde"] == [2] * 5
        # It was asked once for each request, and told what it says itself.
        assert Everybody.asked == 45 and Everybody.told == [True] * 45
        assert ask("f") == 1 and Everybody.told[45:] == [True] + [False] * 8
        denied = view(factory.get("/?user=a"))
        assert denied["Retry-After"] == "30"


class Refusing(drf.SimpleRateThrottle):
    rate = "9/min"

    def get_cache_key(self, request, view):
        raise PermissionDenied


class HalfAPath(drf.LimitreeThrottle):
    def throttle_path(self, request, view):
        return [("user", "a"), ("user", 1.5)]


@pytest.mark.parametrize("charged", [None, lambda self, response: True])
def test_throttles_count_what_one_behind_them_refuses(charged, client):
    few = type("Few", (FewOf,), {"deduct_when": charged})
    urls = type("urls", (), {"urlpatterns": [
        path("both", view_of(few, Refusing)),
        path("half", view_of(few, HalfAPath))]})
    with override_settings(ROOT_URLCONF=urls):
        codes = [client.get("/both?user=a").status_code for _ in range(4)]
        assert codes == [403] * 2 + [429] * 2
        with pytest.raises(TypeError):
            client.get("/half?user=b")
        assert client.get("/half?user=a").status_code == 429


def test_the_throttle_of_another_makes_its_own_decision(client):
    response = view_of(Foreign, FewOf)(APIRequestFactory().get(
        "/?user=a&foreign=1"))
    assert (response.status_code, response["Retry-After"]) == (429, "77")


def test_a_throttle_with_conditions_of_its_own_is_not_charged_before():
    view, factory = view_of(Everybody, OnlyGuests), APIRequestFactory()
    codes = [view(factory.get("/?user=a&staff=1")).status_code
             for _ in range(4)]
    codes += [view(factory.get("/?user=a")).status_code for _ in range(3)]
    assert codes == [200] * 6 + [429]


def test_a_throttle_that_is_asked_by_hand():
    """By other code than REST framework's, and more than once."""
    view = Plain()
    view.throttle_classes = [Everybody, FewOf]
    request = view.initialize_request(APIRequestFactory().get("/?user=a"))
    few = FewOf()
    assert [few.allow_request(request, view) for _ in range(3)] == [
        True, True, False]
    assert few.wait() == 30.0 and few.decision.limited
    other = Plain().initialize_request(APIRequestFactory().get("/?user=b"))
    assert FewOf().allow_request(other, None) is True


def test_costs_of_rates(client):
    assert allowed(client, "/costly") == 2
    assert allowed(client, "/size?size=5") == 2


def test_charged_after_the_response(client):
    first = client.get("/finds?right=1")
    assert '"view:failures/*/2/1m";r=2,' in first["RateLimit"]
    codes = [client.get("/finds").status_code for _ in range(4)]
    assert codes == [404, 404, 429, 429]
    assert client.get("/finds?right=1").status_code == 429
    # Nobody has paid for the requests that were denied.
    assert allowed(client, "/everybody") == 8
    with override_settings(MIDDLEWARE=[], LIMITREE={}):
        with pytest.raises(RuntimeError, match="LimitreeMiddleware"):
            APIClient().get("/finds")


@pytest.mark.parametrize("path, message", [
    (("user", None), "View: a segment must be str or bytes, not NoneType, as "
                     "limitree.drf.LimitreeThrottle.throttle_path has"),
    ([("user", 1.5)], "View: a segment .*not float, as .*throttle_path has"),
    ("user", "View: a path must be a sequence of segments, not a text, as ")])
def test_a_path_that_is_none_names_the_view(path, message):
    view = view_of(drf.LimitreeThrottle,
                   throttle_path=lambda self, request: path)
    with pytest.raises(TypeError, match=message):
        view(APIRequestFactory().get("/"))


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


def test_without_a_rate_any_request_will_do():
    class Unlimited(drf.SimpleRateThrottle):
        rate = None

        def get_rate(self):
            return None

    assert Unlimited().allow_request(request={}, view={}) is True


@pytest.mark.parametrize("text", ["0/min", "10/min; 0/hour", "0/min;10/hour"])
def test_a_rate_that_allows_nothing(clock, text):
    class Nothing(drf.AnonRateThrottle):
        scope = "nothing"
        rate = text

    class View(APIView):
        throttle_classes = [Nothing]

    for _ in range(2):
        answer = View.as_view()(APIRequestFactory().get("/"))
        assert answer.status_code == 429
        assert "Retry-After" not in answer  # no wait is long enough


def test_several_rates_in_one_text(clock):
    class Two(drf.AnonRateThrottle):
        scope = "two"
        rate = "2/min; 3/hour fixed_window"

    class View(APIView):
        throttle_classes = [Two]

        def get(self, request):
            return Response([])

    assert (Two().num_requests, Two().duration) == (2, 60)
    view = View.as_view()

    def statuses(times):
        return [view(APIRequestFactory().get("/")).status_code
                for _ in range(times)]

    assert statuses(3) == [200, 200, 429]
    clock.advance(60)
    assert statuses(2) == [200, 429]  # the third of the hour
    clock.advance(3600)
    assert statuses(3) == [200, 200, 429]


def test_no_rate_is_an_error():
    kind = type("Unrated", (drf.AnonRateThrottle,), {"THROTTLE_RATES": {}})
    with pytest.raises(ImproperlyConfigured, match="anon"):
        kind()


ALONE = """if True:
    import django
    from django.conf import settings
    settings.configure(INSTALLED_APPS=["rest_framework"],
                       REST_FRAMEWORK={"UNAUTHENTICATED_USER": None})
    django.setup()
    from django.test import override_settings
    from rest_framework.response import Response
    from rest_framework.test import APIRequestFactory
    from rest_framework.views import APIView
    from limitree import drf

    class Few(drf.AnonRateThrottle):
        rate = "1/min"

    class View(APIView):
        throttle_classes = [Few]
        def get(self, request):
            return Response()

    def ask():
        return View.as_view()(APIRequestFactory().get("/")).status_code

    for _ in range(2):
        with override_settings(LIMITREE={}):
            print(ask(), ask())
"""


def test_without_the_application_settings_make_a_new_limiter():
    done = subprocess.run([sys.executable, "-c", ALONE], text=True, check=True,
                          stdout=subprocess.PIPE)
    assert done.stdout.splitlines() == ["200 429"] * 2
