"""The vectors of envoy.json, asked of the service as it is installed: with the
configuration and the variables of envoyproxy/ratelimit, over gRPC and /json,
in memory and in Redis.  A preloaded library tells service and Redis the time.
Who only looks gets the same answers, and after a reset the first one again.
"""

import json
import pathlib

import httpx
import pytest
from google.protobuf import json_format
from servers import PATIENT, redis_server
from service import descriptors_grpc, error_of, grpc, rls
from stopped_clock import StoppedClock

TESTS = pathlib.Path(__file__).resolve().parents[1]

VECTORS = json.loads(
    (TESTS / "conformance" / "envoy.json").read_text("utf-8"))["vectors"]
VARIABLES = {"stop": {"STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT": "true"},
             "local": {"LOCAL_CACHE_SIZE_IN_BYTES": "100000"},
             "gquota": {"QUOTA_MODE": "true"},
             "gshadow": {"SHADOW_MODE": "true"},
             "hdr": {"LIMIT_RESPONSE_HEADERS_ENABLED": "true"}}
LIMITS = "ratelimit.service.rate_limit."


@pytest.fixture(name="clock", scope="module")
def make_clock(tmp_path_factory):
    return StoppedClock(tmp_path_factory.mktemp("clock") / "second",
                        VECTORS[0]["steps"][0]["request"]["now"])


@pytest.fixture(name="redis", scope="module")
def make_redis(clock):
    with redis_server(**clock.variables) as (url, _process):
        yield url


@pytest.fixture(name="variables", params=["memory", "redis"])
def make_variables(request, clock, tmp_path):
    """The environment of a service, whose descriptors are in tmp_path."""
    variables = {**clock.variables, "RUNTIME_ROOT": str(tmp_path),
                 "PORT": "0", "HOST": "127.0.0.1", "GRPC_PORT": "0",
                 "GRPC_HOST": "127.0.0.1", "DEBUG_PORT": "0",
                 "USE_STATSD": "false"}
    if request.param == "redis":
        url = request.getfixturevalue("redis")
        variables |= {"REDIS_SOCKET_TYPE": "unix",
                      "REDIS_URL": url.removeprefix("redis+unix://")}
    return variables


def asked(request):
    """The message of a request of a vector."""
    made = rls.RateLimitRequest(domain=request["domain"],
                                hits_addend=request.get("hits_addend", 0))
    for one in request["descriptors"]:
        descriptor = made.descriptors.add()
        for key, value in one["entries"]:
            descriptor.entries.add(key=key, value=value)
        if "hits_addend" in one:
            descriptor.hits_addend.value = one["hits_addend"]
        if "limit" in one:
            json_format.ParseDict(one["limit"], descriptor.limit)
    return made


class GrpcClient:
    """Asks over gRPC."""

    def __init__(self, service):
        self.ask = rls.Stub(service.channel()).ShouldRateLimit
        self.others = descriptors_grpc.DescriptorsStub(service.channel())

    def answer(self, message):
        return self.ask(message)

    def peek(self, message):
        return self.others.Peek(message)

    def reset(self, message):
        self.others.Reset(message)

    def refusal(self, message):
        code, text = error_of(lambda: self.ask(message))
        assert code == grpc.StatusCode.INVALID_ARGUMENT
        return text


class JsonClient:
    """Asks /json."""

    def __init__(self, service):
        self.url = service.http[0]

    def post(self, message, page="/json"):
        return httpx.post(self.url + page, timeout=60,
                          headers={"content-type": "application/json"},
                          content=json_format.MessageToJson(message))

    def peek(self, message):
        return self.answer(message, "/v1/descriptors/peek")

    def reset(self, message):
        got = self.post(message, "/v1/descriptors/reset")
        assert (got.status_code, got.json()) == (200, {})

    def answer(self, message, page="/json"):
        got = self.post(message, page)
        assert got.headers["content-type"] == "application/json"
        answer = json_format.Parse(got.text, rls.RateLimitResponse())
        is_over = answer.overall_code == rls.RateLimitResponse.OVER_LIMIT
        assert got.status_code == (429 if is_over else 200)
        return answer

    def refusal(self, message):
        got = self.post(message)
        assert got.status_code == 400
        return got.text.removeprefix("Bad Request: ").rstrip("\n")


def as_vector(status):
    code = rls.RateLimitResponse.Code.Name(status.code)
    if not status.HasField("current_limit"):
        assert not status.HasField("duration_until_reset")
        return {"code": code} | ({"remaining": status.limit_remaining}
                                 if status.limit_remaining else {})
    limit = status.current_limit
    unit = rls.RateLimitResponse.RateLimit.Unit.Name(limit.unit)
    assert status.duration_until_reset.nanos == 0
    return {"code": code, "remaining": status.limit_remaining,
            "reset": status.duration_until_reset.seconds,
            "current_limit": [limit.requests_per_unit, unit,
                              *([limit.name] if limit.name else [])]}


def check(answer, expected):
    code = rls.RateLimitResponse.Code.Name(answer.overall_code)
    assert code == expected["overall"]
    assert [as_vector(one) for one in answer.statuses] == expected["statuses"]
    assert [(one.key, one.value) for one in
            answer.response_headers_to_add] == list(zip(
                ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"),
                expected.get("headers", [])))


def stats_of(service):
    """The counters of a service, named as in the vectors."""
    lines = httpx.get(f"{service.admin[0]}/stats").text.splitlines()
    counts = dict(line.split(": ") for line in lines)
    stats = {name.removeprefix(LIMITS): int(value)
             for name, value in counts.items()
             if name.startswith(LIMITS) and value != "0"}
    if counts["ratelimit.service.global_shadow_mode"] != "0":
        stats[".global_shadow_mode"] = 1
    return stats


def write(config, folder):
    texts = [config] if isinstance(config, str) else config
    (folder / "config").mkdir()
    for i, text in enumerate(texts):
        (folder / "config" / f"{i}.yaml").write_text(text, "utf-8")
    return {"MERGE_DOMAIN_CONFIG": str(len(texts) > 1).lower()}


@pytest.mark.parametrize("client", [GrpcClient, JsonClient])
@pytest.mark.parametrize("vector", VECTORS, ids=lambda one: one["name"])
def test_scenario(vector, client, variables, clock, serve, tmp_path):
    variables |= write(vector["config"], tmp_path)
    variables["CACHE_KEY_PREFIX"] = vector["name"] + client.__name__
    for option in vector["options"]:
        variables |= VARIABLES[option]
    clock.set(vector["steps"][0]["request"]["now"])
    service = serve("--set", f"timeout={PATIENT}", limits=None, listen=None,
                    env=variables)
    asking = client(service)
    for step in vector["steps"]:
        clock.set(step["request"]["now"])
        message, expected = asked(step["request"]), step["expect"]
        if "error" in expected:
            assert asking.refusal(message) == expected["error"]
        else:
            check(asking.peek(message), expected)
            check(asking.answer(message), expected)
    assert stats_of(service) == vector["stats"]
    good = [step for step in vector["steps"] if "error" not in step["expect"]]
    for step in good:
        asking.reset(asked(step["request"]))
    for step in good[:1]:
        clock.set(step["request"]["now"])
        check(asking.answer(asked(step["request"])), step["expect"])
