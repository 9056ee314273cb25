#!/usr/bin/env python3
"""An independent reference for all algorithms except GCRA, and their vectors.

    tests/conformance/reference.py            writes <algorithm>.json
    tests/conformance/reference.py --check    fails if they differ from it

It keeps every unit that a bucket ever admitted, and computes straight from the
definition how many of them count at a given time.  Bisection over that function
then finds when a request fits.  So unlike core/base/, nothing here is solved
for time, and no state is ever advanced.  Python integers are exact.
"""

import argparse
import datetime
import fractions
import json
import pathlib
import random
import sys
import zoneinfo

HERE = pathlib.Path(__file__).parent
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
BASE_NS = 1_749_988_800 * SECOND  # 2025-06-15 12:00:00 UTC
NEVER = -1
FULL_PRESSURE = 1_000_000

UNITS = {"w": 7 * DAY, "d": DAY, "h": HOUR, "m": MINUTE, "s": SECOND,
         "ms": 1_000_000, "us": 1_000, "ns": 1}


def duration_ns(text):
    if text == "month":
        return 31 * DAY
    digits = text.rstrip("wdhmsun")
    return int(digits) * UNITS[text[len(digits):]]


def ceil_us(at):
    return -(-at // 1000) * 1000


class Bucket:
    """Units that were admitted, oldest first, as [instant, units]."""

    def __init__(self, limit):
        self.limit = limit
        self.period = duration_ns(limit["period"])
        self.count = limit["count"]
        self.units = []

    def used(self, now):
        raise NotImplementedError

    def add(self, now, units):
        self.units.append([now, units])

    def spend(self, now, cost, ceiling):
        room = max(0, min(cost, ceiling - self.used(now)))
        if room > 0:
            self.add(now, room)
        return room > 0

    def gives_back(self, entry, now):
        """Whether a refund may take units of `entry`."""
        raise NotImplementedError

    def remove(self, now, units):
        """Takes back the newest units that count."""
        removed = 0
        for entry in reversed(self.units):
            if self.gives_back(entry, now):
                taken = min(units - removed, entry[1])
                entry[1] -= taken
                removed += taken
        self.units = [entry for entry in self.units if entry[1] > 0]
        return removed > 0

    def save(self):
        return [list(entry) for entry in self.units]

    def restore(self, saved):
        self.units = [list(entry) for entry in saved]

    def clear(self):
        self.units = []

    def wait(self, now, most):
        """Returns the time from `now` until no more than `most` are used."""
        if self.used(now) <= most:
            return 0
        step = 1
        while self.used(now + step) > most:
            step *= 2
        low = step // 2  # still too many
        while low + 1 < step:
            middle = (low + step) // 2
            if self.used(now + middle) > most:
                low = middle
            else:
                step = middle
        return step


class FixedWindow(Bucket):
    def window(self, at):
        return at // self.period

    def used(self, now):
        return sum(units for at, units in self.units
                   if self.window(at) == self.window(now))

    def gives_back(self, entry, now):
        return self.window(entry[0]) == self.window(now)


class CalendarWindow(FixedWindow):
    def window(self, at):
        zone = zoneinfo.ZoneInfo(self.limit.get("timezone", "UTC"))
        moment = datetime.datetime.fromtimestamp(at // SECOND, zone)
        if self.limit["period"] == "1d":
            return moment.date()
        if self.limit["period"] == "1w":
            return moment.isocalendar()[:2]
        return moment.year, moment.month


class FirstWindow(Bucket):
    """Each unit belongs to the window that it opened or fell into."""

    def current(self, now):
        start = None
        for at, _ in self.units:
            if start is None or at >= start + self.period:
                start = ceil_us(at)
        if start is None or now >= start + self.period:
            return None
        return start

    def used(self, now):
        start = self.current(now)
        if start is None:
            return 0
        return sum(units for at, units in self.units if at > start - 1000)

    def gives_back(self, entry, now):
        start = self.current(now)
        return start is not None and entry[0] > start - 1000

    def remove(self, now, units):
        # The window stays where it is as long as it has a unit.
        start = self.current(now)
        removed = super().remove(now, units)
        if removed and self.used_since(start) > 0:
            for entry in self.units:
                if entry[0] > start - 1000:
                    entry[0] = start
                    break
        return removed

    def used_since(self, start):
        return sum(units for at, units in self.units if at > start - 1000)


class SlidingLog(Bucket):
    def used(self, now):
        return sum(units for at, units in self.units
                   if now < ceil_us(at) + self.period)

    def gives_back(self, entry, now):
        return now < ceil_us(entry[0]) + self.period


class SlidingWindow(Bucket):
    """Units as [instant of the last one, units] for each sub-window."""

    def __init__(self, limit):
        super().__init__(limit)
        self.width = 1000 * -(-(self.period // 1000) //
                              limit.get("buckets", 60))

    def used(self, now):
        return sum(units for at, units in self.units
                   if now < at + self.period)

    def add(self, now, units):
        at = ceil_us(now)
        if self.units and self.units[-1][0] // self.width == at // self.width:
            self.units[-1][0] = at
            self.units[-1][1] += units
        else:
            self.units.append([at, units])

    def gives_back(self, entry, now):
        return now < entry[0] + self.period


class SlidingTail(Bucket):
    def used(self, now):
        window = now // self.period
        previous = sum(u for at, u in self.units
                       if at // self.period == window - 1)
        current = sum(u for at, u in self.units if at // self.period == window)
        inside = self.period // 1000 - (now - window * self.period) // 1000
        share = fractions.Fraction(inside, self.period // 1000)
        weighted = previous * share
        if self.limit.get("round") == "up":
            return -(-weighted.numerator // weighted.denominator) + current
        return weighted.numerator // weighted.denominator + current

    def gives_back(self, entry, now):
        return entry[0] // self.period >= now // self.period - 1


class LeakyStep(Bucket):
    def __init__(self, limit):
        super().__init__(limit)
        self.tick = self.period // self.count // 1000 * 1000

    def used(self, now):
        level, last = 0, 0
        for at, units in self.units:
            level = max(0, level - (at // self.tick - last)) + units
            level = max(0, level)
            last = at // self.tick
        return max(0, level - (now // self.tick - last))

    def remove(self, now, units):
        used = self.used(now)
        if used == 0:
            return False
        self.units.append([now, -min(units, used)])
        return True


class Gcra(Bucket):
    def __init__(self, limit):
        super().__init__(limit)
        self.interval = self.period // self.count
        self.debts = []  # [instant, nanoseconds owed then]

    def debt(self, now):
        if not self.debts:
            return 0
        at, owed = self.debts[-1]
        return max(0, owed - (now - at))

    def used(self, now):
        return -(-self.debt(now) // self.interval)

    def add(self, now, units):
        self.debts.append([now, self.debt(now) + units * self.interval])

    def spend(self, now, cost, ceiling):
        before = self.debt(now)
        after = max(before, min(before + cost * self.interval,
                                ceiling * self.interval))
        self.debts.append([now, after])
        return after != before

    def remove(self, now, units):
        before = self.debt(now)
        self.debts.append([now, max(0, before - units * self.interval)])
        return before > 0

    def save(self):
        return [list(entry) for entry in self.debts]

    def restore(self, saved):
        self.debts = [list(entry) for entry in saved]

    def clear(self):
        self.debts = []


def make_bucket(limit):
    algorithm = limit.get("algorithm", "gcra")
    if algorithm == "fixed_window":
        return {"epoch": FixedWindow, "first": FirstWindow,
                "calendar": CalendarWindow}[limit.get("align", "epoch")](limit)
    if algorithm == "leaky_bucket" and limit.get("drain") == "step":
        return LeakyStep(limit)
    return {"gcra": Gcra, "token_bucket": Gcra, "leaky_bucket": Gcra,
            "sliding_log": SlidingLog, "sliding_window": SlidingWindow,
            "sliding_tail": SlidingTail}[algorithm](limit)


class Level:
    """One bucket, in the state in which a request finds it."""

    def __init__(self, limit, bucket, operation, cost, now, pressure):
        self.limit, self.bucket, self.now = limit, bucket, now
        self.operation = operation
        self.cost = cost * limit.get("cost", 1)
        self.mode = limit.get("mode", "enforce")
        self.capacity = limit.get("burst", limit["count"])
        overrun = limit.get("overrun", {"percent": 0})
        idle = FULL_PRESSURE - (pressure if "when" in overrun else 0)
        self.ceiling = self.capacity + (self.capacity * overrun["percent"] *
                                        idle // (100 * FULL_PRESSURE))
        self.never = self.cost > self.ceiling
        self.fits = (self.cost == 0 or
                     bucket.used(now) + self.cost <= self.ceiling)

    def wait(self):
        if self.never:
            return NEVER
        if self.cost == 0:
            return 0
        return self.bucket.wait(self.now, self.ceiling - self.cost)

    def grows_after(self, used):
        """Returns the time until fewer than `used` are used."""
        if used == 0:
            return 0
        return self.bucket.wait(self.now, min(used, self.capacity) - 1)

    def change(self):
        """Applies the operation to the bucket, as to a charged level."""
        if self.cost == 0:
            return False
        if self.operation == "refund":
            return self.bucket.remove(self.now, self.cost)
        if self.operation == "spend":
            return self.bucket.spend(self.now, self.cost, self.ceiling)
        if self.fits:
            self.bucket.add(self.now, self.cost)
        return self.fits

    def verdict(self, applied):
        before = self.bucket.save()
        retry = self.wait()
        changed = self.change() if applied else False
        used = self.bucket.used(self.now)
        limits = self.operation in ("authorize", "peek")
        answer = {
            "limited": bool(limits and not self.fits),
            "remaining": max(0, self.capacity - used),
            "limit": self.capacity,
            "retry_after_ns": retry if limits and not self.fits else -1,
            "reset_after_ns": self.bucket.wait(self.now, 0),
            "next_after_ns": self.wait(),
            "grows_after_ns": self.grows_after(used),
            "charged": bool(changed and self.operation != "peek" and
                            self.mode != "check"),
            "soft": bool(limits and changed and used > self.capacity),
        }
        if limits and not self.fits:
            answer["next_after_ns"] = retry
        if self.operation == "refund":
            answer["next_after_ns"] = 0
        if not answer["charged"]:
            self.bucket.restore(before)
        return answer


def longest(waits):
    waits = list(waits)
    return NEVER if NEVER in waits else max(waits, default=0)


def ceil_s(ns):
    return -(-ns // SECOND)


def aggregate(levels, verdicts, operation, applied):
    counted = [i for i, level in enumerate(levels)
               if level.mode != "shadow" or operation == "refund"]
    limited = any(verdicts[i]["limited"] for i in counted)
    if not counted:
        return {"limited": False, "binding": -1, "five": [0, -1, -1, -1, 0]}
    pool = [i for i in counted if verdicts[i]["limited"] == limited]

    def order(i):
        wait = verdicts[i]["next_after_ns"]
        return (wait == NEVER, wait, -verdicts[i]["remaining"], i)

    binding = max(pool, key=order)
    retry = -1
    if limited:
        retry = longest([verdicts[i]["retry_after_ns"] for i in pool] +
                        [verdicts[i]["next_after_ns"] for i in counted
                         if applied[i]])
    reset = max(verdicts[i]["reset_after_ns"] for i in counted)
    return {
        "limited": limited,
        "limit": verdicts[binding]["limit"],
        "remaining": verdicts[binding]["remaining"],
        "retry_after_ns": retry,
        "reset_after_ns": reset,
        "next_after_ns": longest(verdicts[i]["next_after_ns"]
                                 for i in counted),
        "soft": not limited and any(verdicts[i]["soft"] for i in counted),
        "binding": binding,
        "five": [int(limited), verdicts[binding]["limit"],
                 verdicts[binding]["remaining"],
                 -1 if retry < 0 else ceil_s(retry), ceil_s(reset)],
    }


class Reference:
    """Decides paths of one top-level name with limits at every segment."""

    def __init__(self, limits):
        self.schema = limits["schema"]
        self.buckets = {}
        self.pressure = FULL_PRESSURE

    def levels_on(self, path):
        node, charge = self.schema[path[0]], self.schema[path[0]].get("charge")
        for depth in range(1, len(path) + 1):
            if depth > 1:
                children = node.get("children", {})
                node = children.get(path[depth - 1], children.get("*"))
                if node is None:
                    return
            limits = node.get("limits", [])
            for limit in limits if isinstance(limits, list) else [limits]:
                name = (*path[:depth], limit.get("name"))
                if name not in self.buckets:
                    self.buckets[name] = make_bucket(limit)
                yield limit, self.buckets[name], limit.get("charge", charge)

    def run(self, step):
        operation, now = step["op"], BASE_NS + step["now_ns"]
        if operation == "pressure":
            self.pressure = step["millionths"]
            return None
        found = list(self.levels_on(step["path"]))
        if operation == "reset":
            for _, bucket, _ in found:
                bucket.clear()
            return None
        levels = [Level(limit, bucket, operation, step["cost"], now,
                        self.pressure) for limit, bucket, _ in found]
        allowed = all(level.fits for level in levels if level.mode != "shadow")
        verdicts, applied = [], []
        for level, (_, _, charge) in zip(levels, found):
            if operation == "refund":
                applies = level.mode != "check"
            elif operation == "spend":
                applies = True
            else:
                applies = level.fits and (allowed or charge == "independent")
            applied.append(applies)
            verdicts.append(level.verdict(applies))
        return {"levels": verdicts,
                "decision": aggregate(levels, verdicts, operation, applied)}


# ---- Cases -------------------------------------------------------------------

EXAMPLE_SECONDS = [5, 15, 61, 70, 100, 110, 140]
ALGORITHMS = {
    "fixed_window": {"algorithm": "fixed_window"},
    "fixed_window_first": {"algorithm": "fixed_window", "align": "first"},
    "sliding_log": {"algorithm": "sliding_log"},
    "sliding_window": {"algorithm": "sliding_window", "buckets": 4},
    "sliding_tail": {"algorithm": "sliding_tail"},
    "sliding_tail_up": {"algorithm": "sliding_tail", "round": "up"},
    "leaky_step": {"algorithm": "leaky_bucket", "drain": "step"},
}


def case(name, title, limits, steps):
    reference = Reference(limits)
    for step in steps:
        expect = reference.run(step)
        if expect is not None:
            step["expect"] = expect
    return {"id": name, "title": title, "limits": limits, "steps": steps}


def ask(now_ns, operation="authorize", cost=1, path=("user", "alex")):
    return {"op": operation, "now_ns": now_ns, "path": list(path),
            "cost": cost}


def one_limit(limit):
    return {"schema": {"user": {"children": {"*": {"limits": limit}}}}}


def worked_example(rules):
    limit = {"count": 3, "period": "1m", **rules}
    return case("worked-example", "3 per minute, seven requests",
                one_limit(limit),
                [ask(s * SECOND) for s in EXAMPLE_SECONDS])


def exact_wait(rules, cost):
    """A denied cost stays denied until the last nanosecond of its wait."""
    limit = {"count": 5, "period": "10s", **rules}
    reference = Reference(one_limit(limit))
    steps, now = [], 1_234_567_891
    for _ in range(30):
        step = ask(now, cost=cost)
        answer = reference.run(step)["decision"]
        steps.append(step)
        wait = answer["retry_after_ns"]
        if wait > 1:
            for at in (now + wait - 1, now + wait):
                step = ask(at, operation="peek", cost=cost)
                reference.run(step)
                steps.append(step)
            now += wait
        else:
            now += 700_000_001
    return case(f"exact-wait-cost-{cost}",
                "denied 1 ns before its retry_after, allowed at it",
                one_limit(limit), steps)


def random_limit(rng, rules, number):
    limit = {"name": f"n{number}", "count": rng.randint(1, 9),
             "period": rng.choice(["1s", "7s", "10s", "1m", "333333us"]),
             **rules}
    if rng.random() < 0.2:
        limit["mode"] = rng.choice(["shadow", "check"])
    if rng.random() < 0.2:
        limit["cost"] = rng.randint(0, 3)
    if rng.random() < 0.2:
        limit["overrun"] = {"percent": rng.choice([10, 50, 100])}
        if rng.random() < 0.5:
            limit["overrun"]["when"] = "idle"
    if "buckets" in limit:
        limit["buckets"] = rng.choice([1, 4, 7, 60])
    return limit


def random_case(seed, choose):
    """A walk over a tree with `choose(rng)` for the rules of each limit."""
    rng = random.Random(seed)
    limits = iter(range(100))

    def some(count):
        return [random_limit(rng, choose(rng), next(limits))
                for _ in range(count)]

    user = {"limits": some(rng.randint(0, 1)),
            "children": {"*": {"limits": some(rng.randint(1, 2)),
                               "children": {"trade": {"limits": some(1)}}}}}
    if rng.random() < 0.2:
        user["charge"] = "independent"
    steps, now = [], rng.randint(0, HOUR)
    for _ in range(40):
        operation = rng.choices(["authorize", "peek", "spend", "refund",
                                 "reset", "pressure"],
                                [20, 3, 2, 3, 0.3, 1])[0]
        if operation == "pressure":
            steps.append({"op": operation, "now_ns": now,
                          "millionths": rng.randint(0, FULL_PRESSURE)})
            continue
        path = ["user", rng.choice(["alex", "bo"])]
        if rng.random() < 0.6:
            path.append("trade")
        steps.append(ask(now, operation, rng.choice([0, 1, 1, 1, 2, 3, 12]),
                         path))
        now += rng.choice([0, 1, 999, 1000, rng.randint(0, 2 * SECOND),
                           rng.randint(0, SECOND),
                           rng.randint(0, 20 * SECOND)])
    return case(f"random-{seed}", "a random walk", {"schema": {"user": user}},
                steps)


def fallen_ceiling(name, rules):
    """A bucket that was filled while the process was idle; now it is busy."""
    limit = {"count": 10, "period": "10s", **rules,
             "overrun": {"percent": 50, "when": "idle"}}
    start, steps = 5 * SECOND, []
    steps.append({"op": "pressure", "now_ns": start, "millionths": 0})
    steps += [ask(start, cost=14)]
    steps.append({"op": "pressure", "now_ns": start,
                  "millionths": FULL_PRESSURE})
    for now in (start, start + SECOND // 2, start + 8 * SECOND):
        steps += [ask(now, operation, cost) for cost in (0, 1)
                  for operation in ("peek", "authorize")]
    steps += [ask(now, "spend", 0), ask(now, "refund", 0)]
    return case(f"fallen-ceiling-{name}",
                "cost 0 fits at once, whatever is owed", one_limit(limit),
                steps)


def calendar_case(name, zone, period, start, steps_s):
    limit = {"count": 2, "period": period, "algorithm": "fixed_window",
             "align": "calendar", "timezone": zone}
    begin = int(datetime.datetime.fromisoformat(start).timestamp())
    steps = []
    for seconds in steps_s:
        at = (begin + seconds) * SECOND - BASE_NS
        steps += [ask(at - 1, "peek"), ask(at), ask(at, cost=2)]
    return case(name, f"{period} in {zone} from {start}", one_limit(limit),
                steps)


def calendar_cases():
    hours = [3600 * h for h in range(0, 60, 3)]
    yield calendar_case("berlin-spring", "Europe/Berlin", "1d",
                        "2026-03-28T21:00:00+00:00", hours)
    yield calendar_case("berlin-autumn", "Europe/Berlin", "1d",
                        "2026-10-24T20:00:00+00:00", hours)
    yield calendar_case("new-york-week", "America/New_York", "1w",
                        "2026-03-07T00:00:00+00:00",
                        [43200 * n for n in range(22)])
    yield calendar_case("kathmandu-month", "Asia/Kathmandu", "month",
                        "2028-02-20T00:00:00+00:00",
                        [86400 * n for n in range(20)])
    # Clocks go from 23:59:59 to 01:00:00.
    yield calendar_case("beirut-midnight", "Asia/Beirut", "1d",
                        "2026-03-28T12:00:00+00:00", hours)
    # By the rule at the end of the zone file.
    yield calendar_case("berlin-2071", "Europe/Berlin", "1d",
                        "2071-03-28T21:00:00+00:00", hours)
    yield calendar_case("utc-month", "UTC", "month",
                        "2027-12-30T00:00:00+00:00", hours)


def files():
    base = {}
    for name, rules in ALGORITHMS.items():
        cases = [worked_example(rules)]
        cases += [exact_wait(rules, cost) for cost in (1, 2, 5)]
        cases += [random_case(seed, lambda rng, r=rules: r)
                  for seed in range(1, 6)]
        base[name] = cases
    plain = {"algorithm": "token_bucket"}
    base["token_bucket"] = [worked_example(plain), exact_wait(plain, 2),
                            random_case(6, lambda rng: plain)]
    base["calendar"] = list(calendar_cases())
    every = [{}, *ALGORITHMS.values()]
    base["mixed"] = [random_case(seed, lambda rng: rng.choice(every))
                     for seed in range(100, 115)]
    overrun = [{"overrun": {"percent": 20}},
               {"overrun": {"percent": 50, "when": "idle"}}]
    base["overrun"] = [random_case(seed, lambda rng: rng.choice(overrun))
                       for seed in range(200, 206)]
    base["overrun"] += [fallen_ceiling(name, rules)
                        for name, rules in [("gcra", {}), *ALGORITHMS.items()]]
    for name, cases in base.items():
        yield name, {
            "name": f"limitree conformance vectors: {name}",
            "version": 1,
            "generated_by": "tests/conformance/reference.py",
            "base_ns": BASE_NS,
            "conventions": {
                "now_ns": "offset from base_ns",
                "limits": "a limits.yaml, for JSON is YAML",
                "waits": "nanoseconds; retry_after_ns -1: allowed, or never; "
                         "next_after_ns -1: never",
                "pressure": "set_pressure(millionths / 1e6)",
            },
            "cases": cases,
        }


def text_of(file):
    """JSON with a line for each step."""
    cases = file.pop("cases")
    head = json.dumps(file, indent=1)[:-2]
    lines = []
    for one in cases:
        steps = ",\n".join(json.dumps(step) for step in one.pop("steps"))
        lines.append(json.dumps(one)[:-1] + ', "steps": [\n' + steps + "]}")
    return head + ',\n "cases": [\n' + ",\n".join(lines) + "\n]}\n"


def main(files, program):
    parser = argparse.ArgumentParser()
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    wrong = []
    for name, file in files():
        path, text = HERE / f"{name}.json", text_of(file)
        if not options.check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            wrong.append(path.name)
    if wrong:
        sys.exit(f"run tests/conformance/{program}: {', '.join(wrong)}")


if __name__ == "__main__":
    main(files, "reference.py")
