"""limitree.litellm in a real proxy, before a provider that the test is.

Limits are per ninety days, so that nothing drains while a test looks.
"""

import concurrent.futures
import contextlib
import itertools
import json

import httpx
import pytest

import limitree
from litellm_site import (
    INPUT,
    OUTPUT,
    PYTHON,
    config,
    provider,
    proxy,
    wait_until,
)
from servers import PATIENT, redis_server

pytestmark = pytest.mark.skipif(
    not PYTHON.exists(), reason="./dev test rare installs litellm[proxy]")


def limit(count, unit="tokens", name=None):
    return {"name": name or unit, "count": count, "period": "90d", "unit": unit,
            "hold": "10m"}


SALT = itertools.count()  # no two prompts are the same
REQUESTS = {"name": "requests", "count": 1000, "period": "90d"}
LIMITS = {"schema": {
    "key": {"children": {
        "burst*": {"limits": [limit(100)]},
        "pair*": {"limits": [{"name": "slots", "concurrent": 2,
                              "hold": "10m"}, limit(1000)]},
        "one*": {"limits": [{"name": "slots", "concurrent": 1,
                             "hold": "10m"}]},
        "*": {"limits": [REQUESTS, limit(1000, "input_tokens"),
                         limit(2000, "output_tokens"), limit(4000),
                         {"name": "slots", "concurrent": 9, "hold": "10m"}]}}},
    "team": {"children": {"*": {"limits": [limit(100)], "children": {
        "user": {"children": {"*": {"limits": [limit(50)]}}}}}}},
    "model": {"children": {
        "good": {"limits": [{**limit(10**7, "microdollars"),
                             "algorithm": "fixed_window"}]},
        "weak": {"limits": [{**REQUESTS, "count": 3}]}}}}}


class Site:
    """A proxy, its provider and its store."""

    def __init__(self, client, provider, limiter):
        self.client = client
        self.provider = provider
        self.limiter = limiter

    def ask(self, key, path="/v1/chat/completions", client=None, **body):
        prompt, body = body_of(path, **body)
        return (client or self.client).post(path, headers=as_(key), json=body)

    def used(self, key, model="good"):
        """Returns what is charged and held, by the units of limits."""
        key, user, team = (key.split(".") + ["", ""])[:3]
        paths = [("key", key, "model", model), ("model", model)]
        if team:
            paths.append(("team", team, "user", user, "model", model))
        decision = self.limiter.peek_all(paths, cost=0, levels=True)
        return {level.policy.removeprefix("key:*#"):
                level.limit - level.remaining for level in decision.levels}

    @contextlib.contextmanager
    def waiting(self, key, **body):
        """Runs a stream whose answer waits, once its first words are there."""
        self.provider.go.clear()
        path = body.pop("path", "/v1/chat/completions")
        _, sent = body_of(path, stream=True, wait=True, **body)
        with self.client.stream("POST", path, headers=as_(key),
                                json=sent) as answer:
            assert answer.status_code == 200, answer.read()
            lines = answer.iter_lines()
            seen = ""
            while "word2" not in seen:
                seen += next(lines)
            yield lines
        self.provider.go.set()


def as_(key, **headers):
    return {"authorization": f"Bearer sk-{key}", **headers}


def body_of(path, model=None, stream=None, **wish):
    """Returns the prompt and the body of a request to `path`."""
    more = {name: wish.pop(name) for name in list(wish)
            if name not in ("wait", "fail", "break", "input", "output")}
    prompt = json.dumps({**wish, "salt": next(SALT)})
    if path.endswith(("/completions", "/messages")):
        what = {"messages": [{"role": "user", "content": prompt}]}
    else:
        what = {"input": prompt}
    if path.endswith("/messages"):
        more.setdefault("max_tokens", 100)
        model = model or "writer"
    if path.endswith("/embeddings"):
        model = model or "embedder"
    if stream is not None:
        more["stream"] = stream
    return prompt, {"model": model or "good", **what, **more}


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
    with proxy(config(upstream[0]), LIMITS, redis) as made:
        yield made


@pytest.fixture
def site(client, upstream, redis):
    upstream[1].go.set()
    upstream[1].most = 0
    with limitree.Limiter(LIMITS, redis, timeout=PATIENT) as limiter:
        yield Site(client, upstream[1], limiter)


def together(ask, times):
    with concurrent.futures.ThreadPoolExecutor(times) as pool:
        return list(pool.map(ask, range(times)))


@pytest.mark.parametrize("known", [False, True])
def test_a_burst_stays_within_the_budget(site, known):
    # As in LiteLLM's #18730, where five requests took 663 tokens of 100.
    outputs = [58, 80, 175, 175, 175]
    key = f"burst-{known}"
    answers = together(lambda i: site.ask(
        key, output=outputs[i], **({"max_tokens": 30} if known else {})), 5)
    admitted = [answer.json()["usage"]["total_tokens"] for answer in answers
                if answer.status_code == 200]
    assert {answer.status_code for answer in answers} == {200, 429}
    assert 1 <= len(admitted)
    assert sum(admitted) <= 100


def test_a_denied_request_charges_nothing(site):
    # As in LiteLLM's #39309: the third passes.
    first = site.ask("burst-third", max_tokens=20, output=20)
    assert first.status_code == 200
    used = site.used("burst-third")
    second = site.ask("burst-third", max_tokens=75)
    assert second.status_code == 429
    assert site.used("burst-third") == used
    assert site.ask("burst-third", max_tokens=20).status_code == 200


def test_a_denial_says_which_limit_and_when(site):
    assert site.ask("burst-told", max_tokens=30).status_code == 200
    site.ask("burst-told", max_tokens=30, output=30)
    denied = site.ask("burst-told", max_tokens=60)
    error = denied.json()["error"]
    assert denied.status_code == 429
    assert error["code"] == "429"
    assert "key:burst*" in error["message"]
    assert int(denied.headers["retry-after"]) > 600
    assert '"key:burst*";r=' in denied.headers["ratelimit"]
    assert denied.headers["x-ratelimit-limit-tokens"] == "100"
    assert int(denied.headers["x-ratelimit-remaining-tokens"]) < 60


def test_answers_say_what_is_left(site):
    answer = site.ask("said", max_tokens=30)
    assert answer.headers["x-ratelimit-limit-tokens"] == "4000"
    assert 3900 < int(answer.headers["x-ratelimit-remaining-tokens"]) < 4000
    assert '"key:*#tokens";r=' in answer.headers["ratelimit"]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses",
                                  "/v1/messages"])
def test_an_answer_is_charged_as_it_says(site, path, stream):
    key = f"paid-{path[-5:]}-{stream}"
    answer = site.ask(key, path, stream=stream)
    assert answer.status_code == 200, answer.text
    used = site.used(key)
    assert {unit: used[unit] for unit in ("requests", "input_tokens",
                                          "output_tokens", "tokens",
                                          "slots")} == {
        "requests": 1, "input_tokens": INPUT, "output_tokens": OUTPUT,
        "tokens": INPUT + OUTPUT, "slots": 0}


def test_embeddings_have_no_output(site):
    assert site.ask("vector", "/v1/embeddings").status_code == 200
    used = site.used("vector")
    assert used["input_tokens"] == used["tokens"] == INPUT
    assert used["output_tokens"] == used["slots"] == 0


@pytest.mark.parametrize("stream", [False, True])
def test_money_is_that_of_the_deployment(site, stream):
    before = site.used("rich")["model:good"]
    assert site.ask("rich", stream=stream).status_code == 200
    cost = 1000 * INPUT + 2000 * OUTPUT
    assert site.used("rich")["model:good"] - before == cost


def test_at_most_so_many_at_once(site):
    site.provider.go.clear()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        running = [pool.submit(site.ask, "pair-1", wait=True)
                   for _ in range(2)]
        wait_until(lambda: site.provider.running == 2,
                   lambda: [one.result() for one in running if one.done()])
        assert [site.ask("pair-1").status_code for _ in range(3)] == [429] * 3
        site.provider.go.set()
        assert [one.result().status_code for one in running] == [200, 200]
    assert site.provider.most == 2
    assert site.ask("pair-1").status_code == 200


@pytest.mark.parametrize("stream", [False, True])
def test_the_next_request_finds_the_slot_free(site, stream):
    answers = [site.ask(f"one-{stream}", stream=stream) for _ in range(10)]
    assert [answer.status_code for answer in answers] == [200] * 10


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/responses",
                                  "/v1/messages"])
def test_a_cancelled_stream_is_charged_so_far(site, path):
    key = f"gone-{path[-5:]}"
    with site.waiting(key, path=path, max_tokens=500,
                      **({"max_output_tokens": 500}
                         if path.endswith("responses") else {})):
        assert site.used(key)["output_tokens"] == 500
        assert site.used(key)["slots"] == 1
        # The client goes while the provider still waits.
    wait_until(lambda: site.used(key)["slots"] == 0, lambda: site.used(key))
    used = site.used(key)
    assert 3 <= used["output_tokens"] <= 12
    assert used["tokens"] == used["input_tokens"] + used["output_tokens"]
    assert INPUT <= used["input_tokens"] < 100


def test_a_stream_that_breaks_is_charged_so_far(site):
    answer = site.ask("broken", stream=True, wait=True, max_tokens=500,
                      **{"break": True})
    assert "error" in answer.text
    used = site.used("broken")
    assert used["slots"] == 0
    assert 3 <= used["output_tokens"] <= 12


@pytest.mark.parametrize("stream", [False, True])
def test_an_error_of_the_provider_costs_one_request(site, stream):
    key = f"failed-{stream}"
    money = site.used(key)["model:good"]
    answer = site.ask(key, fail=500, stream=stream)
    assert answer.status_code == 500
    assert site.used(key) == {
        "requests": 1, "input_tokens": 0, "output_tokens": 0, "tokens": 0,
        "slots": 0, "model:good": money}


def test_a_fallback_is_charged_once(site):
    answer = site.ask("fell", model="weak", fail=500)
    assert answer.json()["model"] == "fallback"
    used = site.used("fell", "weak")
    assert used["tokens"] == INPUT + OUTPUT
    assert used["requests"] == 1
    assert used["slots"] == 0


def test_a_denied_model_falls_back_to_another(site):
    before = len(site.provider.asked)
    answers = [site.ask("other", model="weak") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200] * 5
    models = [body["model"] for body in site.provider.asked[before:]]
    assert models[-1] == "fallback"
    assert 1 <= models.count("weak") <= 3
    used = site.used("other", "weak")
    assert used["requests"] == 5
    assert used["tokens"] == 5 * (INPUT + OUTPUT)
    assert used["slots"] == 0


def test_team_and_user_of_a_team(site):
    for user, status in (("ann", 200), ("ann", 429), ("bob", 200),
                         ("cat", 429)):
        answer = site.ask(f"crew.{user}.blue", max_tokens=10, output=10,
                          input=30)
        assert answer.status_code == status, (user, answer.text)
