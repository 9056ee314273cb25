"""Requests of Envoy: the vectors of envoy.json, and how Python says them."""

import asyncio
import json
import math
import pathlib

import pytest
from servers import PATIENT, redis_server

import limitree
from limitree import Descriptor

VECTORS = json.loads((pathlib.Path(__file__).parents[1] / "conformance" /
                      "envoy.json").read_text())["vectors"]
OPTIONS = {"stop": {"stop_increment": True}, "local": {"over_cache_size": 99},
           "gquota": {"quota_mode": True}, "gshadow": {"shadow_mode": True},
           "hdr": {}}
LIMITS = """
domain: d
descriptors:
- {key: a, rate_limit: {unit: minute, requests_per_unit: 3, name: three}}
- key: b
  value: x
  metadata: {tier: [1, {deep: true}]}
  descriptors: [{key: c, rate_limit: {unit: hour, requests_per_unit: 1}}]
- {key: free, rate_limit: {unlimited: true}}
"""


@pytest.fixture(scope="module")
def server():
    with redis_server() as (url, _process):
        yield url


@pytest.fixture
def made(clock):
    with limitree.Limiter(descriptors=LIMITS, clock=clock) as limiter:
        yield limiter


def descriptor_of(one):
    limit = one.get("limit")
    return Descriptor([tuple(entry) for entry in one["entries"]],
                      one.get("hits_addend"),
                      limit and (limit["requests_per_unit"], limit["unit"]))


def as_vector(status):
    found = {"code": status.code}
    if status.current_limit is None:
        if status.limit_remaining:
            found["remaining"] = status.limit_remaining
        return found
    limit = status.current_limit
    found["current_limit"] = [limit.requests_per_unit, limit.unit]
    if limit.name:
        found["current_limit"].append(limit.name)
    return {**found, "remaining": status.limit_remaining,
            "reset": status.duration_until_reset}


def check(answer, expected):
    assert answer.overall_code == expected["overall"]
    assert [as_vector(one) for one in answer.statuses] == expected["statuses"]
    if "headers" in expected:
        status = answer.statuses[answer.header_status]
        assert expected["headers"] == [
            str(status.current_limit.requests_per_unit),
            str(status.limit_remaining), str(status.duration_until_reset)]


def stats_of(limiter):
    stats = {f"{one.key}.{name}": value
             for one in limiter.descriptor_stats()
             for name, value in one._asdict().items()
             if name != "key" and value}
    if limiter.envoy_stats().global_shadow_mode:
        stats[".global_shadow_mode"] = 1
    return stats


class Time:
    """The clock of a vector: whole seconds."""

    def __init__(self):
        self.now = 0

    def __call__(self):
        return self.now * 10**9


def arguments_of(vector, clock, store):
    options = {name: value for option in vector["options"]
               for name, value in OPTIONS[option].items()}
    config = vector["config"]
    return {"descriptors": config, "clock": clock, "store": store,
            "merge_domains": isinstance(config, list),
            "prefix": vector["name"], "timeout": PATIENT, **options}


def request_of(step):
    request = step["request"]
    return (request["domain"],
            [descriptor_of(one) for one in request["descriptors"]],
            request.get("hits_addend", 0))


@pytest.mark.parametrize("store", ["memory", "redis"])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda one: one["name"])
def test_vector(vector, store, request):
    url = "memory://" if store == "memory" else request.getfixturevalue(
        "server")
    clock = Time()
    with limitree.Limiter(**arguments_of(vector, clock, url)) as limiter:
        for step in vector["steps"]:
            clock.now = step["request"]["now"]
            expected = step["expect"]
            if "error" in expected:
                for ask in (limiter.peek_descriptors,
                            limiter.should_rate_limit):
                    with pytest.raises(ValueError, match=expected["error"]):
                        ask(*request_of(step))
                continue
            check(limiter.peek_descriptors(*request_of(step)), expected)
            check(limiter.should_rate_limit(*request_of(step)), expected)
        assert stats_of(limiter) == vector["stats"]
        steps = [one for one in vector["steps"] if "error" not in one["expect"]]
        for step in steps:
            limiter.reset_descriptors(*request_of(step)[:2])
        for step in steps[:1]:
            clock.now = step["request"]["now"]
            check(limiter.should_rate_limit(*request_of(step)),
                  step["expect"])


@pytest.mark.parametrize("store", ["memory", "redis"])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda one: one["name"])
def test_vector_awaited(vector, store, request):
    url = "memory://" if store == "memory" else request.getfixturevalue(
        "server")
    clock = Time()

    async def run():
        arguments = arguments_of(vector, clock, url)
        arguments["prefix"] += "-awaited"
        async with limitree.AsyncLimiter(**arguments) as limiter:
            for step in vector["steps"]:
                clock.now = step["request"]["now"]
                expected = step["expect"]
                if "error" in expected:
                    with pytest.raises(ValueError, match=expected["error"]):
                        await limiter.should_rate_limit(*request_of(step))
                    continue
                check(await limiter.peek_descriptors(*request_of(step)),
                      expected)
                check(await limiter.should_rate_limit(*request_of(step)),
                      expected)
            assert stats_of(limiter) == vector["stats"]
            steps = [one for one in vector["steps"]
                     if "error" not in one["expect"]]
            for step in steps:
                await limiter.reset_descriptors(*request_of(step)[:2])
            for step in steps[:1]:
                clock.now = step["request"]["now"]
                check(await limiter.should_rate_limit(*request_of(step)),
                      step["expect"])

    asyncio.run(run())


def test_forms_of_descriptors(made):
    answer = made.should_rate_limit(
        "d", [{"a": "1"}, [("a", b"1")], Descriptor({"a": "1"}, 1),
              [("b", "x"), ("c", "y")], {"free": ""}, {"none": "1"}])
    assert answer.over_limit is False
    assert answer.overall_code == "OK"
    assert [one.limit_remaining for one in answer.statuses] == [
        2, 1, 0, 0, 4294967295, 0]
    assert answer.statuses[0].current_limit == (3, "MINUTE", "three", 60.0, 1)
    assert answer.statuses[5].current_limit is None
    assert answer.header_status == 2
    assert (answer.source, answer.degraded, answer.metadata) == (
        "store", False, None)
    denied = made.should_rate_limit("d", [{"a": "1"}], hits_addend=9)
    assert denied.over_limit
    assert denied.statuses[0].retry_after == math.inf
    assert made.should_rate_limit("other", [{"a": "1"}]).header_status is None


def test_own_hits_limits_and_refunds(made):
    def left(*arguments):
        answer = made.should_rate_limit("d", [Descriptor(*arguments)])
        return answer.statuses[0].limit_remaining

    assert left({"a": "1"}, 2) == 1
    assert left({"a": "1"}, 0) == 1
    assert left({"a": "1"}, 2, None, True) == 3
    assert left({"a": "1"}, None, (10, "week")) == 9
    assert left({"a": "1"}, 3, (10, "WEEK")) == 6


def test_metadata(made):
    answer = made.should_rate_limit(
        "d", [[("b", "x"), ("c", "\u00e9")], Descriptor({"a": "1"}, 2,
                                                        (5, "hour", 2))],
        3, metadata=True)
    assert answer.statuses[1].current_limit == (5, "HOUR", "", 7200, 2)
    assert answer.metadata["descriptors"] == [
        {"entries": ["b=x", "c=\u00e9"]},
        {"entries": ["a=1"], "hitsAddend": 2,
         "limit": "requests_per_unit:5 unit:HOUR unit_multiplier:{value:2}"}]
    assert answer.metadata["domain"] == "d"
    assert answer.metadata["hitsAddend"] == 3


@pytest.mark.parametrize(("arguments", "error", "message"), [
    (("d", {"a": "1"}), TypeError, "descriptors must be a list of them"),
    (("d", ["a"]), TypeError, "a descriptor must be a dict or a list"),
    (("d", [[("a",)]]), ValueError, "must be a pair of a key and a value"),
    (("d", [{"a": 1}]), TypeError, "value must be str or bytes"),
    (("d", [{1: "a"}]), TypeError, "key must be str or bytes"),
    ((1, [{"a": "1"}]), TypeError, "domain must be str or bytes"),
    (("d", [{"a": "1"}], -1), ValueError, "hits_addend must be from 0 to"),
    (("d", [{"a": "1"}], 2**32), ValueError, "hits_addend must be from 0 to"),
    (("d", [{"a": "1"}], 1.5), TypeError, "hits_addend must be int"),
    (("d", [Descriptor({"a": "1"}, 2**64)]), ValueError, "from 0 to"),
    (("d", [Descriptor({"a": "1"}, None, (1, "eon"))]), ValueError,
     "the unit of a limit must be one of SECOND, .*, is 'eon'"),
    (("d", [Descriptor({}, limit=(1, "day", 0))]), ValueError,
     "unit_multiplier must be greater than 0, is 0"),
    (("d", [Descriptor({"a": "1"}, None, (-1, "day"))]), ValueError,
     "requests_per_unit must be from 0"),
    (("", [{"a": "1"}]), ValueError, "rate limit domain must not be empty"),
    (("d", []), ValueError, "descriptor list must not be empty"),
])
def test_bad_arguments(made, arguments, error, message):
    with pytest.raises(error, match=message):
        made.should_rate_limit(*arguments)


def test_files(tmp_path, clock):
    file = tmp_path / "d.yaml"
    file.write_text(LIMITS)
    (tmp_path / "folder").mkdir()
    (tmp_path / "e.yaml").write_text("domain: d\ndescriptors: [{key: z}]")
    with pytest.raises(limitree.ConfigError, match="duplicate domain 'd'"):
        limitree.Limiter(descriptors=tmp_path)
    (tmp_path / "n:o").mkdir()
    (tmp_path / "n:o" / "b:1.yaml").write_text(LIMITS)
    for source in [str(file), file, [file], LIMITS, tmp_path / "n:o",
                   {"domain": "d", "descriptors": [
                       {"key": "a", "rate_limit": {"unit": "minute",
                                                   "requests_per_unit": 3}}]}]:
        with limitree.Limiter(descriptors=source, clock=clock) as limiter:
            answer = limiter.should_rate_limit("d", [{"a": "1"}])
            assert answer.statuses[0].limit_remaining == 2
    with limitree.Limiter(descriptors=tmp_path, clock=clock,
                          merge_domains=True) as limiter:
        limiter.should_rate_limit("d", [{"a": "1"}])
        file.write_text(LIMITS.replace("3", "9"))
        limiter.reload_descriptors()
        answer = limiter.should_rate_limit("d", [{"a": "1"}])
        assert answer.statuses[0].limit_remaining == 7
        limiter.reload({"schema": {"job": {}}})
        answer = limiter.should_rate_limit("d", [Descriptor({"a": "1"}, 0)])
        assert answer.statuses[0].limit_remaining == 7
        file.write_text("domain: [")
        with pytest.raises(limitree.ConfigError, match=r"d\.yaml:2:"):
            limiter.reload_descriptors()
        limiter.reload_descriptors("domain: none")
        answer = limiter.should_rate_limit("d", [{"a": "1"}])
        assert answer.statuses[0].current_limit is None
        limiter.reload()
    with pytest.raises(TypeError, match="needs limits, descriptors, or both"):
        limitree.Limiter()
    with pytest.raises(OSError):
        limitree.Limiter(descriptors="none.yaml")


def test_a_store_that_fails(clock):
    for how, over in [("allow", False), ("deny", True), ("local", False)]:
        with limitree.Limiter(
                descriptors=LIMITS, store="redis://127.0.0.1:1",
                on_store_error=how, clock=clock) as limiter:
            answer = limiter.should_rate_limit("d", [{"a": "1"}])
            assert (answer.over_limit, answer.source, answer.degraded) == (
                over, how, True)
    with limitree.Limiter(descriptors=LIMITS,
                          store="redis://127.0.0.1:1") as limiter:
        with pytest.raises(limitree.StoreError):
            limiter.should_rate_limit("d", [{"a": "1"}])
        assert limiter.envoy_stats().store_errors == 1


def test_many_at_once(server):
    async def run():
        async with limitree.AsyncLimiter(
                descriptors=LIMITS, store=server, prefix="many",
                timeout=PATIENT) as limiter:
            answers = await asyncio.gather(*(
                limiter.should_rate_limit("d", [{"a": "1"}])
                for _ in range(20)))
            assert sorted(one.over_limit for one in answers) == (
                [False] * 3 + [True] * 17)

    asyncio.run(run())
