"""What goes wrong around limitree.litellm, in a real proxy."""

import concurrent.futures
import json
import secrets
import signal

import httpx
import pytest

import limitree
from litellm_site import (
    HOOK,
    INPUT,
    OUTPUT,
    PYTHON,
    ROOT,
    config,
    provider,
    proxy,
    wait_until,
)
from servers import PATIENT, redis_server
from test_litellm import LIMITS, Site, as_, body_of, together

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="./dev test rare installs litellm[proxy]")

# A callback before ours refuses an answer, as a guardrail does.  One after ours
# denies a model, as LiteLLM's own limits do, and asks a model, as a tool does.
OTHERS = '''
import litellm
from fastapi import HTTPException
from litellm.integrations.custom_logger import CustomLogger
from litellm.proxy.common_utils.proxy_rate_limit_error import (
    ProxyRateLimitError,
)

class Before(CustomLogger):
    async def async_post_call_success_hook(self, data, user_api_key_dict,
                                           response):
        if user_api_key_dict.api_key.startswith("refused"):
            raise HTTPException(400, "not for you")

class After(CustomLogger):
    async def async_pre_call_hook(self, user_api_key_dict, cache, data,
                                  call_type):
        key = user_api_key_dict.api_key
        if key.startswith("late") and data["model"] == "weak":
            raise ProxyRateLimitError(detail="another limit")
        if key.startswith("nested"):
            router = litellm.proxy.proxy_server.llm_router
            await router.acompletion(model="good", messages=[
                {"role": "user", "content": "{}"}])

before, after = Before(), After()
'''


@pytest.fixture(scope="module")
def redis():
    with redis_server() as (url, _):
        yield url


@pytest.fixture(scope="module")
def upstream():
    with provider() as found:
        yield found


@pytest.fixture(scope="module")
def client(redis, upstream):
    settings = config(upstream[0], cache=True, cache_params={"type": "local"})
    settings["litellm_settings"]["callbacks"] = [
        "others.before", "hook.handler", "others.after"]
    with proxy(settings, LIMITS, redis, [("others.py", OTHERS)],
               ANTHROPIC_API_BASE=upstream[0], ANTHROPIC_API_KEY="x") as made:
        yield made


@pytest.fixture
def site(client, upstream, redis):
    upstream[1].go.set()
    upstream[1].most = 0
    with limitree.Limiter(LIMITS, redis, timeout=PATIENT) as limiter:
        yield Site(client, upstream[1], limiter)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_of_the_cache_costs_one_request(site, stream):
    path = "/v1/chat/completions"
    _, body = body_of(path, stream=stream)
    key = f"cached-{stream}"
    before = len(site.provider.asked)
    money = []
    for _ in range(2):
        answer = site.client.post(path, headers=as_(key), json=body)
        assert answer.status_code == 200
        money.append(site.used(key)["model:good"])
    assert len(site.provider.asked) == before + 1
    used = site.used(key)
    assert used["requests"] == 2
    assert used["tokens"] == INPUT + OUTPUT
    assert used["slots"] == 0
    assert money[0] == money[1]


@pytest.mark.parametrize("stream", [False, True])
def test_a_request_that_is_passed_through(site, stream):
    # For these LiteLLM runs no hook but that for its log, afterwards.
    key = f"through-{stream}"
    answer = site.ask(key, "/anthropic/v1/messages", stream=stream,
                      max_tokens=1500)
    assert answer.status_code == 200, answer.text
    wait_until(lambda: site.used(key)["slots"] == 0, lambda: site.used(key))
    used = site.used(key)
    assert used["input_tokens"] == INPUT
    assert used["output_tokens"] == OUTPUT


def test_two_calls_with_one_id(site):
    # The id is the client's to choose.
    path = "/v1/chat/completions"

    def ask(_):
        return site.client.post(path, json=body_of(path, wait=True)[1],
                                headers=as_("twin", **{
                                    "x-litellm-call-id": "the-same"}))

    site.provider.go.clear()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(ask, i) for i in range(2)]
        wait_until(lambda: site.provider.running == 2,
                   lambda: [one.result() for one in running if one.done()])
        assert site.used("twin")["slots"] == 2
        site.provider.go.set()
        assert [one.result().status_code for one in running] == [200, 200]
    used = site.used("twin")
    assert used["tokens"] == 2 * (INPUT + OUTPUT)
    assert used["slots"] == 0


@pytest.mark.parametrize("name", ["nickname", "g1"])
def test_another_name_of_a_model_is_that_model(site, name):
    before = site.used(f"alias-{name}")["model:good"]
    assert site.ask(f"alias-{name}", model=name).status_code == 200
    after = site.used(f"alias-{name}")["model:good"]
    assert after - before == 1000 * INPUT + 2000 * OUTPUT


@pytest.mark.parametrize("more", [
    {"max_tokens": "9" * 400}, {"max_tokens": -5}, {"max_tokens": 10**30},
    {"max_tokens": True}, {"max_tokens": [1]}, {"max_tokens": "many"},
    {"max_tokens": 1e300}, {"n": 10**20}, {"n": -1}, {"n": {}},
    {"max_tokens": 3, "n": "x"}, {"extra_body": {"max_tokens": 10**9}},
    {"messages": "x"}, {"messages": [[[["x"]] * 3]]}, {"tools": "x"},
    {"messages": [{"role": "user", "content": "\ud800"}]},
    {"user": "\ud800 " * 3}, {"user": "x" * 10**5}, {"model": "\ud800"},
    {"model": "y" * 10**5}, {"model": "good," * 10**4},
    {"stream_options": 7, "stream": True}],
    ids=lambda more: f"{json.dumps(more)[:40]}")
def test_garbage_of_a_client_holds_nothing(site, more):
    _, body = body_of("/v1/chat/completions")
    answer = site.client.post(
        "/v1/chat/completions", headers={
            **as_("garbage"), "content-type": "application/json"},
        content=json.dumps({**body, **more}))
    assert answer.status_code in (200, 400, 404, 422, 429, 500)
    wait_until(lambda: site.used("garbage")["slots"] == 0,
               lambda: (site.used("garbage"), answer.text))
    log = site.client.process.log()
    ours = "/limitree/litellm/"  # in a traceback
    assert ours not in log, log[log.index(ours) - 2000:]


def test_a_limit_without_room_caps_the_answer(site):
    before = len(site.provider.asked)
    answer = site.ask("burst-cap", max_tokens=5000, output=5000)
    assert answer.status_code == 200, answer.text
    assert site.provider.asked[before]["max_tokens"] < 100
    assert answer.json()["usage"]["total_tokens"] <= 100


def test_answers_teach_how_long_they_are(site):
    for _ in range(3):
        assert site.ask("student", model="fallback",
                        output=40).status_code == 200
    with site.waiting("student", model="fallback"):
        used = site.used("student", "fallback")
        assert used["output_tokens"] == 3 * 40 + 40
    wait_until(lambda: site.used("student", "fallback")["slots"] == 0,
               lambda: site.used("student", "fallback"))


def test_an_answer_that_a_callback_refuses_is_paid(site):
    answer = site.ask("refused")
    assert answer.status_code == 400
    used = site.used("refused")
    assert used["tokens"] == INPUT + OUTPUT
    assert used["slots"] == 0


def test_the_first_try_of_a_fallback_is_forgotten(site):
    answer = site.ask("late", model="weak")
    assert answer.status_code == 200, answer.text
    used = site.used("late", "weak")
    assert used["tokens"] == INPUT + OUTPUT
    assert used["slots"] == 0


def test_a_call_within_a_request(site):
    assert site.ask("nested").status_code == 200
    used = site.used("nested")
    assert used["tokens"] == INPUT + OUTPUT
    assert used["slots"] == 0


def test_several_models_at_once(site):
    before = site.used("both")["model:good"]
    answer = site.ask("both", model="good, fallback", max_tokens=50)
    assert answer.status_code == 200, answer.text
    assert {one["model"] for one in answer.json()} == {"good", "fallback"}
    used = site.used("both")
    assert used["tokens"] == 2 * (INPUT + OUTPUT)
    assert used["slots"] == 0
    assert used["model:good"] - before == 1000 * INPUT + 2000 * OUTPUT


def test_the_first_of_several_models(site):
    answer = site.ask("race", model="good, fallback", max_tokens=50,
                      fastest_response=True)
    assert answer.status_code == 200, answer.text
    used = site.used("race")
    assert used["output_tokens"] == 2 * 50  # as held: nobody knows
    assert used["slots"] == 0


def test_a_client_that_goes_while_it_waits(site):
    # The proxy asks on, and learns what the answer took.
    site.provider.go.clear()
    with pytest.raises(httpx.TimeoutException):
        site.client.post("/v1/chat/completions", timeout=2,
                         headers=as_("away"),
                         json=body_of("/v1/chat/completions", wait=True)[1])
    assert site.used("away")["slots"] == 1
    site.provider.go.set()
    wait_until(lambda: site.used("away")["slots"] == 0,
               lambda: site.used("away"))
    assert site.used("away")["tokens"] == INPUT + OUTPUT


def test_a_timeout_that_a_client_chooses_is_charged_as_held(site):
    site.provider.go.clear()
    answer = site.ask("hasty", timeout=1, max_tokens=100, wait=True,
                      num_retries=0)
    site.provider.go.set()
    assert answer.status_code in (408, 504), answer.text
    used = site.used("hasty")
    assert used["output_tokens"] == 100
    assert used["slots"] == 0


def test_two_proxies_share_a_budget(site, upstream, redis):
    with proxy(config(upstream[0]), LIMITS, redis) as second:
        both = [site.client, second]
        answers = together(lambda i: site.ask(
            "burst-both", client=both[i % 2], max_tokens=20, output=20), 8)
        admitted = [answer.json()["usage"]["total_tokens"]
                    for answer in answers if answer.status_code == 200]
        assert {answer.status_code for answer in answers} == {200, 429}
        assert sum(admitted) <= 100


def test_a_killed_proxy_leaves_nothing_behind(site, upstream, redis):
    hook = HOOK.replace('timeout="20s"))', 'timeout="20s"), hold="3s")')
    assert hook != HOOK
    with proxy(config(upstream[0]), LIMITS, redis,
               [("hook.py", hook)]) as doomed:
        site.provider.go.clear()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(site.ask, "one-killed", client=doomed,
                                  wait=True)
            wait_until(lambda: site.provider.running == 1, running.exception)
            # It holds on for longer than 3 s while it runs.
            assert site.ask("one-killed").status_code == 429
            doomed.process.send_signal(signal.SIGKILL)
            assert isinstance(running.exception(), httpx.TransportError)
        site.provider.go.set()
        wait_until(lambda: site.ask("one-killed").status_code == 200,
                   lambda: site.used("one-killed"))


def test_a_hold_is_renewed(site, upstream, redis):
    hook = HOOK.replace('timeout="20s"))', 'timeout="20s"), hold="8s")')
    with proxy(config(upstream[0]), LIMITS, redis,
               [("hook.py", hook)]) as renewing:
        site.provider.go.clear()
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            running = pool.submit(site.ask, "one-long", client=renewing,
                                  wait=True)
            wait_until(lambda: site.provider.running == 1, running.exception)
            end = site.limiter.peek("key", "one-long", levels=True)
            with pytest.raises(concurrent.futures.TimeoutError):
                running.result(20)
            assert end.limited
            assert site.limiter.peek("key", "one-long").limited
            site.provider.go.set()
            assert running.result().status_code == 200


@pytest.mark.parametrize("decides, statuses", [
    ("raise", {503}), ("deny", {429}), ("allow", {200}), ("local", {200, 429})])
def test_a_store_that_fails(upstream, decides, statuses):
    hook = HOOK.replace('timeout="20s"',
                        f'timeout="20s", on_store_error="{decides}"')
    with redis_server() as (url, server):
        with proxy(config(upstream[0]), LIMITS, url,
                   [("hook.py", hook)]) as client:
            server.kill()
            server.wait()
            upstream[1].go.set()
            path = "/v1/chat/completions"
            answers = [client.post(path, headers=as_("burst-down"),
                                   json=body_of(path, max_tokens=30,
                                                output=30)[1])
                       for _ in range(5)]
            assert {answer.status_code for answer in answers} == statuses


def test_without_a_file(upstream):
    """The configuration names the handler, the environment the limits."""
    settings = config(upstream[0], "limitree.litellm.handler")
    with proxy(settings, LIMITS, "memory://") as client:
        upstream[1].go.set()
        path = "/v1/chat/completions"
        statuses = [client.post(path, headers=as_("burst-memory"),
                                json=body_of(path, max_tokens=30,
                                             output=30)[1]).status_code
                    for _ in range(4)]
    assert statuses[0] == 200
    assert statuses[-1] == 429


def test_the_example():
    folder = ROOT / "examples/litellm"
    texts = [(file.name, file.read_text()) for file in folder.glob("*.yaml")]
    key = f"sk-{secrets.token_hex(32)}"
    with proxy({}, {}, "memory://", texts, LITELLM_MASTER_KEY=key) as client:
        statuses = [client.post(
            "/v1/chat/completions", headers={"authorization": f"Bearer {key}"},
            json={"model": "echo", "max_tokens": 60, "messages": [
                {"role": "user", "content": "Hi"}]}).status_code
            for _ in range(9)]
    passed = statuses.index(429)
    assert 3 <= passed < 9
    assert statuses == [200] * passed + [429] * (9 - passed)


@pytest.mark.parametrize("limits, told", [
    ({"schema": {"tenant": {"limits": []}}}, "no top-level name"),
    ({"schema": {"key": {"limit": 3}}}, "limits.yaml:1")])
def test_a_mistake_ends_the_start(upstream, limits, told):
    settings = config(upstream[0], "limitree.litellm.handler")
    with pytest.raises(RuntimeError, match=told):
        with proxy(settings, limits, "memory://"):
            pass
