"""PUT /v1/limits/NAME: limits that a control plane puts beside a file's."""

import concurrent.futures
import http.client
import json
import signal
import time

import httpx
import pytest

TOKEN = "a-token-of-24-characters"
AUTH = {"authorization": f"Bearer {TOKEN}"}
YAML = {**AUTH, "content-type": "application/yaml"}
ACME = 'children: {"*": {limits: {count: 5, burst: 5, period: 1d}}}'
EVERYWHERE = "/v1/limits/acme"


@pytest.fixture(name="web", params=[False, True], ids=["http1", "http2"])
def make_web(request, service_with_token):
    with httpx.Client(base_url=service_with_token.http[0], timeout=60,
                      http1=not request.param, http2=request.param) as client:
        yield client


@pytest.fixture(name="service_with_token")
def make_service(serve, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    return serve("--http-listen", "127.0.0.1:0", "--admin-token-file",
                 tmp_path / "token", "--workers", "2")


def authorize(web, *segments, cost=1):
    answer = web.post("/v1/authorize",
                      json={"paths": [segments], "cost": cost})
    return answer.status_code, answer.json()


def put(web, text, path=EVERYWHERE, headers=None):
    return web.put(path, content=text, headers=headers or YAML)


def problem(answer, status):
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["status"] == status
    return answer.json()["detail"]


def test_a_name_comes_changes_and_goes(web):
    assert authorize(web, "acme", "kim")[0] == 404
    problem(web.get(EVERYWHERE, headers=AUTH), 404)
    answer = put(web, ACME)
    assert (answer.status_code, answer.json()) == (201, {})
    assert authorize(web, "acme", "kim")[1]["remaining"] == 4
    answer = web.get(EVERYWHERE, headers=AUTH)
    assert (answer.text, answer.headers["content-type"]) == (
        ACME, "application/yaml")
    # Larger limits, as JSON: what was used stays used.
    more = {"children": {"*": {"limits": {"count": 9, "period": "1d"}}}}
    answer = put(web, json.dumps(more), headers={
        **AUTH, "content-type": "application/json; charset=utf-8"})
    assert (answer.status_code, answer.json()) == (200, {})
    status, decision = authorize(web, "acme", "kim")
    assert (status, decision["limit"]) == (200, 9)
    assert web.delete(EVERYWHERE, headers=AUTH).json() == {}
    assert authorize(web, "acme", "kim")[0] == 404
    assert "no top-level name" in problem(
        web.delete(EVERYWHERE, headers=AUTH), 404)


def test_mistakes_change_nothing(web):
    put(web, ACME)
    assert problem(put(web, "limits: {count: 0, period: 1d}\nchildrn: {}"),
                   400).split("\n") == [
        "acme:1:17: count must be greater than 0, is 0",
        'acme:2:1: unknown key of a node "childrn", did you mean '
        '"children"?']
    assert "no file can be named here" in problem(
        put(web, ACME + "\noverrides: /etc/passwd.csv"), 400)
    for text in ("", "[", "a: &x 1", "limits: \xff", "- 1", "x: " * 40_000):
        status = 413 if len(text) > 65_536 else 400
        problem(web.put(EVERYWHERE, content=text.encode("latin-1"),
                        headers=YAML), status)
    assert web.get(EVERYWHERE, headers=AUTH).text == ACME
    assert authorize(web, "acme", "kim")[1]["limit"] == 5


def test_names_of_the_file_are_its_own(web):
    assert "is a name of the limits file" in problem(
        put(web, ACME, "/v1/limits/user"), 409)
    problem(web.delete("/v1/limits/user", headers=AUTH), 404)
    problem(web.get("/v1/limits/user", headers=AUTH), 404)


def test_names_in_the_path(web):
    assert put(web, "limits: 5/day", "/v1/limits/a%20b%2Fc").status_code == 201
    assert authorize(web, "a b/c")[1]["remaining"] == 4
    for name in ("%00", "%ff", "n" * 256):
        problem(put(web, "limits: 5/day", f"/v1/limits/{name}"), 400)
    for path in ("/v1/limits", "/v1/limits/"):
        assert put(web, "limits: 5/day", path).status_code == 404


def test_a_wrong_escape_in_the_path(service_with_token):
    for name in ("%zz", "%2", "a%", "%g0"):
        connection = http.client.HTTPConnection(
            service_with_token.http[0].removeprefix("http://"), timeout=60)
        connection.request("PUT", f"/v1/limits/{name}", ACME, YAML)
        answer = connection.getresponse()
        assert (answer.status, json.load(answer)["detail"]) == (
            400, "the name has a wrong %XX")
        connection.close()


def test_what_else_is_refused(web):
    for headers in ({}, {"authorization": "Bearer x"},
                    {"authorization": f"Bearer {TOKEN}x"}):
        for method in ("GET", "PUT", "DELETE"):
            answer = web.request(method, EVERYWHERE, headers={
                **headers, "content-type": "application/yaml"})
            assert "--admin-token-file" in problem(answer, 401)
            assert answer.headers["www-authenticate"] == "Bearer"
    problem(put(web, ACME, headers={**AUTH, "content-type": "text/plain"}), 415)
    problem(put(web, ACME, headers=AUTH), 415)
    answer = web.post(EVERYWHERE, content=ACME, headers=YAML)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD, PUT, DELETE"
    answer = put(web, ACME, headers={**YAML, "origin": "https://evil.example"})
    assert answer.status_code == 403
    assert authorize(web, "acme", "kim")[0] == 404


def test_without_a_token_nobody_may(serve):
    service = serve("--http-listen", "127.0.0.1:0")
    with httpx.Client(base_url=service.http[0]) as web:
        for headers in (YAML, {"content-type": "application/yaml"}):
            assert "--admin-token-file" in problem(
                put(web, ACME, headers=headers), 403)


def test_names_stay_when_the_file_is_read_again(web, service_with_token,
                                                limits):
    put(web, ACME)
    authorize(web, "acme", "kim", cost=3)
    limits.write_text("schema: {user: {limits: 7/day}}")
    service_with_token.process.send_signal(signal.SIGHUP)
    until = time.monotonic() + 60
    while authorize(web, "user")[1].get("limit") != 7:
        assert time.monotonic() < until
        time.sleep(0.05)
    assert authorize(web, "acme", "kim")[1]["remaining"] == 1
    # A file that has the name, too, changes nothing.
    limits.write_text("schema: {acme: {limits: 1/day}}")
    service_with_token.process.send_signal(signal.SIGHUP)
    service_with_token.wait_for('"acme" is a top-level name of these limits')
    assert authorize(web, "user")[1]["limit"] == 7


def test_many_at_once(service_with_token):
    def run(number):
        with httpx.Client(base_url=service_with_token.http[0],
                          timeout=60) as web:
            own, left = f"/v1/limits/n{number}", []
            for _ in range(10):
                assert put(web, ACME, own).status_code == 201
                left.append(authorize(web, f"n{number}", "a")[1]["remaining"])
                assert put(web, ACME).status_code in (200, 201)
                assert web.delete(own, headers=AUTH).status_code == 200
                assert authorize(web, f"n{number}", "a")[0] == 404
            return left

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for left in pool.map(run, range(4)):
            assert left == [4, 3, 2, 1, 0, 0, 0, 0, 0, 0]


def multiplied(names):
    """Each of 120 names inherits all of these."""
    below = ", ".join(f"n{i}: {{}}" for i in range(names))
    more = ", ".join(f"m{i}: {{children: {{z: {{}}}}}}" for i in range(120))
    return f'children: {{"*": {{children: {{{below}}}}}, {more}}}'


def test_what_texts_stand_for_is_bounded(service_with_token):
    with httpx.Client(base_url=service_with_token.http[0], timeout=60) as web:
        assert ('overrides and "*" multiply to more than 20000 nodes'
                in problem(put(web, multiplied(3000)), 400))
        before = service_with_token.memory()
        kept = 0
        while (answer := put(web, multiplied(150), f"/v1/limits/l{kept}")
               ).status_code == 201:
            kept += 1
            assert kept < 1000
        assert ("would take more than 268435456 bytes"
                in problem(answer, 507))
        assert kept > 50
        assert service_with_token.memory() - before < 400_000_000
        problem(web.get(f"/v1/limits/l{kept}", headers=AUTH), 404)
        assert web.delete("/v1/limits/l0", headers=AUTH).status_code == 200
        assert put(web, ACME).status_code == 201


def test_names_are_bounded(service_with_token):
    with httpx.Client(base_url=service_with_token.http[0], timeout=60) as web:
        large = "limits: 5/day" + "\n#" * 32_000
        kept = 0
        while (answer := put(web, large, f"/v1/limits/l{kept}")
               ).status_code == 201:
            kept += 1
            assert kept < 2000
        assert "bytes together" in problem(answer, 507)
        assert kept == 67_108_864 // (len(large) + 4)
        assert put(web, ACME, "/v1/limits/l0").status_code == 200
        assert put(web, large, "/v1/limits/l0").status_code == 200
        assert authorize(web, f"l{kept - 1}")[1]["remaining"] == 4
