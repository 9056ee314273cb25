"""The parts of limitree.litellm that need no LiteLLM."""

import asyncio
import json
import sys
import types

import pytest

import limitree
from limitree.litellm import default_paths, estimate
from limitree.litellm.need import Need, UnitsOfTree, microdollars
from limitree.litellm.paths import caller_of
from limitree.litellm.usage import MOST, Meter, Usage, usage_of


def thing(**members):
    return types.SimpleNamespace(**members)


@pytest.mark.parametrize("answer, usage", [
    (thing(usage=thing(prompt_tokens=3, completion_tokens=4, total_tokens=7)),
     Usage(3, 4, 7)),
    ({"usage": {"prompt_tokens": 5, "total_tokens": 5}}, Usage(5, 0, 5)),
    ({"usage": {"input_tokens": 3, "output_tokens": 4}}, Usage(3, 4, 7)),
    ({"usage": {"input_tokens": 3, "output_tokens": 4,
                "cache_read_input_tokens": 50,
                "cache_creation_input_tokens": 7}}, Usage(60, 4, 64)),
    ({"usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 4,
                        "totalTokenCount": 9}}, Usage(3, 4, 9)),
    ({"usage": {"prompt_tokens": -3, "completion_tokens": "4",
                "total_tokens": True}}, None),
    ({"usage": {"prompt_tokens": 1e300}}, None),
    ({"usage": {"prompt_tokens": float("nan")}}, None),
    ({"usage": "much"}, None), ({"usage": None}, None), ({}, None),
    (None, None), ("text", None), ([], None)])
def test_usage_of(answer, usage):
    assert usage_of(answer) == usage


def sse(*events):
    return "".join(f"event: x\ndata: {json.dumps(event)}\n\n"
                   for event in events).encode() + b"data: [DONE]\n\n"


ANTHROPIC = sse(
    {"type": "message_start", "message": {
        "usage": {"input_tokens": 11, "output_tokens": 1}}},
    {"type": "content_block_delta", "delta": {"text": "hello "}},
    {"type": "content_block_delta", "delta": {"thinking": "hm "}},
    {"type": "content_block_delta", "delta": {"partial_json": "{}"}},
    {"type": "message_delta", "usage": {"output_tokens": 7}})


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_meter_reads_events_in_pieces(size):
    meter = Meter()
    for begin in range(0, len(ANTHROPIC), size):
        meter.add(ANTHROPIC[begin:begin + size])
    assert meter.usage == Usage(11, 7, 18)
    assert meter.texts == ["hello ", "hm ", "{}"]


def test_a_meter_reads_objects():
    meter = Meter()
    call = thing(function=thing(arguments="{1}", name="f"))
    for chunk in (
            thing(choices=[thing(delta=thing(content="a", tool_calls=None)),
                           thing(delta=thing(content="b",
                                             tool_calls=[call]))]),
            {"choices": [{"text": "c"}]},
            thing(type="response.output_text.delta", delta="d"),
            {"candidates": [{"content": {"parts": [{"text": "e"}]}}]},
            thing(type="response.completed", response=thing(
                usage={"input_tokens": 2, "output_tokens": 3})),
            None, 7, b"\xff", thing(choices=7), {"choices": [None]}):
        meter.add(chunk)
    assert meter.texts == ["a", "b", "{1}", "c", "d", "e"]
    assert meter.usage == Usage(2, 3, 5)


def test_a_meter_keeps_no_endless_line():
    meter = Meter()
    for _ in range(100):
        meter.add("x" * 100_000)
    assert len(meter._rest) <= 2**20


def test_the_longest_of_a_hundred_answers_but_five():
    learnt = estimate.Learnt(1000)
    assert learnt.output("m") == 1000
    learnt.add("m", 8)
    assert learnt.output("m") == 8
    for length in range(1, 101):
        learnt.add("m", length)
    assert learnt.output("m") == 95
    for _ in range(100):
        learnt.add("m", 3)
    assert learnt.output("m") == 3


@pytest.fixture
def handler(monkeypatch, clock):
    """A Handler in a process without LiteLLM."""
    names = ("litellm", "litellm.integrations",
             "litellm.integrations.custom_logger")
    for name in names:
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    setattr(sys.modules[names[2]], "CustomLogger", object)
    from limitree.litellm.hooks import Handler
    yield Handler(limitree.AsyncLimiter(
        "schema: {model: {children: {'*': {limits: {count: 500, period: 1d, "
        "unit: output_tokens, hold: 1m}}}}}", clock=clock))
    del sys.modules["limitree.litellm.hooks"]


@pytest.mark.parametrize("more, known, output, teaches", [
    ({}, 40, 1, True), ({"max_tokens": 1}, 40, 1, False),
    ({"max_tokens": 9}, 40, 1, False),
    # The limits have no room for more than 500.
    ({}, 1000, 500, False), ({}, 1000, 499, True)])
def test_what_is_cut_short_teaches_nothing(handler, more, known, output,
                                           teaches):
    async def main():
        handler._learnt.add("m", known)
        data = {"model": "m", "messages": [], **more}
        await handler.async_pre_call_hook(None, None, data, "acompletion")
        await handler.async_post_call_success_hook(data, None, thing(
            usage=thing(prompt_tokens=1, completion_tokens=output)))

    asyncio.run(main())
    assert list(handler._learnt._answers["m"]) == [known] + [output] * teaches


def test_a_client_cannot_fill_the_memory_with_models():
    learnt = estimate.Learnt(5)
    learnt.add("known", 9)
    for number in range(5000):
        learnt.add(f"m{number}", 1)
        learnt.add("known", 9)
    assert len(learnt._answers) == 1000
    assert learnt.output("known") == 9
    assert learnt.output("m0") == 5


@pytest.mark.parametrize("data, most", [
    ({}, None), ({"max_tokens": None}, None), ({"max_tokens": 5}, 5),
    ({"max_tokens": "5"}, 5), ({"max_tokens": 5.9}, 5),
    ({"max_tokens": 0}, 0), ({"max_tokens": -1}, None),
    ({"max_tokens": True}, None), ({"max_tokens": "x"}, None),
    ({"max_tokens": float("nan")}, None), ({"max_tokens": 10**400}, None),
    ({"max_tokens": float("inf")}, MOST), ({"max_tokens": 10**30}, MOST),
    ({"max_tokens": 1, "max_completion_tokens": 50}, 50),
    ({"max_tokens": 1, "extra_body": {"max_tokens": 60}}, 60),
    ({"generationConfig": {"maxOutputTokens": 7}}, 7),
    ({"max_output_tokens": 8, "config": "x"}, 8)])
def test_the_output_that_a_request_allows(data, most):
    assert estimate.output_limit(data) == most


@pytest.mark.parametrize("data, call, capped", [
    ({}, "acompletion", {"max_tokens": 9}),
    ({"max_tokens": 4}, "acompletion", {"max_tokens": 4}),
    ({"max_completion_tokens": 40}, "acompletion",
     {"max_completion_tokens": 9}),
    ({"max_tokens": "40", "extra_body": {"max_tokens": 50}}, "acompletion",
     {"max_tokens": 9, "extra_body": {"max_tokens": 9}}),
    ({}, "aresponses", {"max_output_tokens": 9}),
    ({}, "anthropic_messages", {"max_tokens": 9}),
    ({"config": "x"}, "agenerate_content",
     {"config": {"maxOutputTokens": 9}}),
    ({}, "agenerate_content", {"config": {"maxOutputTokens": 9}}),
    ({"generationConfig": {"maxOutputTokens": 80, "topK": 1}},
     "agenerate_content_stream",
     {"generationConfig": {"maxOutputTokens": 9, "topK": 1}})])
def test_the_output_is_capped(data, call, capped):
    estimate.cap_output(data, call, 9)
    assert data == capped


def test_how_many_answers_a_request_wants():
    assert estimate.choices({}) == 1
    assert estimate.choices({"n": 3, "best_of": "5"}) == 5
    assert estimate.choices({"n": 0}) == 1
    assert estimate.choices({"n": 10**30}) == MOST


def test_deep_prompts_are_read_without_recursion():
    deep = "x"
    for _ in range(100_000):
        deep = [deep]
    numbers, texts = estimate._leaves({"input": [1, 2, deep], "prompt": {
        "type": "text", "image_url": "y" * 1000}})
    assert (numbers, texts) == (2, ["text", "x"])


TREE = {"schema": {"key": {"children": {"*": {"limits": [
    {"name": "tokens", "count": 100, "period": "1d", "unit": "tokens",
     "hold": "10m"},
    {"name": "money", "count": 500, "period": "1d", "unit": "microdollars",
     "hold": "10m"}]}}}}}


def reserve(limiter, need, units):
    """Reserves as the handler does."""
    while True:
        try:
            held = limiter.reserve("key", "k", levels=True,
                                   cost=units.named(need.costs()))
        except ValueError as error:
            assert units.learn(error)
            continue
        if held.limited and need.shrink(held.levels):
            continue
        return held


def test_units_are_those_of_the_limits(clock):
    limiter, units = limitree.Limiter(TREE, clock=clock), UnitsOfTree()
    need = Need(Usage(10, 20, 30), (0, 0))
    assert reserve(limiter, need, units).held == 2
    assert units.counts("tokens") and units.counts("microdollars")
    assert not units.counts("input_tokens")
    limiter.reload({"schema": {"key": {"limits": [
        {"name": "in", "count": 100, "period": "1d", "unit": "input_tokens",
         "hold": "10m"}], "children": {"*": {"limits": []}}}}})
    assert reserve(limiter, need, units).held == 1
    assert units.counts("input_tokens") and not units.counts("tokens")
    assert not units.learn(ValueError("another error"))


@pytest.mark.parametrize("before, output, prices, left", [
    (10, 1000, (0, 0), 90),  # tokens
    (10, 80, (0, 1e-5), 49),  # microdollars: 500 of them
    (10, 80, (1e-5, 1e-5), 39),
    (10, 50, (0, 0), 50)])
def test_a_request_without_room_asks_for_less(clock, before, output, prices,
                                              left):
    limiter = limitree.Limiter(TREE, clock=clock)
    need = Need(Usage(before, output, before + output), prices)
    held = reserve(limiter, need, UnitsOfTree())
    assert held.allowed
    assert need.tokens == Usage(before, left, before + left)
    assert need.is_shrunk == (left < output)


@pytest.mark.parametrize("before, prices", [(100, (0, 0)), (10, (1, 0))])
def test_a_prompt_without_room_is_denied(clock, before, prices):
    limiter = limitree.Limiter(TREE, clock=clock)
    held = reserve(limiter, Need(Usage(before, 9, before + 9), prices),
                   UnitsOfTree())
    assert held.limited
    assert held.retry_after == float("inf")


def test_what_is_held_is_never_nothing():
    # A level that holds nothing would not be charged by settling.
    assert Need(Usage(0, 1, 0), (0, 0)).costs() == {
        "input_tokens": 1, "output_tokens": 1, "tokens": 1, "microdollars": 1}
    assert max(Need(Usage(MOST, MOST, 2 * MOST), (1e9, 1e9)).costs().values()
               ) == MOST


def test_microdollars_are_rounded_up():
    assert microdollars(0.1 + 0.2) == 300_000
    assert microdollars(1e-7) == 1
    assert microdollars(0) == microdollars(-1) == 0
    assert microdollars(float("nan")) == 0
    assert microdollars(float("inf")) == MOST


def test_the_paths_of_a_request():
    auth = thing(api_key="hash", user_id="ann", team_id="blue", org_id=None,
                 end_user_id="x" * 10_000)
    caller = caller_of(auth, {"model": "gpt"})
    assert caller[:6] == ("hash", "ann", "blue", None, None, ("gpt",))
    assert default_paths(caller) == [
        ("key", "hash", "model", "gpt"), ("user", "ann", "model", "gpt"),
        ("team", "blue", "model", "gpt"),
        ("team", "blue", "user", "ann", "model", "gpt"), ("model", "gpt")]
    nobody = caller_of(thing(), {"model": ["a"]})
    assert nobody[:6] == (*[None] * 5, ())
    assert default_paths(nobody) == []
    assert default_paths(caller_of(thing(user_id="ann"), {})) == [
        ("user", "ann")]
    assert default_paths(caller_of(thing(), {"model": "a, b"})) == [
        ("model", "a"), ("model", "b")]
