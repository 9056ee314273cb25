"""Applications whose event loop stands still for a while, for test_gone.py."""

import time

from django.conf import settings
from django.http import HttpResponse
from django.urls import path
from fastapi import Depends, FastAPI

from limitree.asgi import LimitreeMiddleware
from limitree.fastapi import Limiter, RateLimit


def stand_still():
    """Clients come and go, and the server does not see it."""
    time.sleep(0.5)
    return b"done"


async def bare(scope, receive, send):
    assert scope["type"] == "http"
    body = stand_still() if scope["path"] == "/still" else b"hello"
    await send({"type": "http.response.start", "status": 200})
    await send({"type": "http.response.body", "body": body})


asgi = LimitreeMiddleware(
    bare, "schema: {ip: {children: {'*': {limits: 1000/minute}}}}")

fastapi = FastAPI()
Limiter(app=fastapi)


@fastapi.get("/still")
async def still():
    return stand_still()


@fastapi.get("/", dependencies=[Depends(RateLimit("1000/minute"))])
async def hello():
    return "hello"


async def still_of_django(request):
    return HttpResponse(stand_still())


async def hello_of_django(request):
    return HttpResponse("hello")


urlpatterns = [path("still", still_of_django), path("", hello_of_django)]


def django():
    from django.core.asgi import get_asgi_application
    settings.configure(
        SECRET_KEY="x", ROOT_URLCONF=__name__, ALLOWED_HOSTS=["*"],
        INSTALLED_APPS=["limitree.django"],
        LIMITREE={"DEFAULT": "1000/m"},
        MIDDLEWARE=["limitree.django.LimitreeMiddleware"])
    return get_asgi_application()
