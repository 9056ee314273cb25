#!/usr/bin/env python3
"""An independent reference for leases, and their vectors.

    tests/conformance/lease_reference.py            writes leased.json, grants.json
    tests/conformance/lease_reference.py --check    fails if they differ from it

leased.json has requests on limits that can be leased, without a lease: each is
decided against a burst that is smaller by the time of the lease.  grants.json
also takes units for later.  It finds by trial how many: the most of which
`parts` times as many would still fit at every level after the request.
"""

import random

import reference
from reference import HOUR, MINUTE, SECOND, ask, duration_ns, one_limit

MILLISECOND = 1_000_000
MOST_LEVELS = 6


def as_charged(limit):
    """`limit` with the burst against which it is charged."""
    if "lease" not in limit or limit.get("algorithm") == "fixed_window":
        return limit
    interval = duration_ns(limit["period"]) // limit["count"]
    kept, least = limit.get("burst", limit["count"]), duration_ns(limit["lease"])
    while least > 0:
        kept, least = kept - 1, least - interval
    return {**limit, "burst": kept}


class Reference(reference.Reference):
    def levels_on(self, path):
        for limit, bucket, charge in super().levels_on(path):
            yield as_charged(limit), bucket, charge

    def run(self, step):
        if step["op"] != "lease":
            return super().run(step)
        answer = super().run({**step, "op": "authorize"})
        answer["granted"] = self.grant(step, answer["decision"]["limited"])
        return answer

    def grant(self, step, limited):
        found = list(self.levels_on(step["path"]))
        now = reference.BASE_NS + step["now_ns"]
        if limited or step["cost"] == 0 or len(found) > MOST_LEVELS or not all(
                "lease" in limit and limit.get("cost", 1) > 0 and
                limit.get("mode", "enforce") == "enforce"
                for limit, _, _ in found):
            return 0

        def fits(units):
            return all(
                bucket.used(now) + units * step["parts"] * limit.get("cost", 1)
                <= limit.get("burst", limit["count"])
                for limit, bucket, _ in found)

        granted = 0
        while granted < step["most"] and fits(granted + 1):
            granted += 1
        for limit, bucket, _ in found if granted > 0 else []:
            bucket.add(now, granted * limit.get("cost", 1))
        return granted


# ---- Cases -------------------------------------------------------------------


def case(name, title, limits, steps):
    played = Reference(limits)
    for step in steps:
        expect = played.run(step)
        if expect is not None:
            step["expect"] = expect
    return {"id": name, "title": title, "limits": limits, "steps": steps}


def lease(now_ns, most, parts=1, cost=1, path=("user", "alex")):
    return {**ask(now_ns, "lease", cost, path), "most": most, "parts": parts}


def random_limit(rng, number):
    """A limit that may be leased; now and then one that is not."""
    count = rng.randint(2, 40)
    period = rng.choice(["1s", "7s", "10s", "1m"])
    limit = {"name": f"n{number}", "count": count, "period": period}
    longest = duration_ns(period) // 2
    if rng.random() < 0.3:
        limit["algorithm"] = "fixed_window"
    elif rng.random() < 0.5:
        limit["burst"] = rng.randint(2, 60)
        longest = duration_ns(period) // count * limit["burst"] // 2
    if rng.random() < 0.2:
        limit["cost"] = rng.randint(0, 3)
    if rng.random() < 0.9:
        limit["lease"] = f"{rng.randint(1, longest // MILLISECOND)}ms"
    if rng.random() < 0.05:
        limit["mode"] = rng.choice(["shadow", "check"])
    return limit


def random_case(seed, leases):
    """A walk over a tree, with leases or only charged as if there were some."""
    rng = random.Random(seed)
    numbers = iter(range(100))

    def some(count):
        return [random_limit(rng, next(numbers)) for _ in range(count)]

    user = {"limits": some(rng.randint(0, 1)),
            "children": {"*": {"limits": some(rng.randint(1, 2)),
                               "children": {"trade": {"limits": some(1)}}}}}
    steps, now = [], rng.randint(0, HOUR)
    for _ in range(40):
        operation = rng.choices(
            ["authorize", "peek", "spend", "refund", "reset", "lease"],
            [12, 3, 2, 2, 0.3, 12 if leases else 0])[0]
        path = ["user", rng.choice(["alex", "bo"])]
        if rng.random() < 0.6:
            path.append("trade")
        cost = rng.choice([0, 1, 1, 1, 1, 2, 3, 12])
        if operation == "lease":
            steps.append(lease(now, rng.choice([1, 2, 5, 30, 1000]),
                               rng.choice([1, 2, 2, 4, 16]), cost, path))
        else:
            steps.append(ask(now, operation, cost, path))
        now += rng.choice([0, 1, 999, 1000, rng.randint(0, 2 * SECOND),
                           rng.randint(0, SECOND // 2),
                           rng.randint(0, 20 * SECOND)])
    return case(f"random-{seed}", "a random walk", {"schema": {"user": user}},
                steps)


def boundary_case(name, limit, first):
    """`first` requests at once, and then at each instant that frees one."""
    limits = one_limit(limit)
    played, steps, now = Reference(limits), [], 3 * SECOND + 7
    for _ in range(first + 8):
        step = ask(now)
        answer = played.run(step)["decision"]
        steps.append(step)
        wait = answer["retry_after_ns"]
        if wait > 0:
            steps += [ask(now + wait - 1, "peek"), ask(now + wait, "peek")]
            now += wait
    return case(name, "denied 1 ns before its retry_after, allowed at it",
                limits, steps)


def leased_cases():
    yield boundary_case("whole-tokens", {"count": 10, "period": "10s",
                                         "lease": "2s"}, 9)
    # D is not a multiple of the interval, and the burst is whole tokens.
    yield boundary_case("part-of-a-token", {"count": 10, "period": "10s",
                                            "lease": "1001ms"}, 9)
    yield boundary_case("half-of-the-burst", {
        "count": 1, "period": "1s", "burst": 6, "lease": "3s"}, 4)
    yield boundary_case("window", {
        "count": 4, "period": "10s", "lease": "1s",
        "algorithm": "fixed_window"}, 5)
    limit = {"count": 10, "period": "10s", "lease": "2s"}
    yield case("above-the-smaller-burst", "no wait helps", one_limit(limit),
               [ask(0, cost=9), ask(0, "peek", 9), ask(0, cost=8)])
    for seed in range(300, 305):
        yield random_case(seed, False)


def grant_cases():
    gcra = {"count": 10, "period": "10s", "lease": "2s"}
    window = {**gcra, "algorithm": "fixed_window"}
    for name, limit in [("gcra", gcra), ("window", window)]:
        yield case(f"{name}-up-to-most", "as many as are asked for",
                   one_limit(limit),
                   [lease(0, 3), ask(0, "peek"), lease(0, 3), lease(0, 3),
                    lease(SECOND, 3), lease(20 * SECOND, 100), ask(20 * SECOND),
                    ask(20 * SECOND + SECOND)])
        yield case(f"{name}-half-of-what-is-free", "by the request's own cost",
                   one_limit(limit),
                   [lease(0, 100, 2), lease(0, 100, 2), lease(0, 100, 2),
                    lease(0, 100, 2)])
        yield case(f"{name}-denied", "a denied request takes nothing",
                   one_limit(limit),
                   [ask(0, cost=7), lease(0, 5, cost=5), ask(0, cost=1)])
    two = [{"name": "a", "count": 10, "period": "10s", "lease": "2s"},
           {"name": "b", "count": 40, "period": "10s", "lease": "1s",
            "cost": 3}]
    yield case("two-levels", "the least of both", one_limit(two),
               [lease(0, 100), ask(0, "peek"), ask(2 * SECOND),
                lease(5 * SECOND, 100, 2, cost=2), ask(5 * SECOND, "peek")])
    yield case("a-request-of-cost-0", "only looks", one_limit(gcra),
               [lease(0, 100, cost=0), ask(0, "peek")])
    for name, more in [("without", {}), ("cost-0", {"lease": "1s",
                                                    "cost": 0}),
                       ("shadow", {"lease": "1s",
                                                    "mode": "shadow"}),
                       ("check", {"lease": "1s", "mode": "check"})]:
        other = {"name": "b", "count": 10, "period": "10s", **more}
        yield case(f"beside-{name}", "such a path is not leased",
                   one_limit([two[0], other]),
                   [lease(0, 5), ask(0, "peek")])
    many = [{"name": f"n{i}", "count": 20 + i, "period": "1m", "lease": "5s"}
            for i in range(7)]
    yield case("six-levels", "the most", one_limit(many[:6]),
               [lease(0, 4), ask(0, "peek")])
    yield case("seven-levels", "too many", one_limit(many),
               [lease(0, 4), ask(0, "peek")])
    large = {"count": 1_000_000_000, "period": "1s", "lease": "1ms"}
    yield case("a-ns-each", "the smallest interval", one_limit(large),
               [lease(0, 1000), ask(0, "peek"), ask(1000, "peek")])
    slow = {"count": 1, "period": "1d", "burst": 90, "lease": "40d"}
    yield case("months", "the longest offset", one_limit(slow),
               [lease(0, 1000, 2), lease(MINUTE, 1000), ask(MINUTE, "peek"),
                lease(100 * 24 * HOUR, 1000)])
    for seed in range(400, 412):
        yield random_case(seed, True)


def files():
    for name, cases in [("leased", leased_cases), ("grants", grant_cases)]:
        conventions = {
            "now_ns": "offset from base_ns",
            "limits": "a limits.yaml, for JSON is YAML",
            "waits": "nanoseconds; retry_after_ns -1: allowed, or never; "
                     "next_after_ns -1: never"}
        if name == "grants":
            conventions["lease"] = (
                "authorize, and up to `most` units for later, of one of "
                "`parts` parts of what is free then; the verdicts are those of "
                "the request alone")
        yield name, {
            "name": f"limitree conformance vectors: {name}",
            "version": 1,
            "generated_by": "tests/conformance/lease_reference.py",
            "base_ns": reference.BASE_NS,
            "conventions": conventions,
            "cases": list(cases()),
        }


if __name__ == "__main__":
    reference.main(files, "lease_reference.py")
