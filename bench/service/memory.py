"""How much memory `limitree serve` takes."""

import http.client

from service import asked

BUCKETS = 1_000_000
AT_ONCE = 100

RULE = """\
domain: bench
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 1000}
"""


def ask_all(service):
    """Charges a bucket of each of so many users."""
    connection = http.client.HTTPConnection("127.0.0.1", service.http)
    for first in range(0, BUCKETS, AT_ONCE):
        users = range(first, first + AT_ONCE)
        connection.request("POST", "/json", asked.asked_json(
            *([("user", f"user-{user:07}")] for user in users)))
        answer = connection.getresponse()
        if answer.status != 200 or b"OVER" in answer.read():
            raise SystemExit(f"/json answered {answer.status}")


def measure(services, print_table):
    # There is a worker for each processor, as it would run.
    service = services.limitree("--set", "max_buckets=1500000", workers=2,
                                descriptors=RULE, processors="0-1")
    idle = service.resident()
    ask_all(service)
    print_table("Memory", ["", "MB"], ["idle", f"{idle:.1f}"],
                [f"{BUCKETS:,} live buckets", f"{service.resident():.1f}"])
