"""How much memory `limitree serve` takes."""

import http.client
import json
import re
import urllib.request

from service import asked

CALLERS = 1_000_000
AT_ONCE = 100

RULE = """\
domain: bench
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 1000}
"""

LIMITS = """\
schema:
  user:
    children:
      "*": {limits: 100/day}
"""


def descriptors(users):
    return "/json", asked.asked_json(*([("user", user)] for user in users))


def paths(users):
    return "/v1/authorize", json.dumps({
        "paths": [{"segments": ["user", user]} for user in users],
        "omit_levels": True}).encode()


#: What has a bucket of each caller, the request, and max_buckets.
ROWS = [
    ("a tree, buckets", paths, 1_500_000),
    ("descriptors, windows", descriptors, 1_500_000),
    ("descriptors, windows", descriptors, 1_250_000),
]


def ask_all(service, question):
    connection = http.client.HTTPConnection("127.0.0.1", service.http)
    for first in range(0, CALLERS, AT_ONCE):
        path, body = question(
            f"user-{user:07}" for user in range(first, first + AT_ONCE))
        connection.request("POST", path, body,
                           {"content-type": "application/json"})
        answer = connection.getresponse()
        said = answer.read()
        if answer.status != 200:
            raise SystemExit(f"{path} answered {answer.status}: {said}")


def live_buckets(service):
    with urllib.request.urlopen(
            f"http://127.0.0.1:{service.admin}/metrics") as answer:
        text = answer.read().decode()
    return int(re.search(r"^limitree_buckets (\d+)", text, re.MULTILINE)[1])


def measure(services, print_table):
    rows = []
    for name, question, max_buckets in ROWS:
        # There is a worker for each processor, as it would run.
        service = services.limitree(
            "--set", f"max_buckets={max_buckets}", workers=2,
            descriptors=RULE, limits=LIMITS, processors="0-1")
        idle = service.resident()
        ask_all(service, question)
        rows.append([name, f"{max_buckets:,}", f"{idle:.1f}",
                     f"{live_buckets(service):,}",
                     f"{service.resident():.1f}"])
    print_table(f"Memory, {CALLERS:,} callers",
                ["", "max_buckets", "MB idle", "live", "MB then"], *rows)
