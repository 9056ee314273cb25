"""Properties that hold for all paths, costs, headers and dicts."""

import math
import re

import limitree
import no_deadline  # noqa: F401
from hypothesis import given
from hypothesis import strategies as st
from limitree.testing import ManualClock

segments = st.one_of(st.text(max_size=30), st.binary(max_size=30))
# Names that are neither a pattern nor a network.
plain = st.text(st.characters(exclude_categories=["Cs"],
                              exclude_characters="*/"), min_size=1, max_size=30)
STRING = r'"(?:[ !#-\[\]-~]|\\["\\])*"'


def as_bytes(segment):
    return segment.encode() if isinstance(segment, str) else segment


@given(st.lists(st.lists(segments, min_size=1, max_size=4), min_size=1,
                max_size=4))
def test_paths_are_kept_apart(paths):
    """A bucket is shared by equal paths only, as str or as bytes."""
    limiter = limitree.Limiter({"schema": {"a": {"children": {
        "*": {"children": {"*": {"children": {"*": {"children": {
            "*": {"limits": [0, 1, 3600]}}}}}}}}}}}, clock=ManualClock())
    seen = set()
    for path in paths:
        whole = [as_bytes(segment) for segment in path]
        padded = ["a", *path, *["x"] * (4 - len(path))]
        key = tuple(whole + [b"x"] * (4 - len(path)))
        assert limiter.authorize(*padded).allowed is (key not in seen)
        seen.add(key)


# Up to 57 days: beyond 104 days, a float of seconds is not exact to 1 ns.
@given(st.integers(1, 1000), st.integers(1, 1000), st.integers(1, 5000),
       st.lists(st.tuples(st.integers(0, 1500), st.integers(0, 10**10)),
                max_size=20))
def test_the_wait_is_right_to_the_nanosecond(burst, count, period, steps):
    clock = ManualClock()
    limiter = limitree.Limiter({"schema": {"a": {"limits": {
        "burst": burst, "count": count, "period": period}}}}, clock=clock)
    for cost, pause in steps:
        decision = limiter.authorize("a", cost=cost)
        assert 0 <= decision.remaining <= decision.limit == burst
        if decision.retry_after == math.inf:
            assert cost > burst
        elif decision.limited:
            wait = round(decision.retry_after * 1e9)
            clock.now_ns += wait - 1
            assert limiter.peek("a", cost=cost).limited
            clock.now_ns += 1
            assert limiter.authorize("a", cost=cost).allowed
        clock.now_ns += pause


@given(st.integers())
def test_any_cost(cost):
    limiter = limitree.Limiter("schema: {a: {limits: [9, 10, 60]}}")
    try:
        decision = limiter.authorize("a", cost=cost)
    except OverflowError:
        assert not -2**63 <= cost < 2**63
    except ValueError:
        assert -2**63 <= cost < 0
    else:
        assert decision.allowed is (0 <= cost <= 10)


@given(st.lists(st.tuples(plain, st.integers(1, 9)), min_size=1,
                max_size=4, unique_by=lambda one: one[0]),
       st.integers(0, 12))
def test_headers_can_be_parsed(names, cost):
    """Any names of policies, and any number of them, give valid headers."""
    limits = {name: {"limits": {"burst": burst, "count": 7, "period": 60}}
              for name, burst in names}
    limiter = limitree.Limiter({"schema": limits}, levels=True,
                               clock=ManualClock())
    decision = limiter.authorize_all([[name] for name in limits], cost)
    for name, value in decision.headers():
        item = {"RateLimit-Policy": rf"{STRING};q=\d+;w=\d+",
                "RateLimit": rf"{STRING};r=\d+(?:;t=[1-9]\d*)?",
                "Retry-After": r"[1-9]\d*"}[name]
        assert re.fullmatch(rf"{item}(?:, {item})*", value)
    for style in ("draft-7", "draft-6", "legacy"):
        for name, value in decision.headers(style):
            assert value.isascii() and value.isprintable()


@given(st.dictionaries(plain, st.integers(1, 99), min_size=1, max_size=5))
def test_a_dict_means_what_it_says(counts):
    """Names come unchanged through JSON and YAML."""
    limits = {"schema": {"a": {"children": {
        name: {"limits": {"count": count, "period": 60}}
        for name, count in counts.items()}}}}
    limiter = limitree.Limiter(limits)
    for name, count in counts.items():
        assert limiter.peek("a", name).limit == count
