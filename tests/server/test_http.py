"""HTTP: /v1 and /healthcheck, over HTTP/1.1 and HTTP/2."""

import http.client
import json
import shutil
import signal
import socket
import struct
import subprocess
import threading

import httpx
import pytest
from raw import connect_to
from servers import redis_server, suspended
from service import eventually

TRADE = {"paths": [["user", "alex", "trade"]]}
LOOK = {**TRADE, "cost": 0}
HTTP2 = [False, True]
JSON = {"content-type": "application/json"}


@pytest.fixture(name="web")
def make_web(serve):
    return serve("--http-listen", "127.0.0.1:0", "--admin-listen",
                 "127.0.0.1:0")


@pytest.fixture(name="client", params=HTTP2, ids=["http1", "http2"])
def make_client(request, web):
    with httpx.Client(base_url=web.http[0], http1=not request.param,
                      http2=request.param) as client:
        yield client


def all_of(connection):
    """What comes until the server closes."""
    data = b""
    while block := connection.recv(65536):
        data += block
    return data.decode()


# ---- /v1 --------------------------------------------------------------------

def test_authorize(client):
    answer = client.post("/v1/authorize", json=TRADE)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["ratelimit-policy"] == (
        '"user:*";q=100;w=3600, "user:*/trade";q=3;w=3600')
    assert answer.headers["ratelimit"].endswith(
        ', "user:*/trade";r=2;t=1200')
    assert "date" in answer.headers
    decision = answer.json()
    assert not decision["limited"] and decision["remaining"] == 2
    assert "retry_after_ns" not in decision
    assert [level["policy"] for level in decision["levels"]] == [
        "user:*", "user:*/trade"]
    assert all(level["charged"] for level in decision["levels"])
    for _ in range(2):
        client.post("/v1/authorize", json=TRADE)
    answer = client.post("/v1/authorize", json=TRADE)
    assert answer.status_code == 429
    assert 0 < int(answer.headers["retry-after"]) <= 1200
    decision = answer.json()
    assert decision["limited"] and decision["level"] == 1
    assert 0 < decision["retry_after_ns"] <= 1200 * 10**9
    assert not decision["levels"][0]["charged"]


def test_the_sisters(client):
    def ask(operation, body=None):
        answer = client.post(f"/v1/{operation}", json=body or TRADE)
        return answer.status_code, answer.json().get("remaining")

    assert ask("peek", LOOK) == (200, 3)
    assert ask("spend", {**TRADE, "cost": 5}) == (200, 0)
    assert ask("peek") == (429, 0)
    assert ask("refund", {**TRADE, "cost": 2}) == (200, 2)
    assert ask("authorize", {**TRADE, "cost": 2}) == (200, 0)
    assert ask("reset") == (200, None)
    assert ask("peek", LOOK) == (200, 3)


def test_several_paths(client):
    body = {"paths": [["user", "a"], {"segments": ["user", "b"], "cost": 7}],
            "cost": 2}
    answer = client.post("/v1/authorize", json=body).json()
    assert [(level["path"], level["cost"]) for level in answer["levels"]] == [
        (0, 2), (1, 7)]
    answer = client.post("/v1/peek", json={**body, "omit_levels": True})
    assert "levels" not in answer.json()
    assert answer.json()["level_count"] == 2
    assert '"user:*"' in answer.headers["ratelimit"]


def test_reset_of_the_leaf_only(client):
    client.post("/v1/authorize", json=TRADE)
    client.post("/v1/reset", json={**TRADE, "leaf_only": True})
    levels = client.post("/v1/peek", json=LOOK).json()["levels"]
    assert [level["remaining"] for level in levels] == [99, 3]


def test_no_limit(client):
    answer = client.post("/v1/authorize", json={"paths": [["free"]]})
    assert answer.status_code == 200 and answer.json()["unlimited"]
    assert "ratelimit" not in answer.headers


@pytest.mark.parametrize("body, status, detail", [
    ("", 400, "no valid JSON at byte 1"),
    ("{", 400, "no valid JSON at byte 2"),
    ("{}", 400, "the request: has no paths"),
    ('{"paths": [["user"]], "hits": 1}', 400, "hits: there is no such field"),
    ('{"paths": [[]]}', 400, "the path is empty"),
    ('{"paths": [["none", "x"]]}', 404,
     'unknown root "none", the tree has: user, free, huge'),
    ('{"paths": [["user"]]}', 400,
     "the path ends at user, which has no limits; an id is missing"),
    (json.dumps({"paths": [["user", "alex"]] * 4097}), 400,
     "there are 4097 paths, the most is 4096"),
], ids=["empty", "open", "nothing", "unknown", "no segments", "root", "no id",
        "many"])
def test_mistakes(client, body, status, detail):
    for operation in ("authorize", "reset"):
        answer = client.post(f"/v1/{operation}", content=body,
                             headers=JSON)
        assert answer.status_code == status
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"] == detail
        assert answer.json()["status"] == status


def test_paths_and_methods(client):
    answer = client.get("/v1/authorize")
    assert answer.status_code == 405 and answer.headers["allow"] == "POST"
    assert client.post("/v1/none", json=TRADE).status_code == 404
    assert client.get("/v1/authorize/").status_code == 404
    answer = client.post("/healthcheck")
    assert answer.status_code == 405 and answer.headers["allow"] == "GET, HEAD"
    assert client.get("/healthcheck?x=1").text == "OK"
    answer = client.head("/healthcheck")
    assert answer.status_code == 200 and answer.text == ""
    assert answer.headers["content-length"] == "2"


def test_large_requests_and_answers(client):
    paths = [["user", f"u{i}" + "x" * 1000] for i in range(1000)]
    answer = client.post("/v1/authorize", json={"paths": paths})
    assert answer.status_code == 200 and len(answer.json()["levels"]) == 1000
    answer = client.post("/v1/authorize", content=b" " * (4 * 1024 * 1024 + 1))
    assert answer.status_code == 413


def test_a_header_that_is_too_large(web):
    large = {"x": "y" * 17 * 1024}
    answer = httpx.get(f"{web.http[0]}/healthcheck", headers=large)
    assert answer.status_code == 431
    with httpx.Client(http1=False, http2=True) as client:
        with pytest.raises(httpx.RemoteProtocolError):
            client.get(f"{web.http[0]}/healthcheck", headers=large)
        assert client.get(f"{web.http[0]}/healthcheck").text == "OK"


def test_the_style_of_the_headers(serve):
    service = serve("--http-listen", "127.0.0.1:0", "--http-headers", "draft-6")
    answer = httpx.post(f"{service.http[0]}/v1/authorize", json=TRADE)
    assert answer.headers["ratelimit-remaining"] == "2"
    assert answer.headers["ratelimit-reset"] == "1200"
    service = serve("--http-listen", "127.0.0.1:0", "--http-headers", "none")
    answer = httpx.post(f"{service.http[0]}/v1/authorize", json=TRADE)
    assert "ratelimit" not in " ".join(answer.headers)


def test_grpc_and_http_share_the_buckets(web):
    for i in range(3):
        answer = httpx.post(f"{web.http[0]}/v1/authorize", json=TRADE)
        assert answer.json()["remaining"] == 2 - i
    from service import request
    assert web.limiter().Authorize(request("user", "alex", "trade")).limited


def test_many_clients(web):
    """Each of them gets its own answers, in order."""
    failed = []

    def ask(name, http2):
        with httpx.Client(base_url=web.http[0], http1=not http2,
                          http2=http2) as client:
            for i in range(50):
                body = {"paths": [["user", name]]}
                left = client.post("/v1/authorize", json=body).json()
                if left["remaining"] != 99 - i:
                    failed.append((name, i, left))

    threads = [threading.Thread(target=ask, args=(f"t{i}", i % 2 == 0))
               for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failed


# ---- /json ------------------------------------------------------------------

ASK = {"domain": "none", "descriptors": [{"entries": [
    {"key": "a", "value": "b"}]}]}


def test_json_takes_any_method(client):
    for method in ("POST", "PUT", "GET"):
        answer = client.request(method, "/json", json=ASK)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/json"
        assert answer.json() == {"overallCode": "OK",
                                 "statuses": [{"code": "OK"}]}


def test_a_limit_in_a_request_needs_a_known_domain(client):
    limit = {"requestsPerUnit": 1, "unit": "HOUR"}
    body = {"domain": "none", "hits_addend": "2",
            "descriptors": [{**ASK["descriptors"][0], "limit": limit}]}
    assert client.post("/json", json=body).json()["overallCode"] == "OK"


@pytest.mark.parametrize("body, what", [
    ("", "no valid JSON at byte 1"),
    ("{}", "rate limit domain must not be empty"),
    ('{"domain": "d"}', "rate limit descriptor list must not be empty"),
    ('{"domain": "d", "x": 1}', "x: there is no such field"),
], ids=["empty", "domain", "descriptors", "unknown"])
def test_mistakes_of_json(client, body, what):
    answer = client.post("/json", content=body)
    assert (answer.status_code, answer.text) == (400, f"Bad Request: {what}\n")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


# ---- A store that has to be asked -------------------------------------------

@pytest.fixture(name="redis")
def make_redis():
    with redis_server() as (url, process):
        yield url, process


@pytest.mark.parametrize("http2", HTTP2, ids=["http1", "http2"])
def test_decisions_in_redis(serve, redis, http2):
    services = [serve("--http-listen", "127.0.0.1:0", "--store", redis[0])
                for _ in range(2)]
    clients = [httpx.Client(base_url=service.http[0], http1=not http2,
                            http2=http2) for service in services]
    for i in range(3):
        answer = clients[i % 2].post("/v1/authorize", json=TRADE)
        assert answer.status_code == 200
        assert answer.json()["remaining"] == 2 - i
        assert [level["policy"] for level in answer.json()["levels"]] == [
            "user:*", "user:*/trade"]
        assert '"user:*/trade";r=' in answer.headers["ratelimit"]
    answer = clients[0].post("/v1/authorize", json=TRADE)
    assert answer.status_code == 429
    assert clients[1].post("/v1/reset", json=TRADE).json() == {}
    answer = clients[0].post("/v1/peek", json={**LOOK, "omit_levels": True})
    assert answer.json()["remaining"] == 3 and "levels" not in answer.json()
    for operation in ("authorize", "reset"):
        answer = clients[0].post(f"/v1/{operation}",
                                 json={"paths": [["nobody"]]})
        assert answer.status_code == 404
    for client in clients:
        client.close()


@pytest.mark.parametrize("policy, status", [("raise", 504), ("allow", 200)])
def test_a_store_that_hangs(serve, redis, policy, status):
    url, process = redis
    service = serve("--http-listen", "127.0.0.1:0", "--store", url, "--set",
                    "timeout=2s", "--set", f"on_store_error={policy}")
    with httpx.Client(base_url=service.http[0], timeout=60) as client:
        eventually(lambda: client.post(
            "/v1/peek", json=LOOK).status_code == 200)
        with suspended(process):
            answer = client.post("/v1/authorize", json=TRADE)
            assert answer.status_code in (status, 503 if status > 500 else 0)
            # Others are answered meanwhile.
            assert client.get("/healthcheck").text == "OK"


def test_clients_that_do_not_wait_for_redis(serve, redis):
    url, process = redis
    # Each worker connects to Redis when it is first asked.
    service = serve("--http-listen", "127.0.0.1:0", "--store", url, "--set",
                    "timeout=60s", "--drain-grace", "500ms", "--workers", 1)
    with httpx.Client(base_url=service.http[0]) as client:
        answer = client.post("/v1/authorize", json=TRADE)
        assert answer.status_code == 200
        # Without that of the client, which it closes.
        before = service.descriptors() - 1
    body = json.dumps(TRADE)
    one = (f"POST /v1/authorize HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Type: application/json\r\n"
           f"Content-Length: {len(body)}\r\n\r\n{body}").encode()
    with suspended(process):
        gone, late = [[connect_to(service.http[0]) for _ in range(5)]
                      for _ in range(2)]
        for connection in gone + late:
            connection.sendall(one)
        eventually(lambda: service.descriptors() >= before + 10)
        for connection in gone:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                  struct.pack("ii", 1, 0))
            connection.close()
        eventually(lambda: service.descriptors() <= before + 5)
        service.terminate()
        assert service.wait() == 0
        assert all(not connection.recv(1) for connection in late)


# ---- Other clients ----------------------------------------------------------

@pytest.mark.skipif(shutil.which("curl") is None, reason="needs curl")
@pytest.mark.parametrize("option", ["--http1.0", "--http1.1", "--http2",
                                    "--http2-prior-knowledge"])
def test_curl(web, option):
    done = subprocess.run(
        ["curl", "-s", option, "-w", " %{http_code}", "-H",
         "content-type: application/json", "-d", json.dumps(TRADE),
         f"{web.http[0]}/v1/authorize"], check=True, capture_output=True,
        text=True)
    body, _, code = done.stdout.rpartition(" ")
    assert code == "200" and json.loads(body)["remaining"] == 2


def test_http_client_of_python(web):
    connection = http.client.HTTPConnection(
        web.http[0].removeprefix("http://"))
    for expected in (2, 1, 0):
        # Without Content-Length, in chunks.
        connection.request("POST", "/v1/authorize",
                           iter([json.dumps(TRADE).encode()]),
                           encode_chunked=True,
                           headers={**JSON, "Transfer-Encoding": "chunked"})
        answer = connection.getresponse()
        assert json.load(answer)["remaining"] == expected
    connection.close()


def test_a_unix_socket(serve, tmp_path):
    service = serve("--http-listen", f"unix:{tmp_path}/http", "--workers", 2)
    assert service.http == [f"http://unix:{tmp_path}/http"]
    transport = httpx.HTTPTransport(uds=f"{tmp_path}/http")
    with httpx.Client(transport=transport) as client:
        assert client.get("http://x/healthcheck").text == "OK"
    service.terminate()
    assert service.wait() == 0
    assert not (tmp_path / "http").exists()


# ---- Bytes ------------------------------------------------------------------

def test_pipelined_requests_are_answered_in_order(web):
    body = json.dumps(TRADE)
    one = (f"POST /v1/authorize HTTP/1.1\r\nHost: localhost\r\n"
           "Content-Type: application/json\r\n"
           f"Content-Length: {len(body)}\r\n\r\n{body}")
    connection = connect_to(web.http[0])
    connection.sendall((one * 5 + "GET /healthcheck HTTP/1.1\r\n"
                        "Host: localhost\r\n"
                        "Connection: close\r\n\r\n").encode())
    answers = all_of(connection).split("HTTP/1.1 ")[1:]
    assert [answer[:3] for answer in answers] == [
        "200", "200", "200", "429", "429", "200"]
    assert [json.loads(answer.partition("\r\n\r\n")[2])["remaining"]
            for answer in answers[:5]] == [2, 1, 0, 0, 0]
    assert answers[5].endswith("\r\n\r\nOK")


def test_expect_100_continue(web):
    body = json.dumps(TRADE).encode()
    connection = connect_to(web.http[0])
    connection.sendall(b"POST /v1/authorize HTTP/1.1\r\nHost: localhost\r\n"
                       b"Content-Type: application/json\r\n"
                       b"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n"
                       % len(body))
    assert connection.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(body)
    assert connection.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")


@pytest.mark.parametrize("data, status", [
    (b"\x16\x03\x01\x02\x00\x01\xfc\x03", "400 Bad Request"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nContent-Length: x\r\n\r\n",
     "400 Bad Request"),
    (b"GET / HTTP/1.1\r\n\r\n", "400 Bad Request"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n"
     b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", "400 Bad Request"),
    (b"GET / HTTP/1.1\nHost x\n\n", "400 Bad Request"),
    (b"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n", "400 Bad Request"),
    (b"GET / HTTP/1.1\r\nHost: x\r\n: b\r\n\r\n", "400 Bad Request"),
    (b"POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
     "400 Bad Request"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"
     b"0\r\n\r\n", "501 Not Implemented"),
    (b"\xff" * 100_000, "400 Bad Request"),
    (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
     "431 Request Header Fields Too Large"),
    (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4194305\r\n\r\n",
     "413 Content Too Large"),
    (b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", "501 Not Implemented"),
    (b"GET / HTTP/3.0\r\nHost: x\r\n\r\n", "400 Bad Request"),
], ids=["tls", "length", "host", "smuggling", "colon", "fold",
        "nameless", "old-chunks", "coding", "ones", "target",
        "body", "connect", "version"])
def test_what_is_malformed_is_refused(web, data, status):
    connection = connect_to(web.http[0])
    connection.sendall(data)
    answer = all_of(connection)
    assert answer.startswith(f"HTTP/1.1 {status}\r\n"), answer
    assert "\r\nConnection: close\r\n" in answer
    assert answer.count("HTTP/1.1 ") == 1
    assert httpx.get(f"{web.http[0]}/healthcheck").text == "OK"


def test_clients_that_go_leave_nothing_behind(web):
    before = web.descriptors()
    connections = [connect_to(web.http[0]) for _ in range(100)]
    for i, connection in enumerate(connections):
        connection.sendall(b"POST /v1/authorize HTTP/1.1\r\n"
                           b"Host: localhost\r\n"
                           b"Content-Type: application/json\r\n"
                           b"Content-Length: 100\r\n\r\n{"[:i * 3 % 90])
    eventually(lambda: web.descriptors() >= before + 100)
    for connection in connections:
        connection.close()
    eventually(lambda: web.descriptors() <= before)


# ---- Its life ---------------------------------------------------------------

def test_health_tells_that_the_service_ends(serve):
    service = serve("--http-listen", "127.0.0.1:0", "--drain-delay", "60s")
    with httpx.Client(base_url=service.http[0]) as client:
        assert client.get("/healthcheck").text == "OK"
        service.terminate()
        service.wait_for("draining")
        eventually(lambda: client.get("/healthcheck").status_code == 500)
        assert client.get("/healthcheck").text == ""
        answer = client.get("/livez")
        assert (answer.status_code, answer.text) == (200, "OK")
        # It still decides.
        answer = client.post("/v1/authorize", json=TRADE)
        assert answer.status_code == 200
        assert answer.headers["connection"] == "keep-alive"
    service.signal(signal.SIGTERM)
    assert service.wait() == 0


def test_draining_loses_no_request(serve):
    service = serve("--http-listen", "127.0.0.1:0")
    failed, closed = [], []
    connected = threading.Barrier(9)

    def ask():
        connection = http.client.HTTPConnection(
            service.http[0].removeprefix("http://"))
        connection.connect()
        connected.wait()
        while True:
            connection.request("GET", "/healthcheck")
            answer = connection.getresponse()
            answer.read()
            if answer.getheader("connection") == "close":
                closed.append(1)
                return
            if answer.status not in (200, 500):
                failed.append(answer.status)
                return

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    connected.wait()
    service.terminate()
    for thread in threads:
        thread.join()
    assert not failed and len(closed) == 8
    assert service.wait() == 0


def takes_no_more(service):
    """Whether all workers have stopped listening."""
    try:
        connect_to(service.http[0]).close()
    except ConnectionRefusedError:
        return True
    except ConnectionResetError:
        pass  # it was in the queue of one that has stopped
    return False


def test_a_request_that_is_late_has_the_grace(serve):
    service = serve("--http-listen", "127.0.0.1:0")
    connection = connect_to(service.http[0])
    connection.sendall(b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\n")
    eventually(lambda: service.descriptors() > 0)
    httpx.get(f"{service.http[0]}/healthcheck")
    service.terminate()
    service.wait_for("draining")
    eventually(lambda: takes_no_more(service))
    connection.sendall(b"\r\n")
    answer = all_of(connection)
    assert answer.startswith("HTTP/1.1 500 ")
    assert "\r\nConnection: close\r\n" in answer
    assert service.wait() == 0


# ---- Admin ------------------------------------------------------------------

def test_the_admin_pages(web):
    httpx.post(f"{web.http[0]}/v1/authorize", json=TRADE)
    with httpx.Client(base_url=web.admin[0]) as client:
        pages = [line.split()[0] for line in client.get("/").text.splitlines()]
        assert pages == ["/", "/ui", "/limits", "/rlconfig", "/stats",
                         "/metrics"]
        for page in pages:
            assert client.get(page).status_code == 200
        assert "trade   3 per 1h" in client.get("/limits").text
        lines = client.get("/stats").text.splitlines()
        assert "limitree.allowed: 1" in lines
        assert "limitree.limit.user:*/trade.allowed: 1" in lines
        assert "ratelimit.service.config_load_success: 1" in lines
        assert lines == sorted(lines)
        answer = client.get("/metrics")
        assert answer.headers["content-type"] == (
            "text/plain; version=0.0.4; charset=utf-8")
        assert ('limitree_decisions_total{source="store",answer="allowed"} 1'
                in answer.text)
        assert "\nratelimit_service_config_load_success 1\n" in answer.text
        assert client.get("/healthcheck").status_code == 404
        assert client.post("/v1/authorize").status_code == 404
    assert httpx.get(f"{web.http[0]}/metrics").status_code == 404


def test_admin_over_http2(web):
    with httpx.Client(base_url=web.admin[0], http1=False, http2=True) as client:
        assert client.get("/stats").text.startswith("limitree.allowed: 0\n")
