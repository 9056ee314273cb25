"""Who may do what: the admin token, certificates of clients, the names of this
machine, and pages of other sites."""

import ssl

import grpc
import httpx
import pytest
from authority import Authority
from google.protobuf import json_format
from service import (
    descriptors_grpc, error_of, fails, path, pb, pb_grpc, request, rls)

TOKEN = "a-token-of-24-characters"
PATHS = {"paths": [["user", "alex"]]}
#: On all addresses, so that a token is needed; the tests use 127.0.0.1.
ANYWHERE = "0.0.0.0:0"
CHANGES = ["reset", "refund", "spend"]
UNAUTHENTICATED = grpc.StatusCode.UNAUTHENTICATED


@pytest.fixture(name="token_file")
def make_token_file(tmp_path):
    file = tmp_path / "token"
    file.write_text(f"{TOKEN}\nwhat follows does not count\n", "ascii")
    return file


@pytest.fixture(name="client", params=[False, True], ids=["http1", "http2"])
def make_client(request):
    """Makes clients of a service, with HTTP/1.1 or HTTP/2."""
    clients = []

    def make(url, **options):
        clients.append(httpx.Client(base_url=url, http1=not request.param,
                                    http2=request.param, **options))
        return clients[-1]

    yield make
    for one in clients:
        one.close()


def bearer(token):
    return {"authorization": f"Bearer {token}"}


def call(service, name, token=None, scheme="Bearer"):
    """Calls a method of gRPC; its answer, or its code."""
    message = (pb.ResetRequest(segments=["user", "alex"]) if name == "Reset"
               else request("user", "alex"))
    metadata = token and [("authorization", f"{scheme} {token}")]
    try:
        return getattr(service.limiter(), name)(message, metadata=metadata)
    except grpc.RpcError as error:
        return error.code()


# ---- The token --------------------------------------------------------------

def test_changes_beyond_loopback_need_the_token(serve, client, token_file):
    service = serve("--http-listen", ANYWHERE, "--admin-token-file",
                    token_file)
    web = client(service.http[0])
    for name in CHANGES:
        for headers in ({}, {"authorization": "Bearer"}, bearer(TOKEN[:-1]),
                        bearer("x" * 24),
                        bearer(TOKEN + "x"), {"authorization": TOKEN},
                        {"authorization": f"Basic {TOKEN}"}):
            answer = web.post(f"/v1/{name}", json=PATHS, headers=headers)
            assert answer.status_code == 401, (name, headers)
            assert answer.headers["www-authenticate"] == "Bearer"
            assert answer.headers["content-type"] == "application/problem+json"
            assert "--admin-token-file" in answer.json()["detail"]
        answer = web.post(f"/v1/{name}", json=PATHS, headers=bearer(TOKEN))
        assert answer.status_code == 200
    for name in ("authorize", "peek"):
        assert web.post(f"/v1/{name}", json=PATHS).status_code == 200


def test_changes_over_grpc_need_the_token(serve, token_file):
    service = serve("--admin-token-file", token_file, listen=ANYWHERE)
    for name in ("Reset", "Refund", "Spend"):
        assert call(service, name) == UNAUTHENTICATED
        assert call(service, name, TOKEN[:-1]) == UNAUTHENTICATED
        assert call(service, name, TOKEN, "Basic") == UNAUTHENTICATED
        assert not isinstance(call(service, name, TOKEN), grpc.StatusCode)
        # The scheme may be written in any case.
        assert not isinstance(call(service, name, TOKEN, "bearer"),
                              grpc.StatusCode)
        assert call(service, name) == UNAUTHENTICATED
    for name in ("Authorize", "Peek"):
        assert not call(service, name).limited


def test_a_reset_of_descriptors_needs_the_token(serve, client, token_file):
    service = serve("--http-listen", ANYWHERE, "--admin-token-file",
                    token_file, listen=ANYWHERE)
    web = client(service.http[0])
    asked = {"domain": "d", "descriptors": [{"entries": [{"key": "a"}]}]}
    for headers, status in (({}, 401), (bearer("x" * 24), 401),
                            (bearer(TOKEN), 200)):
        answer = web.post("/v1/descriptors/reset", json=asked, headers=headers)
        assert answer.status_code == status
    assert web.post("/v1/descriptors/peek", json=asked).status_code == 200
    stub = descriptors_grpc.DescriptorsStub(service.channel())
    message = json_format.ParseDict(asked, rls.RateLimitRequest())
    assert error_of(lambda: stub.Reset(message))[0] == UNAUTHENTICATED
    stub.Reset(message, metadata=[("authorization", f"Bearer {TOKEN}")])
    assert stub.Peek(message).overall_code == rls.RateLimitResponse.OK


def test_without_a_token_nobody_changes_buckets_from_elsewhere(serve):
    service = serve("--http-listen", ANYWHERE, listen=ANYWHERE)
    for name in CHANGES:
        for headers in ({}, {"authorization": "Bearer"}, bearer("x")):
            answer = httpx.post(f"{service.http[0]}/v1/{name}", json=PATHS,
                                headers=headers)
            assert answer.status_code == 401
    code, message = error_of(lambda: service.limiter().Reset(
        pb.ResetRequest(segments=["user", "alex"])))
    assert code == UNAUTHENTICATED
    assert "--admin-token-file" in message


def test_who_is_on_this_machine_needs_no_token(serve, token_file, tmp_path):
    service = serve("--http-listen", "127.0.0.1:0", "--http-listen",
                    f"unix:{tmp_path}/web", "--listen", f"unix:{tmp_path}/s",
                    "--admin-token-file", token_file)
    with httpx.Client(transport=httpx.HTTPTransport(
            uds=f"{tmp_path}/web")) as web:
        for name in CHANGES:
            assert httpx.post(f"{service.http[0]}/v1/{name}",
                              json=PATHS).status_code == 200
            assert web.post(f"http://any.example/v1/{name}",
                            json=PATHS).status_code == 200
    with grpc.insecure_channel(f"unix:{tmp_path}/s") as channel:
        limiter = pb_grpc.LimiterStub(channel)
        limiter.Reset(pb.ResetRequest(segments=["user", "alex"]))
        limiter.Spend(pb.DecideRequest(paths=[path("user", "alex")]))


def test_the_token_is_read_again(serve, token_file):
    service = serve("--http-listen", ANYWHERE, "--admin-token-file",
                    token_file)

    def status(token):
        return httpx.post(f"{service.http[0]}/v1/reset", json=PATHS,
                          headers=bearer(token)).status_code

    assert status(TOKEN) == 200
    other = token_file.with_name("other")
    other.write_text("another-token-than-before", "ascii")
    other.replace(token_file)
    service.wait_for("the admin token is reloaded")
    assert status(TOKEN) == 401
    assert status("another-token-than-before") == 200
    token_file.write_text("short\n", "ascii")
    service.wait_for(f"error: {token_file}: the first line must be a token")
    service.wait_for("the admin token is as before")
    assert status("short") == 401
    assert status("another-token-than-before") == 200


@pytest.mark.parametrize("content", [
    None, "", "\n", "15-characters--", "with a space in it",
    "umlauts-\xe4\xf6\xfc-1234"])
def test_what_is_no_token_ends_the_start(limits, tmp_path, content):
    file = tmp_path / "token"
    if content is not None:
        file.write_text(content, "utf-8")
    line, = fails(limits, "--listen", "127.0.0.1:0", "--admin-token-file",
                  file, code=1)
    assert str(file) in line
    assert TOKEN not in line


# ---- Certificates of clients ------------------------------------------------

@pytest.fixture(name="mutual", scope="module")
def make_mutual(tmp_path_factory):
    """An authority, and the options that ask for its certificates."""
    authority = Authority(tmp_path_factory.mktemp("access") / "one")
    cert, key = authority.sign("server", "DNS:localhost,IP:127.0.0.1")
    return authority, ["--tls-cert", cert, "--tls-key", key,
                       "--tls-client-ca", authority.cert]


@pytest.mark.parametrize("option", ["--http-listen", "--admin-listen"])
@pytest.mark.parametrize("address", [":0", "0.0.0.0:0", "[::]:0"])
def test_plain_http_beside_mutual_tls_must_be_said(limits, mutual, option,
                                                   address):
    line, = fails(limits, *mutual[1], option, address, code=1)
    assert line == (f"limitree: {address} would answer clients without a "
                    "certificate; use --https-listen, a loopback address or "
                    "--plain-http")


def test_plain_http_that_was_said(serve, mutual):
    service = serve(*mutual[1], "--http-listen", ANYWHERE, "--plain-http")
    url = f"{service.http[0]}/v1"
    assert httpx.post(f"{url}/authorize", json=PATHS).status_code == 200
    assert httpx.post(f"{url}/reset", json=PATHS).status_code == 401


def test_plain_http_for_this_machine(serve, mutual, tmp_path):
    service = serve(*mutual[1], "--http-listen", "127.0.0.1:0",
                    "--http-listen", f"unix:{tmp_path}/s", "--admin-listen",
                    "127.0.0.1:0", "--metrics-listen", ANYWHERE)
    assert httpx.get(f"{service.http[0]}/healthcheck").status_code == 200


def test_the_default_address_is_for_this_machine(serve, mutual, limits):
    # The variable leaves the other addresses as they are by default.
    service = serve(*mutual[1], limits=limits, listen=None,
                    env={"GRPC_PORT": "0", "DEBUG_PORT": "0"}, waits=True)
    line = service.wait_for("8080")
    assert "http://127.0.0.1:8080" in line or (
        "listen on 127.0.0.1:8080: address already in use" in line)


def test_variables_of_the_original_must_say_it_too(limits, mutual):
    cert, key, ca = map(str, mutual[1][1::2])
    line, = fails(limits, code=1, GRPC_SERVER_USE_TLS="true",
                  GRPC_SERVER_TLS_CERT=cert, GRPC_SERVER_TLS_KEY=key,
                  GRPC_CLIENT_TLS_CACERT=ca, PORT="0")
    assert line.startswith("limitree: :0 would answer clients without")


def test_who_has_a_certificate_needs_no_token(serve, mutual, token_file,
                                              client):
    authority, words = mutual
    cert, key = authority.sign("client", "DNS:client")
    service = serve(*words, "--https-listen", ANYWHERE, "--admin-token-file",
                    token_file, listen=ANYWHERE)
    url = service.http[0].replace("0.0.0.0", "127.0.0.1")
    trusting = ssl.create_default_context(cafile=authority.cert)
    with pytest.raises(httpx.TransportError):
        client(url, verify=trusting).post("/v1/reset", json=PATHS)
    trusting.load_cert_chain(cert, key)
    web = client(url, verify=trusting)
    for name in CHANGES:
        assert web.post(f"/v1/{name}", json=PATHS).status_code == 200
    channel = grpc.secure_channel(
        service.target.replace("0.0.0.0", "127.0.0.1"),
        grpc.ssl_channel_credentials(
            authority.cert.read_bytes(), key.read_bytes(),
            cert.read_bytes()))
    with channel:
        pb_grpc.LimiterStub(channel).Reset(
            pb.ResetRequest(segments=["user", "alex"]))


def test_tls_alone_is_no_certificate_of_a_client(serve, mutual, token_file):
    authority, words = mutual
    service = serve(*words[:4], "--https-listen", ANYWHERE,
                    "--admin-token-file", token_file)
    url = service.http[0].replace("0.0.0.0", "127.0.0.1")
    with httpx.Client(verify=ssl.create_default_context(
            cafile=authority.cert)) as web:
        assert web.post(f"{url}/v1/reset", json=PATHS).status_code == 401
        assert web.post(f"{url}/v1/reset", json=PATHS,
                        headers=bearer(TOKEN)).status_code == 200


# ---- Browsers ---------------------------------------------------------------

@pytest.fixture(name="local")
def make_local(serve):
    return serve("--http-listen", "127.0.0.1:0", "--admin-listen",
                 "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0",
                 "--http-host", "Limits.Example")


@pytest.mark.parametrize("content_type", [
    None, "text/plain", "application/x-www-form-urlencoded",
    "application/jsonp", "text/plain; application/json", "application",
    "multipart/form-data"])
def test_other_types_are_refused(local, client, content_type):
    web = client(local.http[0])
    headers = {} if content_type is None else {"content-type": content_type}
    for name in ("authorize", "peek", *CHANGES):
        answer = web.post(f"/v1/{name}", content=b'{"paths": [["huge", "x"]]}',
                          headers=headers)
        assert answer.status_code == 415
        assert answer.json()["detail"] == (
            "the content-type must be application/json")


@pytest.mark.parametrize("content_type", [
    "application/json", "Application/JSON; charset=utf-8",
    "application/json ;charset=utf-8"])
def test_json_is_taken(local, client, content_type):
    answer = client(local.http[0]).post(
        "/v1/peek", content=b'{"paths": [["huge", "x"]]}',
        headers={"content-type": content_type})
    assert answer.status_code == 200


@pytest.mark.parametrize("headers", [
    {"origin": "http://evil.example", "sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "cross-site"}, {"sec-fetch-site": "same-site"},
    {"origin": "http://evil.example"}, {"origin": "null"},
    {"origin": "http://localhost:1"}])
def test_pages_of_other_sites_may_not_ask(local, client, headers):
    web = client(local.http[0])
    for place in ("/v1/reset", "/v1/authorize", "/json"):
        answer = web.post(place, json=PATHS, headers=headers)
        assert answer.status_code == 403
        assert answer.text == "pages of other sites may not ask\n"
    # A link to a page is fine.
    assert web.get("/healthcheck", headers=headers).status_code == 200


def test_pages_of_the_same_site_may_ask(local, client):
    web = client(local.http[0])
    for headers in ({"sec-fetch-site": "same-origin"},
                    {"sec-fetch-site": "none"}, {"origin": local.http[0]},
                    # As a proxy in front of the service changes the host.
                    {"sec-fetch-site": "same-origin",
                     "origin": "https://app.example"}):
        assert web.post("/v1/peek", json=PATHS,
                        headers=headers).status_code == 200


@pytest.mark.parametrize("host, known", [
    ("localhost", True), ("LOCALHOST:8080", True), ("localhost.", True),
    ("127.0.0.1", True), ("127.8.7.6:80", True), ("[::1]", True),
    ("[::1]:8080", True), ("limits.example:80", True), ("evil.example", False),
    ("localhost.evil.example", False), ("127.0.0.1.evil.example", False),
    ("128.0.0.1", False), ("[::2]", False), ("::1", False),
    ("xlimits.example", False), ("127.1", False)])
def test_only_names_of_this_machine_are_served(local, client, host, known):
    status = 200 if known else 403
    for url, place in ((local.http[0], "/healthcheck"),
                       (local.admin[0], "/limits"), (local.admin[0], "/"),
                       (local.metrics[0], "/metrics")):
        answer = client(url).get(place, headers={"host": host})
        assert answer.status_code == status, (url, place)
    answer = client(local.http[0]).post("/v1/peek", json=PATHS,
                                        headers={"host": host})
    assert answer.status_code == status
    if not known:
        assert "--http-host" in answer.text


def test_any_name_is_served_beyond_loopback(serve, client):
    service = serve("--http-listen", ANYWHERE)
    answer = client(service.http[0]).get("/healthcheck",
                                         headers={"host": "limits.example"})
    assert answer.status_code == 200


# ---- What clients learn of the store ----------------------------------------

def test_only_the_log_says_where_the_store_is(serve, descriptors):
    file = descriptors("domain: d\ndescriptors:\n"
                       "- key: a\n"
                       "  rate_limit: {unit: day, requests_per_unit: 5}\n")
    service = serve("--http-listen", "127.0.0.1:0", "--descriptors", file,
                    "--store", "redis://someone:secret@127.0.0.1:1", "--set",
                    "on_store_error=raise", "--workers", 1)
    for name in ("authorize", "reset"):
        answer = httpx.post(f"{service.http[0]}/v1/{name}", json=PATHS)
        assert answer.status_code == 503
        assert answer.json()["detail"] == "the store does not answer"
    answer = httpx.post(f"{service.http[0]}/json", json={
        "domain": "d", "descriptors": [{"entries": [{"key": "a"}]}]})
    assert (answer.status_code, answer.text) == (
        503, "Service Unavailable: the store does not answer\n")
    assert error_of(lambda: service.limiter().Authorize(
        request("user", "alex"))) == (grpc.StatusCode.UNAVAILABLE,
                                      "the store does not answer")
    line = service.wait_for("error: ")
    assert "127.0.0.1:1" in line and "secret" not in line
    # Not one for each request.
    for _ in range(50):
        httpx.post(f"{service.http[0]}/v1/authorize", json=PATHS)
    assert sum("127.0.0.1:1" in line for line in service.lines) <= 2
