"""limitree.django: the effect of each setting, and the system checks."""

import asyncio
import gc
import io

import pytest
from django.core.checks import run_checks
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.http import HttpResponse
from django.test import AsyncClient, Client, RequestFactory, override_settings

import limitree
from limitree.django import Ratelimited, keys, limiter, ratelimit
from limitree.django.current import current

import django_site
from servers import redis_server
from shared_files import path_of

AUTH = "django.contrib.auth.middleware.AuthenticationMiddleware"
SESSIONS = "django.contrib.sessions.middleware.SessionMiddleware"
CACHE = "django.middleware.cache.UpdateCacheMiddleware"
OURS = "limitree.django.LimitreeMiddleware"


def limits(**changed):
    """Settings for one test."""
    return override_settings(LIMITREE={"LIMITS": django_site.LIMITS, **changed})


@pytest.fixture(autouse=True)
def clock(limitree_clock):
    with limits():
        yield limitree_clock


def get(url="/plain", is_async=False, **headers):
    """Returns the response of a new client."""
    if is_async:
        return asyncio.run(AsyncClient().get(url, **headers))
    return Client().get(url, **headers)


def allowed(url="/plain", times=20, **more):
    return [get(url, **more).status_code for _ in range(times)].count(200)


both = pytest.mark.parametrize("is_async", [False, True])


# ---- Limits for every request -----------------------------------------------


@both
def test_default(is_async):
    with limits(DEFAULT="3/m;5/h"):
        response = get(is_async=is_async)
        assert '"view:default/*/3/1m";r=2' in response["RateLimit"]
        assert get("/nowhere", is_async).status_code == 404  # charged too
        assert allowed(is_async=is_async) == 1
        assert get("/nowhere", is_async).status_code == 429
        assert current().conf.key is keys.ip


@both
def test_paths(is_async):
    def trades(request):
        return (("user", "alex", "trade") if request.path == "/plain"
                else None)

    with limits(PATHS=[("ip", keys.ip), trades]):
        response = get(is_async=is_async)
        assert response["RateLimit-Policy"] == (
            '"ip:*";q=100;w=3600, "user:*";q=16;w=32, "user:*/trade";q=6;w=9')
        assert allowed(is_async=is_async) == 5
        assert limiter().peek("ip", "127.0.0.1", cost=0).remaining == 94
        assert get("/health/live", is_async).status_code == 200


def test_paths_and_a_view_of_the_same_tree():
    with limits(PATHS=[("ip", keys.ip)]):
        response = get("/trade?user=alex")
        assert response["RateLimit"] == (
            '"ip:*";r=99;t=36, "user:*";r=15;t=2, "user:*/trade";r=5;t=2')
        for _ in range(5):
            get("/trade?user=alex")
        denied = get("/trade?user=alex")
        assert denied["Retry-After"] == "2"
        assert '"ip:*";r=93' in denied["RateLimit"]


async def path_of_database(request):
    await asyncio.sleep(0)
    return "someone"


def test_an_async_key():
    with limits(PATHS=[("ip", "192.0.2.1"), ("user", path_of_database)]):
        assert allowed(is_async=True) == 16
        assert limiter().peek("user", "someone", cost=0).remaining == 0


def test_exempt():
    with limits(DEFAULT="1/m", EXEMPT=["/plain", "/health/"]):
        assert allowed() == 20
        assert allowed("/health/live") == 20
        assert allowed("/plain?a=b") == 20
        assert "RateLimit" not in get()
        assert get("/plain/more").status_code == 404
        assert get("/plain/more").status_code == 429


def test_enabled():
    with limits(DEFAULT="1/m", ENABLED=False):
        assert allowed() == 20
        assert allowed("/rated") == 20
        assert allowed("/async/trade?user=alex", is_async=True) == 20


@both
def test_views_without_limits_of_their_own(is_async):
    url = "/async/trade?user=alex" if is_async else "/trade?user=alex"
    with limits(VIEW_DEFAULT="2/h", EXEMPT=["/health/"]):
        answers = [get(is_async=is_async) for _ in range(3)]
        assert [one.status_code for one in answers] == [200, 200, 429]
        assert '"view:django_site.plain/*/2/1h";r=1' in answers[0]["RateLimit"]
        assert answers[2]["Retry-After"] == "1800"
        assert allowed("/health/live", is_async=is_async) == 20
        assert allowed(url, times=3, is_async=is_async) == 3  # its own limits
        assert allowed("/nowhere", is_async=is_async) == 0  # a 404
    with limits(VIEW_DEFAULT="2/h", ENABLED=False):
        assert allowed(is_async=is_async) == 20
    with limits(VIEW_DEFAULT="1/h", DEFAULT="3/h", VIEW=lambda request, error:
                HttpResponse("slower", status=420)):
        answers = [get(is_async=is_async) for _ in range(2)]
        assert [one.status_code for one in answers] == [200, 420]
    with limits(VIEW_DEFAULT="1/h", ON_STORE_ERROR="raise",
                STORE="redis+unix:///nowhere/redis.sock"):
        assert get(is_async=is_async).status_code == 503


def test_views_of_classes_and_objects_count_alone():
    with limits(VIEW_DEFAULT="2/h"):
        for url, name in [("/class/first", "First"),
                          ("/class/second", "Second"), ("/news", "News"),
                          ("/data", "WithoutHash")]:
            answer = get(url)
            assert answer.status_code == 200
            assert f'"view:django_site.{name}/*/2/1h";r=1' in answer[
                "RateLimit"]
            assert allowed(url, times=2) == 1


def test_settings_change_at_once():
    client = Client()
    with limits(DEFAULT="1/m"):
        client.get("/plain")
        assert client.get("/plain").status_code == 429
        with limits(DEFAULT="2/m"):
            assert client.get("/plain").status_code == 200
        assert client.get("/plain").status_code == 200  # a new limiter


def test_a_clock(clock):
    with limits(DEFAULT="1/m", CLOCK=lambda: 7 * 10**18):
        assert allowed() == 1
        clock.advance(60)
        assert allowed() == 0


# ---- Callers ----------------------------------------------------------------


class User:
    is_authenticated = True

    def __init__(self, pk):
        self.pk = pk


class Anonymous(User):
    is_authenticated = False


@pytest.mark.parametrize("key, callers, same", [
    ("user", [User(1), User(2), User(1)], [0, 2]),
    ("user", [Anonymous(None), User(7), Anonymous(None)], [0, 2]),
    ("user_or_ip", [Anonymous(None), User(7), User(7)], [1, 2])])
def test_key(key, callers, same):
    view = ratelimit(rate="1/m")(django_site.plain)
    denied = []
    with limits(KEY=key):
        for place, user in enumerate(callers):
            request = RequestFactory().get("/")
            request.user = user
            try:
                view(request)
            except Ratelimited:
                denied.append(place)
    assert denied == same[1:]


@both
def test_user_who_is_not_logged_in(is_async):
    url = "/async/mine" if is_async else "/mine"
    assert allowed(url, is_async=is_async) == 16
    assert limiter().peek("user", "", cost=0).remaining == 0


@pytest.mark.parametrize("changed, header, client", [
    ({}, "192.0.2.1", "10.0.0.1"),
    ({"TRUSTED_HOPS": 1}, "6.6.6.6, 192.0.2.1", "192.0.2.1"),
    ({"TRUSTED_PROXIES": ["10.0.0.0/8"]}, "6.6.6.6, 192.0.2.1, 10.2.3.4",
     "192.0.2.1"),
    ({"TRUSTED_HOPS": 1}, "2001:db8::7", "2001:db8::"),
    ({"TRUSTED_HOPS": 1, "IPV6_PREFIX": 128}, "2001:DB8::7", "2001:db8::7"),
    ({"TRUSTED_HOPS": 1}, "::ffff:192.0.2.1", "192.0.2.1"),
    ({"TRUSTED_HOPS": 1, "IPV4_PREFIX": 20}, "192.0.40.1", "192.0.32.0"),
    ({"TRUSTED_HOPS": 1, "IPV4_PREFIX": 20}, "2001:db8::7", "2001:db8::"),
    ({"CLIENT_IP": "HTTP_X_FORWARDED_FOR", "IPV4_PREFIX": 24}, "192.0.2.1:77",
     "192.0.2.0"),
    ({"CLIENT_IP": "HTTP_X_FORWARDED_FOR"}, "192.0.2.1:77", "192.0.2.1"),
    ({"CLIENT_IP": limitree.client_ip(trusted_hops=2)},
     "192.0.2.1, 10.0.0.9", "192.0.2.1"),
    ({"CLIENT_IP": "test_django_settings.address"}, "", "192.0.2.9"),
])
def test_client(changed, header, client):
    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR=header,
                                   REMOTE_ADDR="10.0.0.1")
    with limits(**changed):
        assert keys.ip(request) == client


def test_another_header():
    request = RequestFactory().get("/", HTTP_FORWARDED="for=192.0.2.1",
                                   REMOTE_ADDR="10.0.0.1")
    with limits(TRUSTED_HOPS=1, PROXY_HEADER="Forwarded"):
        assert keys.ip(request) == "192.0.2.1"


def test_no_address():
    request = RequestFactory().get("/", REMOTE_ADDR="")
    with pytest.raises(ValueError):
        keys.ip(request)
    with limits(CLIENT_IP="HTTP_X_REAL_IP"), pytest.raises(ValueError):
        keys.ip(request)


@pytest.fixture(scope="module")
def users():
    call_command("migrate", verbosity=0)
    from django.contrib.auth.models import User

    return [User.objects.create_user(name) for name in ("alex", "bob")]


@both
def test_users_of_the_database(is_async, users):
    """The thread that Django keeps for its database loads them."""
    url = "/async/mine" if is_async else "/mine"
    with limits(DEFAULT="20/h", KEY="user"):
        for user in users:
            client = AsyncClient() if is_async else Client()
            client.force_login(user)

            def ask():
                response = client.get(url)
                return asyncio.run(response) if is_async else response

            assert [ask().status_code for _ in range(17)] == [200] * 16 + [429]
            left = limiter().peek("user", str(user.pk), cost=0)
            assert left.remaining == 0
            assert '"view:default/*/20/1h";r=2;' in ask()["RateLimit"]


# ---- Answers ----------------------------------------------------------------


@pytest.mark.parametrize("style, reset, names", [
    ("legacy", "delta", ["X-RateLimit-Limit", "X-RateLimit-Remaining",
                         "X-RateLimit-Reset"]),
    ("draft-6", "delta", ["RateLimit-Policy", "RateLimit-Limit",
                          "RateLimit-Remaining", "RateLimit-Reset"]),
    ("draft-7", "delta", ["RateLimit-Policy", "RateLimit"]),
    ("none", "delta", [])])
def test_headers(style, reset, names):
    with limits(HEADERS=style, HEADERS_RESET=reset, DEFAULT="100/h"):
        response = get("/trade?user=alex")
    found = [name for name in response.headers if "RateLimit" in name]
    assert found == names
    if style == "legacy":  # the tighter one of both decisions
        assert response["X-RateLimit-Limit"] == "6"


def test_headers_reset():
    with limits(HEADERS="legacy", HEADERS_RESET="epoch"):
        assert int(get("/trade?user=a")["X-RateLimit-Reset"]) > 10**9


def sorry(request, error):
    return HttpResponse(f"sorry, {error}", status=503)


async def sorry_later(request, error):
    await asyncio.sleep(0)
    return sorry(request, error)


@both
@pytest.mark.parametrize("view", [
    sorry, sorry_later, "test_django_settings.sorry"])
def test_view(view, is_async):
    with limits(VIEW=view, DEFAULT="2/m"):
        get(is_async=is_async)
        get("/async/trade?user=a" if is_async else "/trade?user=a", is_async)
        response = get(is_async=is_async)
    assert response.status_code == 503
    assert response.content.startswith(b"sorry, limit exceeded: try again in 3")
    assert response["Retry-After"] == "30"


@both
def test_view_for_what_a_view_denies(is_async):
    with limits(VIEW=sorry_later):
        url = "/async/trade?user=a" if is_async else "/trade?user=a"
        assert allowed(url, is_async=is_async) == 6
        assert get(url, is_async).status_code == 503


class Busy(Exception):
    decision = None


class Denied(Ratelimited):
    pass


@both
def test_exception_class(is_async):
    url = "/async/trade?user=a" if is_async else "/trade?user=a"
    with limits(EXCEPTION_CLASS="test_django_settings.Busy"):
        assert allowed(url, 6, is_async=is_async) == 6
        with pytest.raises(Busy) as error:
            get(url, is_async)
        assert error.value.decision.limited
    with limits(EXCEPTION_CLASS=Denied):
        assert allowed(url, 6, is_async=is_async) == 6
        assert get(url, is_async).status_code == 429


# ---- The settings of django-ratelimit ---------------------------------------


def address(request):
    return "192.0.2.9"


CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache",
                      "LOCATION": "redis://127.0.0.1:1/3,redis://replica"},
          "socket": {"BACKEND": "django_redis.cache.RedisCache",
                     "LOCATION": ["unix:///run/redis.sock?db=2"]},
          "local": {"BACKEND": "django.core.cache.backends.locmem."
                               "LocMemCache"},
          "memcached": {"BACKEND": "django.core.cache.backends.memcached."
                                   "PyMemcacheCache",
                        "LOCATION": ["10.0.0.1:11211", "10.0.0.2:11211"]},
          "memcached socket": {"BACKEND": "django.core.cache.backends."
                                          "memcached.PyLibMCCache",
                               "LOCATION": "unix:/run/memcached.sock"},
          "file": {"BACKEND": "django.core.cache.backends.filebased."
                              "FileBasedCache", "LOCATION": "/tmp"},
          "secret": {"BACKEND": "django.core.cache.backends.redis.RedisCache",
                     "LOCATION": "redis://host", "OPTIONS": {"password": "x"}}}


def test_fallbacks():
    with override_settings(
            CACHES=CACHES, RATELIMIT_ENABLE=False, RATELIMIT_VIEW=sorry,
            RATELIMIT_CACHE_PREFIX="mine:", RATELIMIT_USE_CACHE="default",
            RATELIMIT_FAIL_OPEN=True, RATELIMIT_IPV6_MASK=56,
            RATELIMIT_IPV4_MASK=24,
            RATELIMIT_IP_META_KEY="HTTP_X_REAL_IP",
            RATELIMIT_EXCEPTION_CLASS=Busy):
        found = current().conf
        assert not found.enabled and found.view is sorry
        assert found.store == "redis://127.0.0.1:1/3"
        assert found.options == {"prefix": "mine:", "on_store_error": "allow"}
        assert (found.ipv6_prefix, found.client_ip) == (56, "HTTP_X_REAL_IP")
        assert found.ipv4_prefix == 24
        assert found.exception_class is Busy
        with limits(ENABLED=True):  # LIMITREE takes precedence
            assert current().conf.enabled


@pytest.mark.parametrize("alias, store", [
    ("default", "redis://127.0.0.1:1/3"),
    ("socket", "redis+unix:///run/redis.sock?db=2"),
    ("memcached", "memcached://10.0.0.1:11211,10.0.0.2:11211"),
    ("memcached socket", "memcached+unix:///run/memcached.sock"),
    ("local", "memory://")])
def test_store_of_a_cache(alias, store):
    with override_settings(CACHES=CACHES), limits(STORE=f"cache://{alias}"):
        assert current().conf.store == store


# ---- Mistakes ---------------------------------------------------------------


def errors(**settings):
    """Returns {id: text} of the messages of the checks."""
    with override_settings(**settings):
        return {one.id: one.msg for one in run_checks(tags=["limitree"])}


@pytest.mark.parametrize("value, text", [
    ({"HEADERS": "x"}, "['HEADERS'] must be one of ietf"),
    ({"IPV6_PREFIX": 129}, "from 1 to 128"),
    ({"IPV6_PREFIX": "64"}, "a whole number"),
    ({"TRUSTED_HOPS": -1}, "from 0 to 100"),
    ({"TRUSTED_HOPS": 1, "TRUSTED_PROXIES": ["::1"]}, "exclude each other"),
    ({"TRUSTED_PROXIES": "10.0.0.0/8"}, "a list of texts"),
    ({"TRUSTED_PROXIES": [7]}, "texts only"),
    ({"TRUSTED_PROXIES": ["10.0.0.0/33"]}, "10.0.0.0/33"),
    ({"PROXY_HEADER": None}, "a text"),
    ({"CLIENT_IP": "no.such.function"}, "No module named 'no'"),
    ({"EXEMPT": "/health"}, "a list of texts"),
    ({"ENABLED": "no"}, "True or False"),
    ({"KEY": "id"}, "no such key"),
    ({"KEY": 7}, "a text or a function"),
    ({"DEFAULT": "5"}, "written as"),
    ({"DEFAULT": 5}, "must be a text"),
    ({"PATHS": ("ip", keys.ip)}, "a path such as"),
    ({"PATHS": {"ip"}}, "a list of paths"),
    ({"PATHS": [("ip", 7)]}, "a int in it"),
    ({"PATHS": ["no.such.function"]}, "No module named 'no'"),
    ({"VIEW": "limitree.nothing"}, "does not define"),
    ({"VIEW": 7}, "a function or where it lies"),
    ({"CLOCK": 7}, "returns nanoseconds"),
    ({"LIMITS": 7}, "a path, YAML text or a dict"),
    ({"STORE": 7}, "a URL"),
    ({"STORE": "cache://none"}, "CACHES has 'default'"),
    ({"STORE": "cache://file"}, "not on a Redis"),
    ({"STORE": "cache://secret"}, "OPTIONS"),
    ({"LIMIT": {}}, "no setting 'LIMIT'"),
    ({"TIMEOT": 1}, "no setting 'TIMEOT': did you mean 'TIMEOUT'?"),
    ({"STROE": "shm://x"}, "no setting 'STROE': did you mean 'STORE'?"),
    ({"LEVELS": True}, "no setting 'LEVELS'"),
    ({"TIMEOUT": "50"}, "LIMITREE['TIMEOUT'] is '50', a text without a unit"),
    ({"CONNECT_TIMEOUT": " 1.5"}, "write a number of seconds, or a text such"),
    ({"store": "memory://"}, "keys are capitals"),
    ([], "a dict"),
])
def test_wrong_settings(value, text):
    found = errors(LIMITREE=value, CACHES=CACHES)
    assert text in found["limitree.E002"]
    with override_settings(LIMITREE=value, CACHES=CACHES):
        with pytest.raises(ImproperlyConfigured) as error:
            Client().get("/plain")
    assert text in str(error.value)


def test_wrong_limits(tmp_path):
    file = tmp_path / "limits.yaml"
    file.write_text("schema:\n  user:\n    limits: [0, -3, 60]\n    limit: 1\n")
    with override_settings(LIMITREE={"LIMITS": file}):
        found = [one.msg for one in run_checks(tags=["limitree"])
                 if one.id == "limitree.E001"]
        assert found == [
            f"{file}:3:17: count must be greater than 0, is -3",
            f'{file}:4:5: unknown key of a node "limit", did you mean '
            '"limits"?']
        with pytest.raises(ImproperlyConfigured) as error:
            Client().get("/plain")
        assert str(error.value) == "\n".join(found)
    file.unlink()
    found = errors(LIMITREE={"LIMITS": file})
    assert "No such file" in found["limitree.E001"]
    with override_settings(LIMITREE={"LIMITS": file}):
        with pytest.raises(ImproperlyConfigured, match="No such file"):
            Client().get("/plain")


def test_checks_do_not_make_the_file(shared):
    """It would belong to whoever runs a command first."""
    assert "limitree.E003" not in errors(LIMITREE={"STORE": shared})
    assert not path_of(shared).exists()


def test_a_file_that_cannot_be_used(shared):
    path_of(shared).symlink_to("other")
    with override_settings(LIMITREE={"STORE": shared}):
        with pytest.raises(ImproperlyConfigured, match="symbolic link"):
            Client().get("/plain")


@pytest.mark.parametrize("value, text", [
    ({"STORE": "redid://x"}, "a URL such as"),
    ({"STORE": "shm://folder/file"}, "an absolute path"),
    ({"TLS_VERIFY": False}, "needs a store with TLS"),
    ({"TIMEOUT": "soon"}, "timeout: must be a duration"),
    ({"ON_STORE_ERROR": "ignore"}, "raise, allow, deny or local"),
    ({"MAX_BUCKETS": [1]}, "max_buckets must be"),
])
def test_what_the_limiter_refuses(value, text):
    found = errors(LIMITREE=value)
    assert text in found["limitree.E003"]
    with override_settings(LIMITREE=value):
        with pytest.raises(ImproperlyConfigured, match=text):
            Client().get("/plain")


def test_the_name_of_our_own_tree():
    """The mistake is reported before the first request for a rate."""
    mine = {"LIMITS": {"schema": {"view": {}}}}
    assert "view" in errors(LIMITREE=mine)["limitree.E001"]
    with override_settings(LIMITREE=mine):
        with pytest.raises(ImproperlyConfigured, match="view"):
            Client().get("/plain")


def test_unknown_paths():
    found = errors(LIMITREE={"LIMITS": django_site.LIMITS,
                             "PATHS": [("usr", keys.ip)]})
    assert "PATHS" in found["limitree.E004"] and "usr" in found["limitree.E004"]
    # A server makes no checks: it does not start.
    for path, text in ((("usr", keys.ip), 'unknown root "usr"'),
                       (("user",), "an id is missing")):
        with limits(PATHS=[("ip", keys.ip), path], STORE="redis://nowhere:1"):
            with pytest.raises(ImproperlyConfigured) as error:
                Client().get("/health/live")
        assert str(error.value).startswith("LIMITREE['PATHS']: ")
        assert text in str(error.value)
    with override_settings(LIMITREE={"LIMITS": {"schema": {"hard": {}}}}):
        found = [one.msg for one in run_checks(tags=["limitree"])]
    assert ('django_site.trade: unknown root "user", the tree has: hard, view'
            in found)
    assert [one for one in found if one.startswith("a class: unknown root")]


def test_middleware():
    gc.collect()  # views of other tests
    base = {"LIMITS": django_site.LIMITS}
    assert "limitree.W002" in errors(MIDDLEWARE=[], LIMITREE=base)
    assert "not in MIDDLEWARE" in errors(
        MIDDLEWARE=[], LIMITREE={**base, "DEFAULT": "5/m"})["limitree.E005"]
    assert "twice" in errors(MIDDLEWARE=[OURS, OURS])["limitree.E005"]
    asks = {**base, "PATHS": [("user", keys.user_or_ip)]}
    for middleware in ([OURS, SESSIONS, AUTH], [OURS]):
        assert "limitree.E006" in errors(MIDDLEWARE=middleware, LIMITREE=asks)
    assert "keeps the headers" in errors(
        MIDDLEWARE=[CACHE, OURS])["limitree.W005"]
    assert "limitree.W005" not in errors(MIDDLEWARE=[OURS, CACHE])
    for fine in ({"LIMITREE": asks}, {"MIDDLEWARE": [OURS, SESSIONS, AUTH]}):
        assert errors(DEBUG=True, **fine) == {}


def test_looks_wrong():
    gc.collect()
    assert list(errors()) == ["limitree.W001"]
    assert errors(DEBUG=True) == {}
    assert errors(LIMITREE={**base(), "STORE": "redis://localhost"}) == {}
    proxy = {"SECURE_PROXY_SSL_HEADER": ("HTTP_X_FORWARDED_PROTO", "https"),
             "DEBUG": True}
    assert list(errors(**proxy)) == ["limitree.W003"]
    assert errors(LIMITREE={**base(), "TRUSTED_HOPS": 1}, **proxy) == {}
    found = errors(RATELIMIT_HASH_ALGORITHM="x", DEBUG=True)
    assert found == {
        "limitree.W004": "RATELIMIT_HASH_ALGORITHM has no effect on limitree"}


@pytest.mark.parametrize("name, hint", [
    ("LIMITREE_STORE", "write LIMITREE['STORE']"),
    ("LIMITREE_STORES", "write LIMITREE['STORE']"),
    ("LIMITREE_ON_STORE_ERROR", "write LIMITREE['ON_STORE_ERROR']"),
    ("RATELIMIT_FAIL_OPN", "did you mean RATELIMIT_FAIL_OPEN?"),
    ("RATELIMIT_USE_CACHES", "did you mean RATELIMIT_USE_CACHE?"),
    ("LIMITREE_LIMITS", None),  # LIMITREE has it
    ("LIMITREE_REPORTS", None),  # the project's own
    ("RATELIMIT_OF_LOGIN", None)])
def test_settings_that_nobody_reads(name, hint):
    found = errors(DEBUG=True, **{name: "x"})
    assert found == ({} if hint is None else {
        "limitree.W004": f"{name} has no effect on limitree: {hint}"})


def base():
    return {"LIMITS": django_site.LIMITS}


# ---- manage.py limitree -----------------------------------------------------


def manage(*arguments, **options):
    out = io.StringIO()
    call_command("limitree", *arguments, stdout=out, **options)
    return out.getvalue()


def test_manage():
    with redis_server() as (url, process), limits(STORE=url, TIMEOUT="5s"):
        assert "user:*/trade\n" in manage("check")
        assert manage("ping").split()[1] == "ms,"
        for _ in range(6):
            limiter().authorize("user", "alex", "trade")
        shown = manage("show", "user", "alex", "trade").splitlines()
        assert shown[0] == "limit          left  one more in  full again in"
        assert shown[1].split()[:3] == ["user:*", "10/16", "-"]
        assert shown[2].split()[:2] == ["user:*/trade", "0/6"]
        assert manage("reset", "user", "alex", "trade", leaf=True)
        assert "6/6" in manage("show", "user", "alex", "trade")
        assert "10/16" in manage("show", "user", "alex", "trade")
        for _ in range(3):
            Client().get("/rated")
        rate = "view", "django_site.rated", "127.0.0.1", "2/1m"
        assert "0/2" in manage("show", *rate)
        manage("reset", *rate)
        assert "2/2" in manage("show", *rate)
        manage("reset", "user", "alex")
        assert "16/16" in manage("show", "user", "alex")
        assert manage("show", "free") == "there is no limit on this path\n"
        with pytest.raises(CommandError, match="usr"):
            manage("show", "usr")
        process.kill()
        process.wait()
        with pytest.raises(CommandError):
            manage("ping")


def test_manage_with_a_file(shared):
    with limits(STORE=shared):
        for _ in range(6):
            limiter().authorize("user", "alex", "trade")
        limiter().close()
    with limits(STORE=shared):  # another process, as far as it matters
        assert manage("ping").split()[1] == "ms,"
        assert "0/6" in manage("show", "user", "alex", "trade")
        manage("reset", "user", "alex", "trade")
        assert "6/6" in manage("show", "user", "alex", "trade")
        limiter().close()


def test_manage_in_memory():
    with limits(DEFAULT="7/m"):
        shown = manage("check").splitlines()
    assert {"user:*", "view:default/*/7/1m", "view:django_site.rated/*/3/1h"
            } <= set(shown)
    assert not [line for line in shown if "dummy" in line]
    for arguments in (["ping"], ["show", "user", "a"], ["reset", "user", "a"]):
        with pytest.raises(CommandError, match="memory://"):
            manage(*arguments)
    with override_settings(LIMITREE={"LIMITS": "schema: {a: {limits: x}}"}):
        with pytest.raises(CommandError, match="limits:1:"):
            manage("check")
    with pytest.raises(CommandError):
        manage("forget")
