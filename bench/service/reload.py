"""Requests while 10,000 rules are read again and again."""

import dataclasses
import os
import threading
import time

from service import asked, load

RULES = 10_000
RATE = 10_000
SECONDS = 12
#: Between two changes, which takes longer than to read them.
PAUSE = 1.5


def change(service, until):
    """Writes other rules, as often as there is time; returns how often."""
    count = 0
    while time.monotonic() < until:
        count += 1
        new = service.rules.with_suffix(".new")
        new.write_text(asked.deep_descriptors(RULES, 4_000_000_000 - count),
                       "ascii")
        os.replace(new, service.rules)
        time.sleep(PAUSE)
    return count


def run(arguments, service, changes):
    rules = asked.deep_rules(RULES)
    asks = load.Load(asked.ENVOY, asked.asked_descriptors(rules[7777]),
                     rate=RATE)
    until = time.monotonic() + SECONDS - PAUSE
    done = []
    thread = threading.Thread(
        target=lambda: done.append(change(service, until)))
    if changes:
        thread.start()
    found = load.run(asks, service.grpc, SECONDS, timed=True,
                     processor=arguments.client)
    if changes:
        thread.join()
    return found, sum(done)


def measure(arguments, services, print_table):
    rows = []
    for name, processors in (("one processor", arguments.server),
                             ("two processors", "0-1")):
        service = services.limitree(
            processors=processors, descriptors=asked.deep_descriptors(RULES))
        for changes in (False, True):
            before = service.logged().count("loaded")
            found, count = run(arguments, service, changes)
            loaded = service.logged().count("loaded") - before
            rows.append([
                f"{name}, " + ("reloading" if changes else "no changes"),
                f"{loaded} of {count}", f"{found.count:,}", f"{found.failed}",
                f"{found.percentile(0.5):,}", f"{found.percentile(0.99):,}",
                f"{found.latencies[-1]:,}"])
    print_table(f"{RULES:,} rules that change, {RATE:,} requests per second",
                ["", "reloads", "requests", "lost", "p50 us", "p99 us",
                 "slowest us"], *rows)
