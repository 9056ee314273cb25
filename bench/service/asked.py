"""What the services are asked, and the limits that they have.

No limit is ever reached, so that every answer is the same.
"""

import itertools
import json

LIMITS = """\
schema:
  user:
    children:
      "*":
        limits: 1000000000/second
        children:
          trade: {limits: 1000000000/second}
"""

#: Of Envoy: one rule, in the domain `bench`.
DESCRIPTORS = """\
domain: bench
descriptors:
  - key: user
    rate_limit: {unit: hour, requests_per_unit: 4000000000}
"""

AUTHORIZE = "/limitree.v1.Limiter/Authorize"
ENVOY = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit"
HEALTH = "/grpc.health.v1.Health/Check"

#: Of rules in five levels.
LEVELS = 5


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, content):
    """A text or a message of protobuf."""
    content = content.encode() if isinstance(content, str) else content
    return varint(number << 3 | 2) + varint(len(content)) + content


def framed(message):
    """As gRPC sends it."""
    return b"\0" + len(message).to_bytes(4, "big") + message


def asked_path(*segments, omits_levels=False):
    path = field(1, b"".join(field(1, segment) for segment in segments))
    return framed(path + (b"\x18\x01" if omits_levels else b""))


def asked_descriptors(*descriptors):
    """Each a list of pairs of a key and a value."""
    return framed(field(1, "bench") + b"".join(
        field(2, b"".join(field(1, field(1, key) + field(2, value))
                          for key, value in entries))
        for entries in descriptors))


def asked_json(*descriptors):
    return json.dumps({"domain": "bench", "descriptors": [
        {"entries": [{"key": key, "value": value} for key, value in entries]}
        for entries in descriptors]}).encode()


def deep_rules(count):
    """The entries that meet each of `count` rules, ten below each branch."""
    digits = itertools.product(range(10), repeat=LEVELS - 1)
    branches = itertools.islice(digits, count // 10)
    return [[(f"level{depth}", f"value{digit}")
             for depth, digit in enumerate((*branch, last))]
            for branch in branches for last in range(10)]


def deep_descriptors(count, requests=4_000_000_000):
    """`count` rules that lie five levels deep, as YAML."""
    lines = ["domain: bench", "descriptors:"]
    before = [None] * LEVELS
    for entries in deep_rules(count):
        for depth, (key, value) in enumerate(entries):
            if entries[:depth + 1] == before[:depth + 1]:
                continue
            blank = "  " * (2 * depth + 1)
            lines += [f"{blank}- key: {key}", f"{blank}  value: {value}"]
            if depth < LEVELS - 1:
                lines.append(f"{blank}  descriptors:")
                continue
            lines.append(f"{blank}  rate_limit: "
                         f"{{unit: hour, requests_per_unit: {requests}}}")
        before = entries
    return "\n".join(lines) + "\n"
