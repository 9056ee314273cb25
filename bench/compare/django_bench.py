"""What a rate limit adds to a request through Django: limitree and
django-ratelimit side by side, in one process and one run.

Each line is a view that answers two letters, through Django's WSGI handler:
without a limit, under django-ratelimit (its default, a cache in local memory,
and no headers), and under limitree with its middleware and the headers of the
IETF draft.  Both have one limit of 10,000,000 per minute for each address of a
client; "tree" asks two limits of a limits.yaml instead.

Each time is the minimum of many short turns, in which the views alternate: on a
shared machine, anything above the minimum is the work of others.

Usage: django_bench.py [turns]        (300)
"""

import sys
import time
import types

import django
from django.conf import settings

MANY = {"burst": 10**7, "count": 10**7, "period": "1m"}
LIMITREE = ["limitree.django.LimitreeMiddleware"]

settings.configure(
    SECRET_KEY="of the benchmark", ALLOWED_HOSTS=["*"], DEBUG=False,
    ROOT_URLCONF=__name__, MIDDLEWARE=[],
    INSTALLED_APPS=["limitree.django"],
    CACHES={"default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache"}},
    LIMITREE={"LIMITS": {"schema": {"user": {"children": {"*": {
        "limits": MANY, "children": {"trade": {"limits": MANY}}}}}}}})
django.setup()

from django.core.handlers.wsgi import WSGIHandler  # noqa: E402
from django.http import HttpResponse  # noqa: E402
from django.test import RequestFactory  # noqa: E402
from django.urls import path  # noqa: E402
from django_ratelimit.decorators import ratelimit as peer  # noqa: E402

from limitree.django import keys, ratelimit  # noqa: E402


def plain(request):
    return HttpResponse("ok")


@peer(key="ip", rate="10000000/m")
def by_peer(request):
    return HttpResponse("ok")


@ratelimit(key="ip", rate="10000000/m")
def by_rate(request):
    return HttpResponse("ok")


@ratelimit("user", keys.ip, "trade")
def by_tree(request):
    return HttpResponse("ok")


LINES = {  # printed name: the view and the middleware
    "no limit": (plain, []),
    "django-ratelimit, one limit": (by_peer, []),
    "limitree, one limit": (by_rate, LIMITREE),
    "limitree, tree of two": (by_tree, LIMITREE),
}
REQUESTS = 50


def make(view, middleware):
    """Returns a function that makes one request."""
    settings.MIDDLEWARE = middleware
    handler = WSGIHandler()
    # Each view is the first of its URLs: Django would try others before it.
    urls = types.ModuleType(f"urls_of_{view.__name__}")
    urls.urlpatterns = [path("view", view)]
    environ = RequestFactory()._base_environ(PATH_INFO="/view")
    status = []

    def start_response(line, headers):
        status[:] = [line, dict(headers)]

    def request():
        handler(dict(environ), start_response).close()

    request.urls = settings.ROOT_URLCONF = urls
    request()
    assert status[0].startswith("200 "), status
    assert ("RateLimit" in status[1]) == bool(middleware), status
    return request


def time_turn(request):
    """Returns microseconds for each request."""
    settings.ROOT_URLCONF = request.urls
    request()
    start = time.perf_counter_ns()
    for _ in range(REQUESTS):
        request()
    return (time.perf_counter_ns() - start) / REQUESTS / 1000


def main():
    turns = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    requests = {name: make(*how) for name, how in LINES.items()}
    best = dict.fromkeys(requests, float("inf"))
    for _ in range(turns):
        for name, request in requests.items():
            best[name] = min(best[name], time_turn(request))
    base = best["no limit"]
    peer_adds = best["django-ratelimit, one limit"] - base
    print(f"{'view':<28} {'us':>7} {'added':>7} {'of the peer':>12}")
    for name, taken in best.items():
        added = taken - base
        part = f"{added / peer_adds:.2f}" if added else ""
        print(f"{name:<28} {taken:>7.1f} {added:>7.1f} {part:>12}")


if __name__ == "__main__":
    main()
