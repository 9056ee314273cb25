"""limitree.django in one process: middleware, decorators, settings."""

import asyncio
import contextlib
import gc
import json
import subprocess
import sys

import pytest
from django.core.asgi import get_asgi_application
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.test import (
    AsyncClient,
    AsyncRequestFactory,
    Client,
    RequestFactory,
    override_settings,
)
from django.urls import path
from django.utils.decorators import method_decorator
from django.views import View

import limitree
from limitree.django import (
    Ratelimited,
    get_usage,
    is_ratelimited,
    keys,
    limiter,
    ratelimit,
)
from limitree.django.record import Record

import django_site
from django_site import stops
from servers import PATIENT, redis_server


def limits(**changed):
    """Settings for one test."""
    return override_settings(LIMITREE={"LIMITS": django_site.LIMITS, **changed})


@pytest.fixture(autouse=True)
def clock(limitree_clock):
    """Every test has its own limiter, and a clock that stands still."""
    with limits():
        yield limitree_clock


@pytest.fixture
def client():
    return Client()


class Awaited:
    """An AsyncClient for tests that are not async."""

    def __init__(self):
        self._client = AsyncClient()

    def get(self, *args, **kwargs):
        async def get():
            response = await self._client.get(*args, **kwargs)
            if response.streaming:
                response.parts = [part async for part in response]
            return response
        return asyncio.run(get())


@pytest.fixture(params=["", "async/"])
def ask(request):
    """Gets a URL by WSGI from a view, or by ASGI from an async view."""
    client = Awaited() if request.param else Client()

    def get(url, **query):
        return client.get(f"/{request.param}{url}", query)

    get.is_async = bool(request.param)
    return get


# ---- Views ------------------------------------------------------------------


def test_a_path_of_the_tree(ask, clock):
    for left in range(5, -1, -1):
        response = ask("trade", user="alex")
        assert response.status_code == 200
        assert f'"user:*/trade";r={left};' in response["RateLimit"]
    assert response["RateLimit-Policy"] == (
        '"user:*";q=16;w=32, "user:*/trade";q=6;w=9')
    assert "Retry-After" not in response
    denied = ask("trade", user="alex")
    assert denied.status_code == 429
    assert denied["Retry-After"] == "2"
    assert denied["Content-Type"] == "application/problem+json"
    assert denied["Cache-Control"] == "no-store"
    assert json.loads(denied.content)["violated-policies"] == ["user:*/trade"]
    assert '"user:*";r=10;' in denied["RateLimit"]  # nothing was charged
    assert ask("trade", user="bob").status_code == 200
    clock.advance(1.5)
    assert ask("trade", user="alex").status_code == 200


def test_a_rate(client, clock):
    assert client.get("/rated").status_code == 200
    response = client.get("/rated")
    assert response["RateLimit"] == (
        '"view:django_site.rated/*/2/1m";r=0;t=30, '
        '"view:django_site.rated/*/3/1h";r=1;t=1200')
    assert client.get("/rated").status_code == 429
    clock.advance(60)
    assert client.get("/rated").status_code == 200
    assert client.get("/rated")["Retry-After"] == str(1200 - 60)
    assert client.get("/rated", REMOTE_ADDR="10.0.0.7").status_code == 200


def test_only_some_methods_and_not_blocked(client):
    for _ in range(5):
        assert client.get("/noted").content == b"not limited"
    assert client.post("/noted").content == b"not limited"
    assert client.post("/noted").content == b"not limited"
    response = client.post("/noted")
    assert (response.status_code, response.content) == (200, b"limited")
    assert ";r=0;t=30" in response["RateLimit"]
    assert "Retry-After" not in response  # the view has run
    with limits(ENABLED=False):
        assert client.post("/noted").content == b"not limited"


def test_arguments_of_the_view(client):
    assert '"user:*";r=11' in client.get("/number/5")["RateLimit"]
    assert client.get("/number/17").status_code == 429
    assert "Retry-After" not in client.get("/number/17")
    assert '"user:*";r=6' in client.get("/number/5")["RateLimit"]


def test_streams_have_headers(ask):
    response = ask("stream", user="alex")
    assert '"user:*/trade";r=5' in response["RateLimit"]
    parts = getattr(response, "parts", None) or list(response)
    assert b"".join(parts) == b"ab"
    for _ in range(5):
        ask("stream", user="alex")
    assert ask("stream", user="alex").status_code == 429


def test_charged_after_the_response(ask):
    for _ in range(5):
        assert ask("guess", user="alex", right="1").status_code == 200
    assert ask("guess", user="alex").status_code == 404
    response = ask("guess", user="alex")
    assert response.status_code == 404 and ";r=0" in response["RateLimit"]
    assert ask("guess", user="alex", right="1").status_code == 429
    assert ask("guess", user="bob", right="1").status_code == 200


def test_headers_count_only_what_was_charged(ask):
    """A request that costs nothing leaves what it found."""
    policy = '"view:django_site.{}guess/*/2/1h";r={}'
    for right, left in [("1", 2), ("1", 2), ("", 1), ("1", 1), ("", 0)]:
        response = ask("guess", user="alex", **({"right": 1} if right else {}))
        name = "async_" if ask.is_async else ""
        assert response["RateLimit"].partition(";t=")[0] == policy.format(
            name, left)
        assert response["RateLimit-Policy"].count("view:") == 1


@pytest.mark.parametrize("place", ["above", "below"])
def test_what_is_charged_later_denies_before_others_are_charged(place, client):
    later = ratelimit(key="ip", rate="1/h", group="later",
                      deduct_when=lambda response: True)
    now = ratelimit(key="ip", rate="5/h", group="now")

    def view(request):
        return HttpResponse("done")

    view = (later(now(view)) if place == "above" else now(later(view)))
    urls = type("urls", (), {"urlpatterns": [path("both", view)]})
    with override_settings(ROOT_URLCONF=urls):
        first = client.get("/both")
        assert first.status_code == 200
        assert '"view:later/*/1/1h";r=0' in first["RateLimit"]
        assert '"view:now/*/5/1h";r=4' in first["RateLimit"]
        for _ in range(3):
            denied = client.get("/both")
            assert denied.status_code == 429
            assert '"view:now/*/5/1h";r=4' in denied["RateLimit"]


@pytest.mark.parametrize("block", [True, False])
def test_what_is_denied_is_not_charged_later(ask, block):
    later = ratelimit(key="ip", rate="9/h", group="later", block=block,
                      deduct_when=lambda response: True)
    now = ratelimit(key="ip", rate="1/h", group="now")
    ours = ratelimit(key="ip", rate="9/h", group="ours", cost=9, block=False,
                     deduct_when=lambda response: 1)

    def view(request):
        return HttpResponse("done")

    async def async_view(request):
        return view(request)

    urls = type("urls", (), {"urlpatterns": [
        path("v", later(now(ours(view)))),
        path("async/v", later(now(ours(async_view))))]})
    with override_settings(ROOT_URLCONF=urls):
        assert [ask("v").status_code for _ in range(3)] == [200, 429, 429]
        for group in ("later", "ours"):
            assert limiter().peek("view", group, "127.0.0.1", "9/1h",
                                  cost=0).remaining == 8


def test_a_limit_that_only_tells_is_asked_last(client):
    """A request that another limit denies is not counted by it."""
    @ratelimit(key="ip", rate="5/h", group="tells", block=False)
    @ratelimit(key="ip", rate="1/h", group="denies")
    def view(request):
        return HttpResponse("done")

    urls = type("urls", (), {"urlpatterns": [path("both", view)]})
    with override_settings(ROOT_URLCONF=urls):
        assert client.get("/both").status_code == 200
        for _ in range(3):
            assert client.get("/both").status_code == 429
    assert limiter().peek("view", "tells", "127.0.0.1", "5/1h",
                          cost=0).remaining == 4


@pytest.mark.parametrize("methods, message", [
    ("GTE", "there is no method 'GTE': did you mean 'GET'?"),
    (["POST", "PATHC"], "there is no method 'PATHC': did you mean 'PATCH'?"),
    ([], "methods must not be empty"), ([7], "methods must be texts")])
def test_methods_that_are_none(methods, message):
    with pytest.raises((TypeError, ValueError)) as raised:
        ratelimit(key="ip", rate="2/h", method=methods)
    assert message in str(raised.value)
    with pytest.raises((TypeError, ValueError)):
        is_ratelimited(RequestFactory().get("/"), "group", key="ip",
                       rate="1/h", method=methods)


@pytest.mark.parametrize("methods", ["GET", ["POST", "get"]])
def test_a_limit_for_get_counts_head(methods, client):
    runs = []

    @ratelimit(key="ip", rate="2/h", method=methods, group="reads")
    def view(request):
        runs.append(request.method)
        return HttpResponse("done")

    urls = type("urls", (), {"urlpatterns": [path("reads", view)]})
    with override_settings(ROOT_URLCONF=urls):
        codes = [client.head("/reads").status_code,
                 client.get("/reads").status_code,
                 client.head("/reads").status_code,
                 client.put("/reads").status_code]
    assert codes == [200, 200, 429, 200] and runs == ["HEAD", "GET", "PUT"]
    # The bucket is named by the methods that were written.
    name = "reads@GET" if methods == "GET" else "reads@GET,POST"
    assert limiter().peek("view", name, "127.0.0.1", "2/1h").limited


def test_a_store_that_fails_after_the_view(ask, caplog):
    """The view has done its work; its response is sent."""
    with redis_server() as (store, process):
        with limits(STORE=store, ON_STORE_ERROR="raise", TIMEOUT=PATIENT):
            assert ask("stop", user="alex").status_code == 200
            stops.append(process)
            assert ask("stop", user="alex").status_code == 200
            assert stops == []
            assert ask("stop", user="alex").status_code == 503
            limiter().close()
    assert "requests fail until it is back" in caplog.text


class Named:
    """Key functions, one of each kind."""

    def of_view(request):
        return None

    def of_group(group, request):
        return 2.5

    async def awaited(request):
        return None

    def text(request):
        return "user"

    def path(request):
        return ["user", None]


@pytest.mark.parametrize("decorator, message", [
    (ratelimit("user", Named.of_view),
     "not NoneType, as test_django.Named.of_view has"),
    (ratelimit(key=Named.of_group, rate="1/h"),
     "not float, as test_django.Named.of_group has"),
    (ratelimit("user", lambda request: object()),
     "not object, as test_django.<lambda> has")])
def test_a_key_that_is_none_names_its_function_and_the_view(
        decorator, message, client):
    @decorator
    def view(request):
        return HttpResponse("done")

    urls = type("urls", (), {"urlpatterns": [path("named", view)]})
    with override_settings(ROOT_URLCONF=urls):
        with pytest.raises(TypeError) as raised:
            client.get("/named")
    text = str(raised.value)
    assert text.startswith(f"{__name__}.test_a_key_that_is_none"), text
    assert ": a segment must be str or bytes, " + message in text


@pytest.mark.parametrize("paths, message", [
    ([Named.text], r"LIMITREE\['PATHS'\]: a path .* not a text, as test_django"
                   r".Named.text has returned"),
    ([Named.path], r"LIMITREE\['PATHS'\]: a segment .*NoneType, as "
                   r"test_django.Named.path has returned")])
def test_a_path_for_every_request_that_is_none(paths, message, client):
    with limits(PATHS=paths), pytest.raises(TypeError, match=message):
        client.get("/plain")


def test_an_awaited_key_that_is_none_names_its_function():
    with limits(PATHS=[("user", Named.awaited)]):
        with pytest.raises(TypeError, match="NoneType, as .*Named.awaited"):
            Awaited().get("/plain")


def test_charged_by_the_size_of_the_response(client):
    assert ";r=20" in client.get("/size?user=alex")["RateLimit"]
    assert ";r=0" in client.get("/size?user=alex")["RateLimit"]
    assert client.get("/size?user=alex").status_code == 429


def test_to_charge_after_the_response_takes_the_middleware():
    with override_settings(MIDDLEWARE=[]):
        with pytest.raises(RuntimeError, match="LimitreeMiddleware"):
            Client().get("/guess?user=alex")


def test_classes(client):
    assert client.get("/class").status_code == 200
    assert client.get("/class").status_code == 429
    assert client.get("/class/other").status_code == 200
    assert client.get("/class/other").status_code == 429
    policy = client.get("/class")["RateLimit-Policy"]
    assert policy.startswith('"view:django_site.OfClass.dispatch/*/1/1h"')
    for _ in range(3):
        assert client.get("/class/method").status_code == 200
    assert client.post("/class/method").status_code == 200
    assert client.post("/class/method").status_code == 429


def test_async_classes():
    client = Awaited()
    for _ in range(6):
        assert client.get("/async/class?user=alex").status_code == 200
    assert client.get("/async/class?user=alex").status_code == 429


async def who_awaited(request):
    await asyncio.sleep(0)
    return request.GET["user"]


def test_async_classes_do_not_wait_in_the_loop():
    """Their dispatch is not async, but it runs there, and returns what is
    awaited: only so can a key be awaited."""
    @method_decorator(ratelimit("user", who_awaited, "trade"), name="dispatch")
    class Own(View):
        async def get(self, request):
            return HttpResponse("got")

    urls = type("urls", (), {"urlpatterns": [path("own", Own.as_view())]})
    with override_settings(ROOT_URLCONF=urls):
        codes = [Awaited().get("/own?user=alex").status_code
                 for _ in range(7)]
    assert codes == [200] * 6 + [429]


def test_a_method_without_method_decorator():
    @ratelimit(key="ip", rate="5/m")
    def view(self, request):
        pass
    with pytest.raises(TypeError, match="method_decorator"):
        view(object(), RequestFactory().get("/"))


def test_limits_below_the_views(client):
    for _ in range(6):
        assert client.get("/service?user=alex").status_code == 200
    response = client.get("/service?user=alex")
    assert response.status_code == 429
    assert response["Retry-After"] == "2"


def test_the_tightest_decision(clock):
    asked = limitree.Limiter({"schema": {
        name: {"limits": [burst, 1, seconds]} for name, burst, seconds in
        [("wide", 9, 60), ("late", 0, 60), ("less", 3, 60), ("more", 4, 60)]}})
    record = Record(True, False)
    assert record.decision is None
    for names, tightest in [(["more", "less", "wide"], "less"),
                            (["less", "late", "wide"], "late")]:
        record.decisions = [asked.authorize(name) for name in names]
        assert record.decision is record.decisions[names.index(tightest)]
    record.decisions = [asked.peek("wide", cost=10 ** 6),
                        asked.peek("wide"), asked.peek("more")]
    assert record.decision is record.decisions[0]


def test_a_limiter_elsewhere_does_not_name_its_limits():
    elsewhere = limitree.Limiter({"schema": {"x": {"limits": [0, 1, 7]}}})

    @ratelimit(key="ip", rate="2/h")
    def view(request):
        elsewhere.acquire("x", timeout=0)
        return HttpResponse("done")

    urls = type("urls", (), {"urlpatterns": [path("elsewhere", view)]})
    with override_settings(ROOT_URLCONF=urls):
        assert Client().get("/elsewhere").status_code == 200
        response = Client().get("/elsewhere")
    assert (response.status_code, response["Retry-After"]) == (429, "7")
    assert response["RateLimit"].endswith(';r=0;t=1800')
    assert "," not in response["RateLimit"]


def test_decorators_above_each_other_are_all_or_nothing():
    @ratelimit("user", keys.get("user"), "trade")
    @ratelimit(key="ip", rate="2/h", cost=2)
    @ratelimit(key="ip", rate="9/h", block=False)
    def view(request):
        return HttpResponse("done")

    request = RequestFactory().get("/?user=alex")
    view(request)
    with pytest.raises(Ratelimited):
        view(request)
    left = limiter().peek("user", "alex", "trade", cost=0)
    assert left.remaining == 5  # not 4
    assert len(request.limitree.decisions) == 3


def key_that_refuses(checked):
    """A key function that finds no valid password, and its async twin."""
    def key(request):
        checked.append("sync")
        raise PermissionDenied

    async def awaited(request):
        checked.append("async")
        raise PermissionDenied
    return key, awaited


@pytest.mark.parametrize("when", [None, lambda response: True])
@pytest.mark.parametrize("by_path", [False, True])
def test_limits_protect_the_key_functions_of_those_behind_them(
        ask, by_path, when):
    checked = []
    key, awaited = key_that_refuses(checked)
    if ask.is_async:
        key = awaited
    by_ip = ratelimit(key="ip", rate="3/m", deduct_when=when)
    by_token = (ratelimit("user", key) if by_path
                else ratelimit(key=lambda group, request: key(request),
                               rate="9/m;20/h"))

    def view(request):
        raise AssertionError

    async def async_view(request):
        raise AssertionError

    urls = type("urls", (), {"urlpatterns": [
        path("both", by_ip(by_token(view))),
        path("async/both", by_ip(by_token(async_view)))]})
    with override_settings(ROOT_URLCONF=urls):
        codes = [ask("both").status_code for _ in range(5)]
    assert codes == [403] * 3 + [429] * 2 and len(checked) == 5


def test_limits_of_every_request_count_what_a_key_refuses(ask):
    key, awaited = key_that_refuses([])
    with limits(PATHS=[("hard", keys.ip),
                       ("user", awaited if ask.is_async else key)],
                LIMITS={"schema": {"hard": {"children": {"*": {
                    "limits": "3/m"}}}, "user": {}}}):
        codes = [ask("plain").status_code for _ in range(5)]
    assert codes == [403] * 3 + [429] * 2


def test_the_default_counts_what_a_path_refuses(ask):
    key, awaited = key_that_refuses([])
    with limits(PATHS=[("user", awaited if ask.is_async else key)],
                DEFAULT="3/m"):
        codes = [ask("plain").status_code for _ in range(5)]
    assert codes == [403] * 3 + [429] * 2


def test_keys_behind_one_that_refuses_are_not_awaited(recwarn):
    _, awaited = key_that_refuses([])

    async def view(request):
        raise AssertionError

    view = ratelimit("user", awaited)(ratelimit("user", who_awaited)(view))
    urls = type("urls", (), {"urlpatterns": [path("both", view)]})
    with override_settings(ROOT_URLCONF=urls):
        assert Awaited().get("/both").status_code == 403
    gc.collect()
    assert not [one for one in recwarn if "awaited" in str(one.message)]


def test_a_key_that_refuses_first_is_answered_at_once(ask):
    key, awaited = key_that_refuses([])
    decorator = ratelimit("user", awaited if ask.is_async else key)

    async def async_view(request):
        raise AssertionError

    urls = type("urls", (), {"urlpatterns": [
        path("one", decorator(lambda request: HttpResponse())),
        path("async/one", decorator(async_view))]})
    with override_settings(ROOT_URLCONF=urls):
        assert [ask("one").status_code for _ in range(5)] == [403] * 5


def test_the_mark_is_not_taken_over_by_other_decorators():
    """A decorator in between keeps its place."""
    import functools

    @ratelimit(key="ip", rate="2/h")
    def view(request):
        return HttpResponse("done")

    @functools.wraps(view)
    def between(request):
        return HttpResponse("from elsewhere")

    outer = ratelimit("free")(between)
    for _ in range(5):
        answer = outer(RequestFactory().get("/"))
        assert answer.content == b"from elsewhere"


def test_without_the_middleware_it_is_raised():
    view = ratelimit("user", keys.get("user"), cost=17)(django_site.plain)
    with pytest.raises(Ratelimited, match="no wait is long enough") as error:
        view(RequestFactory().get("/?user=a"))
    assert isinstance(error.value, PermissionDenied)
    assert isinstance(error.value, limitree.LimitExceeded)
    assert error.value.decision.limited
    with override_settings(MIDDLEWARE=[]):
        client = Client()
        for _ in range(2):
            client.get("/rated")
        assert client.get("/rated").status_code == 403


@pytest.mark.parametrize("arguments, message", [
    ({}, "a path such as"),
    ({"key": "ip"}, "are for a rate"),
    ({"group": "a"}, "are for a rate"),
    ({"rate": "5/m", "key": "id"}, "no such key 'id'"),
    ({"rate": "5/m", "key": "file:x"}, "no such key"),
    ({"rate": "5/m", "key": 7}, "must be a text or a function"),
    ({"rate": "5/fortnight"}, 'is "fortnight", in'),
    ({"rate": "99999999999/s"}, "99999999999/s"),
    ({"rate": "5/m", "group": ""}, "without"),
    ({"rate": "5/m", "group": "a*"}, "without"),
    ({"rate": 7}, "must be a text"),
])
def test_what_makes_no_sense(arguments, message):
    with pytest.raises((TypeError, ValueError), match=message):
        ratelimit(**arguments)


def test_what_makes_no_sense_of_a_path():
    for segments in [("user", None), ("user", 7), (None,)]:
        with pytest.raises(TypeError, match="texts and functions"):
            ratelimit(*segments)
    with pytest.raises(TypeError, match="exclude each other"):
        ratelimit("user", "a", rate="5/m")
    with pytest.raises(TypeError, match="a group must be a text"):
        ratelimit(keys.ip, rate="5/m")


def test_none_is_never_no_limit():
    view = ratelimit("user", lambda request: None)(django_site.plain)
    with pytest.raises(TypeError, match="None"):
        view(RequestFactory().get("/"))
    view = ratelimit(key=lambda group, request: None, rate="5/m")(
        django_site.plain)
    with pytest.raises(TypeError, match="None"):
        view(RequestFactory().get("/"))
    view = ratelimit("usr", keys.ip)(django_site.plain)
    with pytest.raises(ValueError, match="usr"):
        view(RequestFactory().get("/"))


# ---- Rates as in django-ratelimit -------------------------------------------


def many(rate, times=20, **arguments):
    """Returns how many of `times` requests a rate allows."""
    @ratelimit(key="ip", rate=rate, **arguments)
    def view(request):
        return HttpResponse("done")

    allowed = 0
    for _ in range(times):
        with contextlib.suppress(Ratelimited):
            view(RequestFactory().get("/"))
            allowed += 1
    return allowed


def of_group(group, request):
    return {"gold": "7/m", "none": None, "zero": "0/s"}[group]


@pytest.mark.parametrize("rate, allowed", [
    ("5/m", 5), ("5/15m", 5), ("5/300", 5), ((5, 60), 5), ("0/s", 0),
    ("3/sec", 3), ("4 per hour", 4), ("5/m;3/h", 3), ((0, 60), 0)])
def test_rates(rate, allowed):
    assert many(rate) == allowed


def test_a_client_that_is_gone_is_answered_briefly(caplog):
    """Under ASGI; uvicorn could not ask for its address any more."""
    def ask(url, server):
        messages, sent = [{"type": "http.request"}], []

        async def receive():
            if messages:
                return messages.pop()
            await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        scope = AsyncRequestFactory()._base_scope(
            path=url, method="GET", client=None, server=server, headers=[])
        asyncio.run(get_asgi_application()(scope, receive, send))
        return sent[0]["status"], sent[1]["body"]

    with limits(DEFAULT="5/m"):
        status, body = ask("/plain", ("192.0.2.9", 80))
        assert status == 400 and json.loads(body)["status"] == 400
    assert ask("/rated", ("192.0.2.9", 80))[0] == 400
    assert not [one for one in caplog.records if one.name == "limitree"]
    assert ask("/rated", ("/run/x.sock", None))[0] == 500
    assert "the peer has no address" in caplog.text


@pytest.mark.parametrize("group, allowed", [
    ("gold", 7), ("none", 20), ("zero", 0)])
def test_rates_by_request(group, allowed):
    assert many(of_group, group=group) == allowed
    assert many("test_django.of_group", group=group) == (
        0 if allowed < 20 else 20)  # the same group: the same buckets


def test_a_caller_has_one_bucket_whatever_its_rate():
    @ratelimit(key="get:user", rate=lambda group, request: request.GET["rate"])
    def view(request):
        return HttpResponse("done")

    def allowed(rate, times=1):
        found = 0
        for _ in range(times):
            with contextlib.suppress(Ratelimited):
                view(RequestFactory().get("/", {"rate": rate, "user": "alex"}))
                found += 1
        return found

    assert allowed("2/h") == 1
    assert allowed("8/h", 9) == 4  # half of the other limit was used
    assert allowed("2/h") == allowed("0/h") == allowed("5/m;0/h") == 0
    assert allowed("2/m", 3) == 2


def test_an_async_key_of_several_limits():
    async def key(group, request):
        await asyncio.sleep(0)
        return request.GET["user"]

    @ratelimit(key=key, rate="2/m;3/h")
    async def view(request):
        return HttpResponse("done")

    async def ask():
        request = AsyncRequestFactory().get("/?user=alex")
        return (await view(request)).status_code

    assert [asyncio.run(ask()) for _ in range(2)] == [200, 200]
    with pytest.raises(Ratelimited):
        asyncio.run(ask())


def test_a_group_is_shared():
    one = ratelimit(group="pool", key="ip", rate="3/m")(django_site.plain)
    other = ratelimit("pool", key="ip", rate="3/m")(lambda request: 1)
    request = RequestFactory().get("/")
    one(request), other(request), one(request)
    with pytest.raises(Ratelimited):
        other(request)


@pytest.mark.parametrize("key, where", [
    ("get:q", "/?q=%s"), ("header:X-Api-Key", None), ("post:q", None),
    ("test_django.key_of_query", "/?q=%s"),
    (lambda group, request: request.GET["q"] + group, "/?q=%s")])
def test_keys(key, where):
    view = ratelimit(key=key, rate="1/m")(lambda request: 1)

    def ask(value):
        if where is not None:
            return view(RequestFactory().get(where % value))
        if key.startswith("post"):
            return view(RequestFactory().post("/", {"q": value}))
        return view(RequestFactory().get("/", HTTP_X_API_KEY=value))

    ask("a"), ask("b")
    with pytest.raises(Ratelimited):
        ask("a")


def key_of_query(group, request):
    return request.GET["q"]


def test_usage(clock):
    request = RequestFactory().get("/")

    def usage(increment):
        found = get_usage(request, "pool", key="ip", rate="2/m",
                          increment=increment)
        return found["count"], found["limit"], found["should_limit"]

    assert usage(False) == (0, 2, False)
    assert usage(True) == (1, 2, False)
    assert usage(True) == (2, 2, False)
    assert usage(False) == (2, 2, True)
    assert usage(True) == (3, 2, True)
    assert get_usage(request, "pool", key="ip", rate="2/m")["time_left"] == 60
    assert is_ratelimited(request, "pool", key="ip", rate="2/m")
    assert not is_ratelimited(request, fn=usage, key="ip", rate="2/m")
    assert not is_ratelimited(request, "pool", key="ip", rate="2/m",
                              method=is_ratelimited.UNSAFE)
    assert is_ratelimited(request, "half", key=lambda *_: "\ud83d", rate="0/m")
    assert get_usage(request, "pool", key="ip") is None
    with pytest.raises(TypeError, match="group"):
        get_usage(request, key="ip", rate="2/m")
    with limits(ENABLED=False):
        assert get_usage(request, "pool", key="ip", rate="2/m") is None


def test_rates_for_methods_count_apart(client):
    """As in django-ratelimit, methods are part of a bucket's name."""
    factory = RequestFactory()

    def made(method, group=None):
        return ratelimit(key="ip", rate="1/m", method=method, group=group,
                         block=False)

    view = made("GET")(made("POST")(lambda request: request.limited))
    for method in ("get", "post"):
        asked = [view(getattr(factory, method)("/")) for _ in range(2)]
        assert asked == [False, True], method
    one, other, unsafe, every = (
        made(method, "pool")(lambda request: request.limited)
        for method in ("GET", ("POST", "get"), ratelimit.UNSAFE, None))
    assert [one(factory.get("/")) for _ in range(2)] == [False, True]
    assert [other(factory.get("/")) for _ in range(2)] == [False, True]
    assert other(factory.post("/")) is True
    assert [unsafe(factory.put("/")), unsafe(factory.post("/"))] == [
        False, True]
    assert [every(factory.get("/")) for _ in range(2)] == [False, True]
    # The order of the methods is not part of the name.
    same = made(["get", "POST"], "pool")(lambda request: request.limited)
    assert same(factory.post("/")) is True
    usage = get_usage(factory.get("/"), "pool", key="ip", rate="1/m",
                      method="GET")
    assert usage["count"] == 1


def test_a_decorator_without_arguments():
    with pytest.raises(TypeError, match="begins with a name, or a rate"):
        @ratelimit
        def view(request):
            return HttpResponse()


# ---- What is imported -------------------------------------------------------


def test_limitree_alone_imports_no_django():
    program = ("import sys, limitree; "
               "assert not [n for n in sys.modules if n.startswith('django')]")
    subprocess.run([sys.executable, "-c", program], check=True)


def test_nothing_is_read_while_settings_are_made():
    """A settings.py may contain `from limitree.django import keys`."""
    program = ("import limitree.django; from django.conf import settings; "
               "assert not settings.configured")
    subprocess.run([sys.executable, "-c", program], check=True)
