#!/usr/bin/env python3
"""Makes examples/access.log.gz: a day in the life of a small web shop.

Visitors come and go with the hour, a crawler works through the night, somebody
guesses passwords, a scraper calls from a whole IPv6 network, programs use the
API, and monitoring looks in.  A few lines are broken, as in any log.  The same
arguments always give the same text.

usage: make_example_log.py [--days N] [file]
"""

import argparse
import gzip
import math
import random
import sys
import time

MIDNIGHT = 1_772_409_600  # Monday, 2026-03-02 00:00 UTC
DAY = 86_400
HOUR = 3_600
MINUTE = 60

# Visits begin in proportion to these, hour by hour.
HOURLY = [3, 2, 1, 1, 1, 2, 4, 7, 10, 12, 13, 13,
          12, 12, 12, 11, 11, 12, 14, 16, 17, 15, 10, 6]

BROWSERS = [
    "Mozilla/5.0 (X11; Linux x86_64; rv:135.0) Gecko/20100101 Firefox/135.0",
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like"
    " Gecko) Chrome/133.0.0.0 Safari/537.36",
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_3 like Mac OS X) AppleWebKit/605.1"
    ".15 (KHTML, like Gecko) Version/18.3 Mobile/15E148 Safari/604.1",
    "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15"
    " (KHTML, like Gecko) Version/18.3 Safari/605.1.15",
]
ASSETS = ["/static/shop.css", "/static/shop.js", "/static/logo.svg"]
WORDS = ["teapot", "kettle", "cup", "saucer", "oolong", "rooibos", "strainer"]
NAMES = ["alex", "carol", "dave", "erin", "frank", "grace"]


class Log:
    """Collects requests; the server writes a line when a request ends."""

    def __init__(self, days, seed):
        self.end = days * DAY  # nobody is seen after midnight
        self.lines = []
        # random() alone gives the same numbers in every version of Python.
        self.random = random.Random(seed).random

    def pick(self, choices):
        return choices[int(self.random() * len(choices))]

    def between(self, low, high):
        return low + (high - low) * self.random()

    def wait(self, mean):
        """How long until the next of independent events."""
        return -mean * math.log(1.0 - self.random())

    def write(self, at, text):
        self.lines.append((at, len(self.lines), text))

    def request(self, at, client, request, status=200, size=None, user="-",
                referer="-", agent="-"):
        if at >= self.end:
            return
        begun = time.gmtime(MIDNIGHT + int(at))
        stamp = time.strftime("%d/%b/%Y:%H:%M:%S +0000", begun)
        if size is None:
            size = int(self.between(300, 24_000))
        ended = at + self.wait(0.06)
        self.write(ended, f'{client} - {user} [{stamp}] "{request}" {status} '
                          f'{size} "{referer}" "{agent}"')

    def text(self):
        self.lines.sort()
        return "".join(line + "\n" for _, _, line in self.lines)


def visitor_address(log):
    kind = log.random()
    if kind < 0.35:
        network = int(log.random() * 4096)
        return f"2001:db8:{network:x}::{int(log.random() * 65535) + 1:x}"
    block = "203.0.113" if kind < 0.7 else "198.51.100"
    return f"{block}.{int(log.random() * 190) + 1}"


def visit(log, at):
    """A visitor looks around, and perhaps logs in and buys."""
    client = visitor_address(log)
    agent = log.pick(BROWSERS)
    page = "https://shop.example/"

    def get(target, status=200, size=None):
        log.request(at, client, f"GET {target} HTTP/1.1", status, size,
                    referer=page, agent=agent)

    get("/")
    for asset in ASSETS:
        get(asset, 304 if log.random() < 0.5 else 200)
    for _ in range(int(log.wait(4.0)) + 1):
        at += log.wait(20.0)
        if log.random() < 0.3:
            get(f"/search?q={log.pick(WORDS)}")
        else:
            page = f"https://shop.example/products/{product(log)}"
            get(page[len("https://shop.example"):])
    if log.random() < 0.12:
        at += log.wait(15.0)
        failed = log.random() < 0.2
        log.request(at, client, "POST /login HTTP/1.1", 401 if failed else 303,
                    0, referer=page, agent=agent)
        if not failed:
            at += log.wait(40.0)
            log.request(at, client, "POST /api/v1/orders HTTP/1.1", 201, 312,
                        user=log.pick(NAMES), referer=page, agent=agent)


def product(log):
    """Some are looked at much more often than others."""
    return int(400 * log.random() ** 3) + 1


def visitors(log, day):
    for hour, weight in enumerate(HOURLY):
        begin = day + hour * HOUR
        at = begin + log.wait(HOUR / (6.0 * weight))
        while at < begin + HOUR:
            visit(log, at)
            at += log.wait(HOUR / (6.0 * weight))


def crawler(log, day):
    at = day + 1 * HOUR
    for number in range(1, 2_001):
        at += log.between(5.0, 9.0)
        log.request(at, "198.51.100.210", f"GET /products/{number} HTTP/1.1",
                    200 if number <= 400 else 404,
                    agent="TeaBot/2.1 (+https://bot.example/)")


def password_guesser(log, day):
    at = day + 3 * HOUR + 12 * MINUTE
    while at < day + 3 * HOUR + 24 * MINUTE:
        at += log.wait(0.3)
        log.request(at, "203.0.113.199", "POST /login HTTP/1.1", 401, 87,
                    agent="python-requests/2.32.3")


def scraper(log, day):
    """Changes its address all the time, but not its network."""
    at = day + 14 * HOUR + 30 * MINUTE
    for number in range(1, 2_401):
        at += log.wait(0.03)
        client = f"2001:db8:bad:cafe::{int(log.random() * 12) + 1:x}"
        log.request(at, client, f"GET /products/{number % 400 + 1} HTTP/1.1",
                    agent=log.pick(BROWSERS))


def programs(log, day):
    for client, user, every in (("203.0.113.240", "warehouse", 20.0),
                                ("198.51.100.240", "mobile-app", 12.0)):
        at = day + log.between(0, every)
        while at < day + DAY:
            target = f"/api/v1/stock/{product(log)}"
            log.request(at, client, f"GET {target} HTTP/2.0", user=user,
                        agent=f"{user}/4.2")
            at += every * log.between(0.8, 1.2)


def monitoring(log, day):
    for minute in range(DAY // MINUTE):
        log.request(day + minute * MINUTE + 7, "192.0.2.10",
                    "GET /healthz HTTP/1.1", 200, 2, agent="probe/1.0")


def odd_lines(log, day):
    """What every log has: noise, accidents and other people's mistakes."""
    log.request(day + 2 * HOUR, "203.0.113.77",
                "\\x16\\x03\\x01\\x02\\x00\\x01", 400, 157)
    log.request(day + 5 * HOUR, "203.0.113.78", "-", 408, 0)
    log.request(day + 7 * HOUR, "host-7.example.net", "GET / HTTP/1.1")
    log.request(day + 16 * HOUR, "198.51.100.20",
                'GET /search?q=\\"tea\\" HTTP/1.1')
    # The disk was full, then logrotate ran, then somebody used an editor.
    log.write(day + 9 * HOUR, '198.51.100.31 - - [02/Mar/2026:09:00:00 +0000]'
                              ' "GET /produ')
    log.write(day + 12 * HOUR, "")
    log.write(day + 18 * HOUR, "-- MARK --")
    log.write(day + 19 * HOUR, '203.0.113.5 - - [31/Feb/2026:19:00:00 +0000]'
                               ' "GET / HTTP/1.1" 200 512 "-" "-"')


def make_log(days=1, seed=7):
    log = Log(days, seed)
    for number in range(days):
        for actor in (visitors, crawler, password_guesser, scraper, programs,
                      monitoring, odd_lines):
            actor(log, number * DAY)
    return log.text()


def main():
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--days", type=int, default=1,
                        help="length of the log (1)")
    parser.add_argument("file", nargs="?",
                        help="packed if it ends in .gz; default: stdout")
    arguments = parser.parse_args()
    text = make_log(arguments.days).encode("ascii")
    if arguments.file is None:
        sys.stdout.buffer.write(text)
        return
    if arguments.file.endswith(".gz"):
        text = gzip.compress(text, 9, mtime=0)
    with open(arguments.file, "wb") as file:
        file.write(text)


if __name__ == "__main__":
    main()
