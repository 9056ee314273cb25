"""A Django project for the tests: settings, views and URLs in one module.

Servers import it, too; the environment then has their settings, in JSON.
"""

import asyncio
import dataclasses
import json
import os

import django
from django.conf import settings

LIMITS = {"schema": {
    "user": {"children": {"*": {
        "limits": [15, 30, 60],
        "children": {"trade": {"limits": [5, 10, 15]}}}}},
    "ip": {"key": "ip", "children": {"*": {"limits": "100/hour"}}},
    "hard": {"children": {"*": {"limits": [49, 1, 3600]}}},
    "free": {}}}

if not settings.configured:
    settings.configure(
        SECRET_KEY="of the tests", ALLOWED_HOSTS=["*"], DEBUG=False,
        ROOT_URLCONF="django_site", USE_TZ=True,
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3",
                               # One for all threads of this process.
                               "NAME": "file:limitree?mode=memory"
                                       "&cache=shared"}},
        SESSION_ENGINE="django.contrib.sessions.backends.signed_cookies",
        INSTALLED_APPS=["django.contrib.auth",
                        "django.contrib.contenttypes",
                        "django.contrib.sessions",
                        "rest_framework",
                        "limitree.django"],
        MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware",
                    "django.contrib.auth.middleware.AuthenticationMiddleware",
                    "limitree.django.LimitreeMiddleware"],
        LIMITREE={"LIMITS": LIMITS,
                  **json.loads(os.environ.get("LIMITREE_TEST", "{}"))})
    django.setup()

from django.contrib.syndication.views import Feed  # noqa: E402
from django.core.handlers.asgi import ASGIHandler  # noqa: E402
from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.http import (  # noqa: E402
    Http404,
    HttpResponse,
    StreamingHttpResponse,
)
from django.urls import path  # noqa: E402
from django.utils.decorators import method_decorator  # noqa: E402
from django.views import View  # noqa: E402

from limitree.django import keys, limiter, ratelimit  # noqa: E402

who = keys.get("user")


def plain(request):
    return HttpResponse("plain")


@ratelimit("user", who, "trade")
def trade(request):
    return HttpResponse("traded")


@ratelimit("user", who, "trade")
async def async_trade(request):
    return HttpResponse("traded")


@ratelimit("hard", who)
def hard(request):
    return HttpResponse("done")


@ratelimit("hard", who)
async def async_hard(request):
    return HttpResponse("done")


@ratelimit(key="ip", rate="2/m;3/h")
def rated(request):
    return HttpResponse("rated")


@ratelimit(key="ip", rate="2/m", method=ratelimit.UNSAFE, block=False)
def noted(request):
    return HttpResponse("limited" if request.limited else "not limited")


@ratelimit("user", lambda request, pk: pk, cost=lambda request, pk: pk)
def by_number(request, pk):
    return HttpResponse(str(pk))


@ratelimit("user", keys.user)
def mine(request):
    return HttpResponse(request.user.get_username() or "nobody")


@ratelimit("user", keys.user)
async def async_mine(request):
    return HttpResponse("mine")


@ratelimit("user", who, "trade")
def stream(request):
    return StreamingHttpResponse(iter(["a", "b"]))


@ratelimit("user", who, "trade")
async def async_stream(request):
    async def parts():
        for part in "ab":
            await asyncio.sleep(0)
            yield part
    return StreamingHttpResponse(parts())


@ratelimit(key=who, rate="2/h", deduct_when=lambda r: r.status_code == 404)
def guess(request):
    if "right" not in request.GET:
        raise Http404
    return HttpResponse("right")


@ratelimit(key=who, rate="2/h", deduct_when=lambda r: r.status_code == 404)
async def async_guess(request):
    if "right" not in request.GET:
        raise Http404
    return HttpResponse("right")


stops = []  # processes that a request ends


@ratelimit(key=who, rate="9/h", deduct_when=lambda response: True)
def stop(request):
    while stops:
        process = stops.pop()
        process.kill()
        process.wait()
    return HttpResponse("done")


@ratelimit(key=who, rate="9/h", deduct_when=lambda response: True)
async def async_stop(request):
    return stop.__wrapped__(request)


@ratelimit("hard", who, deduct_when=lambda response: len(response.content))
def by_size(request):
    return HttpResponse("x" * 30)


def by_service(request):
    """A view that calls a function with a limit."""
    act = limiter().limit("user", lambda name: name, "trade")(len)
    return HttpResponse(str(act(request.GET["user"])))


@method_decorator(ratelimit(key="ip", rate="1/h"), name="dispatch")
class OfClass(View):
    def get(self, request):
        return HttpResponse("got")


class OtherClass(OfClass):
    pass


class OfMethod(View):
    @method_decorator(ratelimit(key="ip", rate="1/h"))
    def post(self, request):
        return HttpResponse("posted")

    def get(self, request):
        return HttpResponse("got")


class First(View):
    def get(self, request):
        return HttpResponse("got")


class Second(First):
    pass


class News(Feed):
    title, link, description = "News", "/news", "Nothing"

    def items(self):
        return []


@dataclasses.dataclass
class WithoutHash:
    text: str

    def __call__(self, request):
        return HttpResponse(self.text)


@method_decorator(ratelimit("user", who, "trade"), name="dispatch")
class AsyncClass(View):
    async def get(self, request):
        return HttpResponse("got")


urlpatterns = [
    path("plain", plain),
    path("health/live", plain),
    path("trade", trade),
    path("async/trade", async_trade),
    path("hard", hard),
    path("async/hard", async_hard),
    path("rated", rated),
    path("noted", noted),
    path("number/<int:pk>", by_number),
    path("mine", mine),
    path("async/mine", async_mine),
    path("stream", stream),
    path("async/stream", async_stream),
    path("guess", guess),
    path("async/guess", async_guess),
    path("stop", stop),
    path("async/stop", async_stop),
    path("size", by_size),
    path("service", by_service),
    path("class", OfClass.as_view()),
    path("class/other", OtherClass.as_view()),
    path("class/method", OfMethod.as_view()),
    path("class/first", First.as_view()),
    path("class/second", Second.as_view()),
    path("news", News()),
    path("data", WithoutHash("data")),
    path("async/class", AsyncClass.as_view()),
]

application = WSGIHandler()
asgi = ASGIHandler()
