"""envoy.service.ratelimit.v3.RateLimitService, by a client of grpcio."""

import json
import subprocess

import grpc
import httpx
import pytest
from google.protobuf import json_format
from raw import Client, framed
from servers import redis_server
from service import COMMAND, error_of, eventually, rls, succeeds

DESCRIPTORS = """\
domain: apis
descriptors:
  - key: user
    rate_limit: {name: users, unit: hour, requests_per_unit: 3}
    detailed_metric: true
  - key: free
    rate_limit: {unlimited: true}
  - key: shadow
    shadow_mode: true
    rate_limit: {unit: day, requests_per_unit: 1}
"""

OK, OVER = 1, 2
HOUR = 3
ALL = 2**32 - 1
METHOD = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"


def ask(*descriptors, domain="apis", **fields):
    return rls.RateLimitRequest(domain=domain, descriptors=descriptors,
                                **fields)


def descriptor(*entries, **fields):
    made = rls.Descriptor(**fields)
    for key, value in entries:
        made.entries.add(key=key, value=value)
    return made


def user(name="alex", **fields):
    return descriptor(("user", name), **fields)


@pytest.fixture(name="store", params=["memory", "redis"])
def make_store(request):
    if request.param == "memory":
        yield []
    else:
        with redis_server() as (url, _):
            yield ["--store", url]


@pytest.fixture(name="envoy")
def make_envoy(serve, store, tmp_path):
    """Starts a service; returns what Envoy would call."""
    path = tmp_path / "apis.yaml"
    path.write_text(DESCRIPTORS, encoding="ascii")

    def start(*words):
        service = serve("--descriptors", path, *store, *words)
        return rls.Stub(service.channel()).ShouldRateLimit

    return start


def test_windows_of_several_units(envoy):
    ask_it = envoy()
    limit = {"requests_per_unit": 5, "unit": HOUR, "unit_multiplier":
             {"value": 24 * 365}}
    plain, stated = ask_it(ask(user(), user("kim", limit=limit))).statuses
    assert not plain.current_limit.HasField("unit_multiplier")
    assert stated.current_limit.unit_multiplier.value == 24 * 365
    assert (stated.current_limit.unit, stated.limit_remaining) == (HOUR, 4)
    limit["unit_multiplier"]["value"] = 2**32 - 1
    code, message = error_of(lambda: ask_it(ask(user(limit=limit))))
    assert code == grpc.StatusCode.INVALID_ARGUMENT
    assert "such a window takes more than 100 years" in message


def test_the_command_line_shows_and_resets(serve, tmp_path):
    path, store = tmp_path / "apis.yaml", f"shm://{tmp_path}/made"
    path.write_text(DESCRIPTORS, encoding="ascii")
    service = serve("--descriptors", path, "--store", store)
    ask_it = rls.Stub(service.channel()).ShouldRateLimit

    def run(command):
        out = subprocess.run(
            [COMMAND, command, "--from", "envoy", path, "apis", "user=alex",
             "user=kim", "--store", store], check=True, capture_output=True,
            text=True).stdout
        return [line.split()[:5] for line in out.splitlines()[1:]]

    ask_it(ask(user(hits_addend={"value": 3})))
    full = ["user=kim", "3", "per", "HOUR", "3"]
    for _ in range(2):
        assert run("show") == [["user=alex", "3", "per", "HOUR", "0"], full]
    assert run("reset") == [["user=alex", "3", "per", "HOUR", "3"], full]
    assert ask_it(ask(user())).overall_code == OK


def test_hits_are_counted(envoy):
    should_rate_limit = envoy()
    for left in (2, 1, 0):
        answer = should_rate_limit(ask(user()))
        assert answer.overall_code == OK
        status, = answer.statuses
        assert (status.code, status.limit_remaining) == (OK, left)
        limit = status.current_limit
        assert (limit.requests_per_unit, limit.unit, limit.name) == (
            3, HOUR, "users")
        assert 0 < status.duration_until_reset.seconds <= 3600
        assert status.duration_until_reset.nanos == 0
    answer = should_rate_limit(ask(user()))
    assert answer.overall_code == answer.statuses[0].code == OVER
    assert answer.statuses[0].limit_remaining == 0
    assert not answer.response_headers_to_add
    assert not answer.HasField("dynamic_metadata")


def test_each_descriptor_has_a_status(envoy):
    should_rate_limit = envoy()
    answer = should_rate_limit(ask(
        user(), descriptor(("free", "x")), descriptor(("nobody", "")),
        user("kim")))
    assert answer.overall_code == OK
    assert [status.limit_remaining for status in answer.statuses] == [
        2, ALL, 0, 2]
    assert [status.HasField("current_limit") for status in
            answer.statuses] == [True, False, False, True]


def test_an_unknown_domain_is_ok(envoy):
    answer = envoy()(ask(user(), domain="other"))
    assert answer.overall_code == OK
    assert [status.code for status in answer.statuses] == [OK]


def test_hits_of_the_request_and_of_a_descriptor(envoy):
    should_rate_limit = envoy()
    answer = should_rate_limit(ask(user("a"), user("b", hits_addend={
        "value": 1}), user("c", hits_addend={"value": 0}), hits_addend=2))
    assert [status.limit_remaining for status in answer.statuses] == [1, 2, 3]
    back = should_rate_limit(ask(user("a", hits_addend={"value": 2},
                                      is_negative_hits=True)))
    assert back.overall_code == OK
    look = should_rate_limit(ask(user("a", hits_addend={"value": 0})))
    assert look.statuses[0].limit_remaining == 3


def test_a_limit_in_the_request(envoy):
    answer = envoy()(ask(user(limit={"requests_per_unit": 10, "unit": 2})))
    limit = answer.statuses[0].current_limit
    assert (limit.requests_per_unit, limit.unit) == (10, 2)
    assert answer.statuses[0].limit_remaining == 9


def test_headers(envoy):
    should_rate_limit = envoy("--answer-headers")
    answer = should_rate_limit(ask(user()))
    found = {one.key: one.value for one in answer.response_headers_to_add}
    assert found["RateLimit-Limit"] == "3"
    assert found["RateLimit-Remaining"] == "2"
    assert 0 < int(found["RateLimit-Reset"]) <= 3600
    assert len(answer.response_headers_to_add) == 3
    answer = should_rate_limit(ask(descriptor(("free", "x"))))
    assert not answer.response_headers_to_add


def test_dynamic_metadata(envoy):
    answer = envoy("--dynamic-metadata")(ask(user(), hits_addend=2))
    found = json_format.MessageToDict(answer.dynamic_metadata)
    assert found["domain"] == "apis"
    assert "alex" in json.dumps(found)


def test_shadow_mode_of_a_rule(envoy):
    should_rate_limit = envoy()
    for _ in range(3):
        answer = should_rate_limit(ask(descriptor(("shadow", ""))))
        assert answer.overall_code == OK


def test_errors_are_statuses(envoy):
    should_rate_limit = envoy()
    invalid = grpc.StatusCode.INVALID_ARGUMENT
    error_of(lambda: should_rate_limit(ask(user(), domain=""))) == (
        invalid, "rate limit domain must not be empty")
    assert error_of(lambda: should_rate_limit(ask())) == (
        invalid, "rate limit descriptor list must not be empty")
    assert error_of(lambda: should_rate_limit(
        ask(user(limit={"requests_per_unit": 1, "unit": 99})))) == (
            invalid,
            "descriptor 0 states a limit with the unknown unit 99")
    assert error_of(lambda: should_rate_limit(ask(*[user()] * 4097))) == (
        invalid, "the request has more than 4096 descriptors, or more than "
        "65536 entries")


def test_a_malformed_request_is_a_status(serve):
    client = Client(serve())
    stream = client.start(METHOD)
    client.send(stream, framed(b"\x12\x02\x0a\x05"), end=True)
    assert client.status(stream) == (
        "3", "the request is not a valid protobuf message")
    client.close()


def test_a_store_that_fails_is_a_status(serve, tmp_path):
    path = tmp_path / "apis.yaml"
    path.write_text(DESCRIPTORS, encoding="ascii")
    with redis_server() as (url, process):
        service = serve("--descriptors", path, "--store", url, "--set",
                        "on_store_error=raise", "--set", "timeout=2s")
        should_rate_limit = rls.Stub(service.channel()).ShouldRateLimit
        eventually(lambda: succeeds(lambda: should_rate_limit(ask(user()))))
        process.kill()
        process.wait()
        code, _ = error_of(lambda: should_rate_limit(ask(user())))
        assert code in (grpc.StatusCode.UNAVAILABLE,
                        grpc.StatusCode.DEADLINE_EXCEEDED)


def test_descriptors_that_have_not_come_yet(serve, tmp_path):
    path = tmp_path / "apis.yaml"
    path.write_text("domain: ''\n", encoding="ascii")
    service = serve("--descriptors", path, "--start-without", "--http-listen",
                    "127.0.0.1:0", "--admin-listen", "127.0.0.1:0")
    should_rate_limit = rls.Stub(service.channel()).ShouldRateLimit
    assert error_of(lambda: should_rate_limit(ask(user()))) == (
        grpc.StatusCode.UNAVAILABLE, "no rate limit configuration loaded")
    answer = httpx.post(f"{service.http[0]}/json", json={
        "domain": "apis", "descriptors": [
            {"entries": [{"key": "user", "value": "alex"}]}]})
    assert (answer.status_code, answer.text) == (
        503, "Service Unavailable: no rate limit configuration loaded\n")
    error_of(lambda: should_rate_limit(ask(user(), domain="")))
    stats = httpx.get(f"{service.admin[0]}/stats").text
    assert ("\nratelimit.service.call.should_rate_limit.service_error: 3\n"
            in stats)
    path.write_text(DESCRIPTORS, encoding="ascii")
    service.wait_for("the descriptors are reloaded")
    assert should_rate_limit(ask(user())).overall_code == OK
