"""limitree replay reads the same requests from every format."""

import gzip
import json

import pytest
from command import EXAMPLE_LOG, WEB, bad, good, log_line

PATHS = ("--path", "ip,{remote_addr}", "--path", "route,{method},{path}")
NGINX = ('$remote_addr - $remote_user [$time_local] "$request" $status '
         '$body_bytes_sent "$http_referer" "$http_user_agent"')


def replay(*words, text):
    seen = json.loads(good("replay", "--json", WEB, *PATHS, *words, text=text))
    for volatile in ("seconds", "lines_per_second", "bytes", "lines", "bad",
                     "bad_lines", "skipped_lines"):
        del seen[volatile]
    for policy in seen["limits"]:  # the order of equals is that of the tree
        policy.pop("near_limit")
    return seen


def requests():
    """Returns the requests of the example log, as dictionaries."""
    found = []
    for line in gzip.decompress(EXAMPLE_LOG.read_bytes()).decode().split("\n"):
        parts = line.split('"')
        if (len(parts) < 7 or parts[1].count(" ") != 2
                or "/Mar/2026:" not in parts[0]):
            continue
        address, _, user, time, _ = parts[0].split(" ", 4)
        day, _, rest = time[1:].split("/")
        method, target, protocol = parts[1].split(" ")
        status, size = parts[2].split()
        found.append({
            "address": address, "user": user, "method": method,
            "target": target, "protocol": protocol, "status": status,
            "bytes": size, "agent": parts[5],
            "iso": f"2026-03-{day}T{rest[5:]}Z",
            "line": line})
    return found


@pytest.fixture(name="log", scope="module")
def read_log():
    found = requests()
    assert len(found) > 30_000
    return found


@pytest.fixture(name="expected", scope="module")
def decide(log):
    return replay(text="".join(one["line"] + "\n" for one in log))


def as_json(one):
    return {"time": one["iso"], "client": {"ip": one["address"]},
            "remote_user": one["user"], "request_method": one["method"],
            "request_uri": one["target"], "status": int(one["status"])}


def as_envoy(one):
    return {"start_time": one["iso"], "method": one["method"],
            "path": one["target"], "protocol": one["protocol"],
            "response_code": one["status"],
            "downstream_remote_address": (
                f"[{one['address']}]:1234" if ":" in one["address"]
                else f"{one['address']}:1234")}


def as_caddy(one):
    return {"level": "info", "ts": one["iso"], "status": int(one["status"]),
            "request": {"remote_ip": "10.0.0.1", "client_ip": one["address"],
                        "method": one["method"], "uri": one["target"],
                        "headers": {"User-Agent": [one["agent"]]}}}


def as_alb(one):
    return (f"https {one['iso']} app/web/1 {one['address']}:4711 10.0.0.1:80"
            f" 0.001 0.002 0.000 {one['status']} 200 10 {one['bytes']}"
            f' "{one["method"]} https://shop.example:443{one["target"]}'
            f' {one["protocol"]}" "{one["agent"]}" - - arn "Root=1" "-"')


@pytest.mark.parametrize("name, write, words", [
    ("json", as_json, ("--field", "remote_addr=client.ip")),
    ("envoy", as_envoy, ()),
    ("caddy", as_caddy, ()),
    ("alb", as_alb, ()),
    (NGINX, lambda one: one["line"], ()),
    ("common", lambda one: one["line"], ()),
])
def test_every_format_decides_the_same(log, expected, name, write, words):
    lines = [write(one) for one in log]
    text = "".join((one if isinstance(one, str) else json.dumps(one)) + "\n"
                   for one in lines)
    packed = gzip.compress(text.encode(), 1)
    assert replay("--format", name, *words, text=packed) == expected


def test_bad_lines_have_a_column():
    seen = json.loads(good("replay", "--json", WEB, *PATHS, "--format", "json",
                           text='{"time": 1}\n{"time": 1,}\n{}\n'))
    assert (seen["bad"], seen["bad_lines"]) == (2, [
        {"file": "-", "line": 2, "reason": "column 12: not JSON here"},
        {"file": "-", "line": 3, "reason":
         "no time: no time or time_iso8601 or time_local or msec"}])
    shown = good("replay", WEB, *PATHS, text="192.0.2.7 - - [now] \"GET /\"\n")
    assert "standard input:1: column 13: no [time] in brackets\n" in shown


def test_names_of_variables_are_fields():
    line = log_line(0).rstrip("\n") + ' "key-7"\n'
    seen = json.loads(good(
        "replay", "--json", WEB, "--format", '$remote_addr - $remote_user '
        '[$time_local] "$request" $status $bytes_sent "$http_x_key"',
        "--path", "ip,{remote_addr}", "--path", "route,{http_x_key}",
        text=line))
    assert seen["requests"] == 1


def test_templates_name_fields_of_the_format():
    assert bad(2, "replay", WEB, "--format", "$msec $remote_addr", "--path",
               "ip,{referer}") == (
        "limitree: --path 'ip,{referer}': no field is called {referer}; there "
        "are remote_addr\n")
    assert bad(2, "replay", WEB, *PATHS, "--format", "xml").startswith(
        "limitree: --format 'xml': must be combined, common, json, ")
    assert bad(2, "replay", WEB, *PATHS, "--format", "json", "--field",
               "remote_addr=a.b", "--field", "who=a.b") == (
        "limitree: --field 'who=a.b': 'a.b' is another field already\n")
    assert bad(2, "replay", WEB, *PATHS, "--field", "a=b") == (
        "limitree: --field needs --format json, envoy or caddy\n")


def test_fractions_of_seconds_count(tmp_path):
    """Four requests, 0.3 s apart: a limit of 2 a second lets three pass."""
    limits = tmp_path / "limits.yaml"
    limits.write_text("schema: {a: {limits: {count: 2, period: 1s}}}\n",
                      encoding="ascii")
    text = "".join(f'{{"time": {1000 + i * 0.3}}}\n' for i in range(4))
    seen = json.loads(good("replay", "--json", limits, "--path", "a",
                           "--format", "json", text=text))
    assert (seen["allowed"], seen["limited"]) == (3, 1)
