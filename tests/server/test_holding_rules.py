"""Rules that hold beside rules that count, on every store, by the messages of
Envoy over gRPC and over /json."""

import httpx
import pytest
from google.protobuf import json_format
from service import error_of, grpc, rls

RULES = """\
  - key: user
    descriptors:
      - key: id
        value_to_hold: true
        rate_limit: {concurrent: 2, hold: 10m}
  - key: tokens
    descriptors:
      - key: id
        value_to_hold: true
        rate_limit: {unit: month, requests_per_unit: 1000, hold: 10m}
  - key: bucket
    descriptors:
      - key: id
        value_to_hold: true
        rate_limit:
          unit: month
          requests_per_unit: 100
          algorithm: gcra
          hold: 10m
          unsettled: free
  - {key: hits, rate_limit: {unit: month, requests_per_unit: 4}}
  - {key: gcra, rate_limit: {unit: month, requests_per_unit: 5,
                             algorithm: gcra}}
  - {key: none, rate_limit: {unit: month}}
"""
OK, OVER = 1, 2


def descriptor(key, name=None, hits=None, back=False):
    one = rls.Descriptor(is_negative_hits=back)
    one.entries.add(key=key, value="x")
    if name is not None:
        one.entries.add(key="id", value=name)
    if hits is not None:
        one.hits_addend.value = hits
    return one


@pytest.fixture(name="ask", params=["grpc", "json"])
def make_ask(request, serve, store, descriptors):
    """Returns the overall code, and what is left of each rule."""

    def start(top="", *words):
        service = serve("--descriptors",
                        descriptors(f"domain: d\n{top}descriptors:\n{RULES}"),
                        "--store", store, "--http-listen", "127.0.0.1:0",
                        *words, limits=None)
        stub = rls.Stub(service.channel())

        def ask(*asked):
            message = rls.RateLimitRequest(domain="d", descriptors=asked)
            if request.param == "grpc":
                answer = stub.ShouldRateLimit(message)
            else:
                said = httpx.post(f"{service.http[0]}/json",
                                  content=json_format.MessageToJson(message))
                answer = json_format.Parse(said.content,
                                           rls.RateLimitResponse())
            return answer.overall_code, [status.limit_remaining
                                         for status in answer.statuses]

        ask.stub = stub
        return ask

    return start


def test_each_descriptor_decides_for_itself(ask):
    ask = ask()
    assert ask(descriptor("user", "1"), descriptor("tokens", "1", 600),
               descriptor("bucket", "1", 60), descriptor("hits", hits=3),
               descriptor("gcra")) == (OK, [1, 400, 40, 1, 4])
    # Hits that are denied count where they only count.
    assert ask(descriptor("user", "2"), descriptor("tokens", "2", 401),
               descriptor("bucket", "2", 41), descriptor("hits", hits=3),
               descriptor("gcra", hits=5)) == (OVER, [0, 400, 40, 0, 4])
    assert ask(descriptor("hits")) == (OVER, [0])
    # The end of both: the second holds only a slot.
    assert ask(descriptor("user", "2", back=True),
               descriptor("tokens", "2", 9, True),
               descriptor("bucket", "2", 9, True)) == (OK, [1, 400, 40])
    assert ask(descriptor("user", "1", back=True),
               descriptor("tokens", "1", 9, True),
               descriptor("bucket", "1", 0, True),
               descriptor("hits", hits=7, back=True),
               descriptor("gcra", back=True)) == (OK, [2, 991, 100, 4, 5])


def test_hits_of_the_same_bucket_in_one_request(ask):
    ask = ask()
    assert ask(descriptor("user", "1"), descriptor("user", "1"),
               descriptor("hits"), descriptor("hits")) == (OK, [1, 1, 3, 2])
    assert ask(descriptor("user", "1", back=True)) == (OK, [2])


def test_all_or_nothing(ask):
    ask = ask("all_or_nothing: true\n")
    asked = [descriptor("user", "1"), descriptor("tokens", "1", 600),
             descriptor("hits", hits=3)]
    assert ask(*asked) == (OK, [1, 400, 1])
    asked = [descriptor("user", "2"), descriptor("tokens", "2", 600),
             descriptor("hits")]
    assert ask(*asked) == (OVER, [1, 400, 1])
    assert ask(descriptor("user", "2"), descriptor("none")) == (OVER, [1, 0])
    assert ask(descriptor("tokens", "1", 9, True), descriptor(
        "user", "1", back=True)) == (OK, [991, 2])


@pytest.mark.parametrize("option", ["on", "enforced"])
def test_a_rule_that_is_over_stops_the_others(ask, option):
    ask = ask("", "--set", f"stop_increment={option}", "--set",
              "over_cache_size=1000")
    assert ask(descriptor("hits", hits=4)) == (OK, [0])
    for _ in range(3):  # at last from the cache
        assert ask(descriptor("user", "1"), descriptor("hits"))[0] == OVER
    assert ask(descriptor("user", "1", 0)) == (OK, [2])
    # And what holds stops what counts.
    assert ask(descriptor("user", "1", 2)) == (OK, [0])
    assert ask(descriptor("hits", hits=9, back=True)) == (OK, [4])
    assert ask(descriptor("user", "2"), descriptor("hits"))[0] == OVER
    assert ask(descriptor("hits", hits=0)) == (OK, [4])


def test_names(ask):
    ask = ask()
    for asked, said in (
            ([descriptor("user", "1"), descriptor("tokens", "2")],
             'two descriptors name what is held, "1" and "2"'),
            ([descriptor("user", "")],
             'the entry "id" names what is held, and is empty')):
        assert error_of(lambda: ask.stub.ShouldRateLimit(
            rls.RateLimitRequest(domain="d", descriptors=asked))) == (
                grpc.StatusCode.INVALID_ARGUMENT, said)
    long = "n" * 100_000
    assert ask(descriptor("user", long)) == (OK, [1])
    assert ask(descriptor("user", long[1:], back=True)) == (OK, [1])
    assert ask(descriptor("user", long, back=True)) == (OK, [2])
