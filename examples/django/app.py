"""Alex may trade six times at once; then one request more every 1.5 seconds.

    python examples/django/app.py runserver
    curl -i localhost:8000/trade/alex
"""

import pathlib
import sys

from django.conf import settings
from django.core.management import execute_from_command_line
from django.http import HttpResponse
from django.urls import path

from limitree.django import ratelimit

settings.configure(
    DEBUG=True,
    ROOT_URLCONF=__name__,
    INSTALLED_APPS=["limitree.django"],
    MIDDLEWARE=["limitree.django.LimitreeMiddleware"],
    LIMITREE={"LIMITS": pathlib.Path(__file__).parent.parent / "limits.yaml",
              "DEFAULT": "1000/hour"})  # of each address, over all views


@ratelimit("user", lambda request, user: user, "trade")
def trade(request, user):
    return HttpResponse(f"{user} has traded\n")


@ratelimit(key="ip", rate="5/minute; 20/hour", method=["POST"])
def login(request):
    return HttpResponse("hello\n")


urlpatterns = [path("trade/<user>", trade), path("login", login)]

if __name__ == "__main__":
    execute_from_command_line(sys.argv)
