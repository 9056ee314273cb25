"""A real Envoy asks the service before it asks the upstream.

All limits are by the day or longer, so that hardly any test sees two windows.
"""

import re

import pytest
from bootstrap import (descriptor, filter_route, header, http_filter, key,
                       rate_limit_filter, route)

SHOP = """\
domain: shop
descriptors:
  - key: route
    value: search
    rate_limit: {unit: day, requests_per_unit: 3}
  - key: x-user
    rate_limit: {unit: day, requests_per_unit: 5, name: each user}
    descriptors:
      - key: route
        value: buy
        rate_limit: {unit: week, requests_per_unit: 2}
  - key: cost
    rate_limit: {unit: day, requests_per_unit: 10}
"""

SEARCH = route("/search", descriptor(key("route", "search")))


@pytest.fixture(name="shop")
def make_shop(serve, descriptors):
    """A service with these limits."""
    return serve("--descriptors", descriptors(SHOP), limits=None)


def shown(answer, prefix="x-ratelimit"):
    return [answer.headers.get(f"{prefix}-{name}")
            for name in ("limit", "remaining")]


def test_requests_over_the_limit_are_denied(shop, proxy, upstream):
    envoy = proxy(shop.target, SEARCH)
    assert envoy.statuses("/search", 5) == [200, 200, 200, 429, 429]
    assert upstream.requests == ["/search"] * 3
    answer = envoy.get("/search")
    assert answer.headers["x-envoy-ratelimited"] == "true"
    assert answer.text == ""


def test_what_a_client_reads_of_its_limit(shop, proxy):
    envoy = proxy(shop.target, SEARCH)
    answers = [envoy.get("/search") for _ in range(4)]
    assert [shown(answer) for answer in answers] == [
        ["3, 3;w=86400", "2"], ["3, 3;w=86400", "1"],
        ["3, 3;w=86400", "0"], ["3, 3;w=86400", "0"]]
    for answer in answers:
        assert 0 < int(answer.headers["x-ratelimit-reset"]) <= 86400


def test_the_scarcest_of_several_limits_is_shown(shop, proxy):
    envoy = proxy(shop.target, route(
        "/", descriptor(header("x-user")),
        descriptor(header("x-user"), key("route", "buy"))))
    week = "2, 5;w=86400;name=\"each user\", 2;w=604800"
    assert shown(envoy.get("/", x_user="alex")) == [week, "1"]
    assert envoy.statuses("/", 2, x_user="alex") == [200, 429]
    # Each descriptor decides for itself: the denied request counts above, too.
    assert envoy.statuses("/", 3, x_user="alex") == [429] * 3
    only_user = proxy(shop.target, route("/", descriptor(header("x-user"))))
    assert only_user.get("/", x_user="alex").status == 429
    assert shown(only_user.get("/", x_user="carol")) == [
        '5, 5;w=86400;name="each user"', "4"]


def test_several_envoys_share_the_limits(shop, proxy):
    envoys = [proxy(shop.target, SEARCH) for _ in range(2)]
    assert [envoys[i % 2].get("/search").status for i in range(4)] == [
        200, 200, 200, 429]


def test_what_no_rule_names_is_allowed(shop, proxy):
    envoy = proxy(shop.target, route("/", descriptor(key("nothing", "x"))),
                  failure_mode_deny=True)
    answer = envoy.get("/")
    assert answer.status == 200 and shown(answer) == [None, None]
    # No user, no descriptor, no question.
    envoy = proxy(shop.target, route("/", descriptor(header("x-user"))))
    assert envoy.statuses("/", 6) == [200] * 6
    assert "x-ratelimit-limit" not in envoy.get("/").headers


def test_a_domain_that_is_not_known_is_allowed(shop, proxy):
    envoy = proxy(shop.target, SEARCH, domain="other", failure_mode_deny=True)
    assert envoy.statuses("/search", 5) == [200] * 5
    assert shown(envoy.get("/search")) == [None, None]


def test_the_service_can_send_headers_itself(serve, descriptors, proxy):
    service = serve("--descriptors", descriptors(SHOP), "--answer-headers",
                    limits=None)
    envoy = proxy(service.target, SEARCH, enable_x_ratelimit_headers="OFF")
    for left in (2, 1, 0, 0):
        answer = envoy.get("/search")
        assert shown(answer, "ratelimit") == ["3", str(left)]
        assert shown(answer) == [None, None]
        assert 0 < int(answer.headers["ratelimit-reset"]) <= 86400


def test_a_descriptor_has_hits_of_its_own(shop, proxy):
    envoy = proxy(shop.target, filter_route(
        "/", descriptor(key("cost", "all"), hits_addend={"number": 4}),
        descriptor(key("route", "search"))))
    assert shown(envoy.get("/")) == ["3, 10;w=86400, 3;w=86400", "2"]
    assert shown(envoy.get("/")) == ["3, 10;w=86400, 3;w=86400", "1"]
    assert shown(envoy.get("/")) == ["10, 10;w=86400, 3;w=86400", "0"]


def test_hits_from_a_header(shop, proxy):
    envoy = proxy(shop.target, filter_route("/", descriptor(
        key("cost", "all"), hits_addend={"format": "%REQ(x-cost)%"})))
    assert shown(envoy.get("/", x_cost=7))[1] == "3"
    assert shown(envoy.get("/", x_cost=0))[1] == "3"  # it only looks
    assert envoy.get("/", x_cost=4).status == 429


def test_hits_of_the_whole_request(shop, proxy):
    hits = http_filter("set_filter_state", on_request_headers=[{
        "object_key": "envoy.ratelimit.hits_addend", "format_string": {
            "text_format_source": {"inline_string": "%REQ(x-cost)%"}}}])
    hits["typed_config"]["@type"] = hits["typed_config"]["@type"].replace(
        "SetFilterState", "Config")
    envoy = proxy(shop.target, route("/", descriptor(key("cost", "all"))),
                  filters=[hits, rate_limit_filter()])
    assert shown(envoy.get("/", x_cost=6))[1] == "4"
    assert envoy.get("/", x_cost=5).status == 429


def test_an_answer_is_charged_what_it_has_cost(shop, proxy):
    """The hits are known once the upstream has answered."""
    envoy = proxy(shop.target, filter_route(
        "/", descriptor(key("cost", "all"), hits_addend={"number": 0}),
        descriptor(key("cost", "all"), apply_on_stream_done=True,
                   hits_addend={"format": "%RESP(x-cost)%"})))
    assert shown(envoy.get("/", x_cost=8))[1] == "10"
    # Envoy does not wait for the answer of the second call.
    for _ in range(1000):
        left = shown(envoy.get("/", x_cost=0))[1]
        if left == "2":
            break
    assert left == "2"
    envoy.get("/", x_cost=9)
    assert 429 in envoy.statuses("/", 1000, x_cost=0)


def test_a_limit_in_the_request(shop, proxy):
    limits = http_filter("set_metadata", metadata=[{
        "metadata_namespace": "plan",
        "value": {"limit": {"requests_per_unit": 2, "unit": "DAY"}}}])
    limits["typed_config"]["@type"] = limits["typed_config"]["@type"].replace(
        "SetMetadata", "Config")
    envoy = proxy(
        shop.target, route("/", descriptor(
            header("x-user"), limit={"dynamic_metadata": {"metadata_key": {
                "key": "plan", "path": [{"key": "limit"}]}}})),
        filters=[limits, rate_limit_filter()])
    assert envoy.statuses("/", 3, x_user="alex") == [200, 200, 429]
    assert shown(envoy.get("/", x_user="carol")) == ["2, 2;w=86400", "1"]


def test_local_and_remote_limits_together(shop, proxy, upstream):
    """Envoy's own limit comes first, and spares the service the question."""
    local = http_filter(
        "local_ratelimit", stat_prefix="local",
        token_bucket={"max_tokens": 5, "tokens_per_fill": 5,
                      "fill_interval": "86400s"},
        filter_enabled={"default_value": {"numerator": 100}},
        filter_enforced={"default_value": {"numerator": 100}},
        response_headers_to_add=[{"header": {"key": "x-denied-by",
                                             "value": "local"}}])
    local["typed_config"]["@type"] = local["typed_config"]["@type"].replace(
        "LocalRatelimit", "LocalRateLimit")
    envoy = proxy(shop.target, SEARCH, filters=[local, rate_limit_filter()])
    answers = [envoy.get("/search") for _ in range(7)]
    assert [(answer.status, answer.headers.get("x-denied-by"))
            for answer in answers] == [
        *[(200, None)] * 3, *[(429, None)] * 2, *[(429, "local")] * 2]
    assert len(upstream.requests) == 3
    assert envoy.stat("cluster.limitree.upstream_rq_total") == 5


def test_metadata_of_rules_reaches_envoy(serve, descriptors, proxy):
    service = serve(
        "--descriptors", descriptors("""\
domain: shop
descriptors:
  - key: route
    metadata: {tier: gold}
    rate_limit: {unit: day, requests_per_unit: 3}
"""), "--dynamic-metadata", limits=None)
    search = descriptor(key("route", "search"))
    envoy = proxy(service.target, route(
        "/", search, response_headers_to_add=[{"header": {
            "key": "x-seen", "value":
                "%DYNAMIC_METADATA(envoy.filters.http.ratelimit)%"}}]))
    seen = envoy.get("/").headers["x-seen"]
    assert re.search(r'"metadata":\{"tier":"gold"\}', seen), seen
    assert '"domain":"shop"' in seen
