"""A whole service in shadow, by `--shadow` or by its file, and out of it."""

import json
import signal
import urllib.request

import pytest
from service import request, rls

SHADOW = "mode: shadow\n"
RULES = """\
domain: web
descriptors:
- {key: user, rate_limit: {unit: day, requests_per_unit: 1}}
shadow_mode: true
"""


def ask(service, times):
    """What the answers say: whether the request is limited, whether it would
    be."""
    stub = service.limiter()
    answers = [stub.Authorize(request("user", "alex", "trade"))
               for _ in range(times)]
    return [(answer.limited, answer.shadowed) for answer in answers]


@pytest.mark.parametrize("env", [{}, {"LIMITREE_SHADOW": "true"},
                                 {"SHADOW_MODE": "true"}])
def test_a_service_in_shadow(serve, env):
    words = () if env else ("--shadow",)
    service = serve(*words, env=env)
    assert ask(service, 5) == [(False, False)] * 3 + [(False, True)] * 2


@pytest.mark.parametrize("words", [
    ("--set", "shadow_mode=on"), ("--shadow", "--set", "shadow_mode=off")])
def test_the_page_tells_of_the_option(serve, words):
    service = serve(*words, "--admin-listen", "127.0.0.1:0")
    shadowed = ask(service, 4)[-1] == (False, True)
    with urllib.request.urlopen(service.admin[0] + "/ui/data.json",
                                timeout=60) as answer:
        assert json.load(answer)["shadow_mode"] == shadowed
    assert shadowed == (words[-1] == "shadow_mode=on")


def test_a_reload_takes_a_file_in_and_out_of_shadow(serve, limits):
    text = limits.read_text(encoding="utf-8")
    limits.write_text(SHADOW + text, encoding="utf-8")
    service = serve()
    assert ask(service, 4)[-1] == (False, True)
    for mode, last in [("", (True, False)), (SHADOW, (False, True))]:
        limits.write_text(mode + text, encoding="utf-8")
        service.signal(signal.SIGHUP)
        service.wait_for("the limits are reloaded")
        assert ask(service, 1) == [last]


def test_a_file_of_descriptors_in_shadow(serve, tmp_path):
    (tmp_path / "rules.yaml").write_text(RULES, encoding="ascii")
    service = serve("--descriptors", tmp_path / "rules.yaml",
                    "--admin-listen", "127.0.0.1:0", limits=None)
    asked = rls.RateLimitRequest(domain="web")
    entry = asked.descriptors.add().entries.add()
    entry.key, entry.value = "user", "k:m"
    stub = rls.Stub(service.channel())
    codes = [stub.ShouldRateLimit(asked).overall_code for _ in range(3)]
    assert codes == [rls.RateLimitResponse.OK] * 3
    with urllib.request.urlopen(service.admin[0] + "/ui/data.json",
                                timeout=60) as answer:
        denied = json.load(answer)["denied"]
    assert denied == [{"caller": "web:user=k%3Am", "limited": 0, "shadow": 2,
                       "whole": True}]
