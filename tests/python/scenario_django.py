"""The scenarios as projects of Django, with REST framework or without."""

import contextlib
import types

import django_site  # noqa: F401  its settings come first

from django.http import HttpResponse
from django.test import Client, override_settings
from django.urls import path as url
from rest_framework.response import Response
from rest_framework.views import APIView

from limitree import drf
from limitree.django import keys, levels_of, ratelimit, reset
from scenario_apps import (
    Answer,
    App,
    Functions,
    Impossible,
    limit_of,
    routes_of,
    store_of,
    told,
)

ONE_STEP_LATER = ("the middleware decides DEFAULT before the view is known, so "
                  "limits of views are a second step")


def respond(status, text):
    return HttpResponse(text, status=status)


class Django(App):
    throttles = False

    def __init__(self, scenario, clock):
        app = scenario["app"]
        self.name = scenario["name"].replace(" ", "_")
        if any("WS" in methods for methods, _, _ in routes_of(scenario)):
            raise Impossible("Django has no websockets")
        self.functions = functions = Functions(
            lambda request, name: request.headers.get(name))
        self.answer = app.get("answer")
        settings = {"LIMITS": app.get("limits"), "CLOCK": clock,
                    "KEY": lambda group, request: functions.key("caller")(
                        request),
                    "ON_BREACH": functions.on_breach(app.get("on_breach"),
                                                     respond)}
        settings.update({name.upper(): value
                         for name, value in store_of(app).items()})
        if self.answer and not self.throttles:
            settings["VIEW"] = lambda request, error: respond(
                self.answer["status"], self.answer["body"])
        patterns, exempt = [], []
        for methods, path, limits in routes_of(scenario):
            if limits == "exempt":
                exempt.append(path)
                limits = []
            elif app.get("everywhere") and limits and not self.throttles:
                raise Impossible(ONE_STEP_LATER)
            patterns.append(url(path[1:], self.view(path, limits, app)))
        self.defaults(app, settings)
        settings["EXEMPT"] = exempt
        module = types.ModuleType("scenario_urls")
        module.urlpatterns = patterns
        self._stack = contextlib.ExitStack()
        self._stack.enter_context(override_settings(
            ROOT_URLCONF=module, LIMITREE=settings))
        self.client = Client()

    def defaults(self, app, settings):
        for name, where in (("DEFAULT", "everywhere"),
                            ("VIEW_DEFAULT", "default")):
            if app.get(where):
                settings[name] = "; ".join(app[where])

    def handler(self, path):
        def view(request):
            return respond(int(request.headers.get("X-Status", 200)),
                           told(request.limitree.decision))
        view.__qualname__ = f"{self.name}{path}"
        return view

    def view(self, path, limits, app):
        view, functions = self.handler(path), self.functions
        for limit in reversed(limits):
            options = functions.options(limit, respond)
            methods = options.pop("methods")
            group, per_method = options.pop("scope"), options.pop("per_method")
            if "path" in limit:
                view = ratelimit(*functions.path(limit["path"]), **options)(
                    view)
                continue
            key = limit["key"] if limit["key"] == "ip" else (
                lambda group, request, key=functions.key(limit["key"]):
                key(request))
            text = functions.text(limit["text"])
            rate = text if isinstance(text, str) else (
                lambda group, request: text(request))
            for method in ((methods or ["GET", "POST"]) if per_method
                           else [methods]):
                view = ratelimit(group=group, key=key, rate=rate,
                                 method=method, **options)(view)
        return view

    def request(self, method, path, headers):
        answer = self.client.generic(method, path, headers=headers)
        return Answer(answer.status_code, answer.headers,
                      answer.content.decode())

    def levels(self, caller):
        # Views of other scenarios may still be there.
        return [level for level in levels_of(caller)
                if self.name in level.policy]

    def reset(self, caller):
        reset(caller)

    def close(self):
        self._stack.close()


class Drf(Django):
    """Throttles of REST framework; the middleware adds headers."""

    throttles = True

    def __init__(self, scenario, clock):
        if scenario["name"] == "the body of a denial":
            raise Impossible("REST framework writes the body of a denial")
        super().__init__(scenario, clock)

    def defaults(self, app, settings):
        pass

    def view(self, path, limits, app):
        functions = self.functions
        found = [limit_of(one) for one in app.get("everywhere", ())]
        everywhere = len(found)
        found += limits or [limit_of(one) for one in app.get("default", ())]
        if app["routes"].get(f"GET {path}") == "exempt":
            found = []
        throttles = [self.throttle(limit, "everywhere" if at < everywhere
                                   else path)
                     for at, limit in enumerate(found)]

        class View(APIView):
            authentication_classes = permission_classes = []
            throttle_classes = throttles

            def answer(self, request):
                return Response(told(request._request.limitree.decision),
                                int(request.headers.get("X-Status", 200)))
            get = post = head = answer

            def handle_exception(view, error):
                if self.answer and getattr(error, "status_code", 0) == 429:
                    response = Response(self.answer["body"],
                                        self.answer["status"],
                                        headers={"Retry-After": str(
                                            int(error.wait))})
                    return response
                return super().handle_exception(error)
        del functions
        return View.as_view()

    def throttle(self, limit, place):
        functions = self.functions
        options = functions.options(limit, respond)
        cost, exempt, charge = (options[name] for name in (
            "cost", "exempt_when", "deduct_when"))
        breach = options["on_breach"]
        found = {"methods": options["methods"],
                 "per_method": options["per_method"],
                 "error_message": options["error_message"],
                 "scope": options["scope"]
                 or f"{self.name}:{place}:{limit.get('text')}"}
        if callable(cost):
            found["throttle_cost"] = (
                lambda self, request, view: cost(request))
        else:
            found["cost"] = cost
        if exempt:
            found["exempt_when"] = lambda self, request, view: exempt(request)
        if charge:
            found["deduct_when"] = lambda self, response: charge(response)
        if breach:
            found["on_breach"] = (
                lambda self, request, decision: breach(request, decision))
        if "path" in limit:
            path = functions.path(limit["path"])
            found["throttle_path"] = lambda self, request, view: [
                part(request) if callable(part) else part for part in path]
            return type("Path", (drf.LimitreeThrottle,), found)
        key = (keys.ip if limit["key"] == "ip" else functions.key(limit["key"]))
        found["get_cache_key"] = lambda self, request, view: key(
            request._request)
        text = functions.text(limit["text"])
        found["rate"] = text if isinstance(text, str) else "1/hour"
        if not isinstance(text, str):
            found["throttle_rate"] = lambda self, request, view: text(request)
        return type("Rate", (drf.SimpleRateThrottle,), found)
