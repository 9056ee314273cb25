"""Redis servers as the variables of envoyproxy/ratelimit name them."""

import contextlib
import socket
import subprocess

import grpc
import pytest
from authority import Authority
from servers import free_ports, redis_server
from service import error_of, eventually, rls

LIMITS = """\
domain: shop
descriptors:
  - key: second
    rate_limit: {unit: second, requests_per_unit: 1000000}
  - key: day
    rate_limit: {unit: day, requests_per_unit: 3}
"""


def cli(url, *words):
    path = url.removeprefix("redis+unix://")
    done = subprocess.run(["redis-cli", "-s", path, "--no-auth-warning",
                           *words], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def ask(service, *keys):
    """The codes of a request with these descriptors."""
    question = rls.RateLimitRequest(domain="shop", descriptors=[
        rls.Descriptor(entries=[rls.Descriptor.Entry(key=key, value="x")])
        for key in keys])
    answer = rls.Stub(service.channel()).ShouldRateLimit(question, timeout=60)
    return [status.code for status in answer.statuses]


OK, OVER = (rls.RateLimitResponse.OK, rls.RateLimitResponse.OVER_LIMIT)


@pytest.fixture(name="start")
def make_start(serve, descriptors):
    def start(url, *words, **env):
        env = {"REDIS_URL": url.removeprefix("redis+unix://"),
               "REDIS_TIMEOUT": "30s", **env}
        return serve("--descriptors", descriptors(LIMITS), *words,
                     limits=None, env=env)
    return start


def test_a_password_that_rotates(start, tmp_path):
    file = tmp_path / "password"
    with redis_server() as (url, _):
        cli(url, "CONFIG", "SET", "requirepass", "first-secret")
        file.write_text("first-secret\n", "ascii")
        service = start(url, REDIS_AUTH_FILE=str(file))
        assert ask(service, "day") == [OK]
        # What Vault does: a new password, and the end of old connections.
        cli(url, "-a", "first-secret", "CONFIG", "SET", "requirepass", "next")
        file.write_text("next", "ascii")
        cli(url, "-a", "next", "CLIENT", "KILL", "TYPE", "normal")
        eventually(lambda: outcome(service) == [OK])
        file.unlink()
        cli(url, "-a", "next", "CLIENT", "KILL", "TYPE", "normal")
        eventually(lambda: outcome(service) != [OK])
        service.wait_for(f"password_file: {file}: no such file or directory")
        assert not any(secret in line for line in service.lines
                       for secret in ("first-secret", "next"))


def outcome(service):
    """The codes of a request, or why there are none."""
    try:
        return ask(service, "second")
    except grpc.RpcError as error:
        return error.details()


def fails(serve, descriptors, **env):
    service = serve("--descriptors", descriptors(LIMITS), limits=None,
                    env=env, waits=True)
    assert service.wait() != 0
    return service.lines[-1]


def test_a_file_without_a_password_ends_the_start(serve, descriptors,
                                                  tmp_path):
    file = tmp_path / "password"
    file.write_text("\n", "ascii")
    for name, other in (("REDIS", {}), ("REDIS_PERSECOND", {
            "REDIS_PERSECOND": "true", "REDIS_PERSECOND_URL": "b:1"})):
        assert fails(serve, descriptors, REDIS_URL="a:1", **other, **{
            f"{name}_AUTH_FILE": str(file)}).endswith(
                f"password_file: {file}: is empty")


def test_limits_of_a_second_in_a_server_of_their_own(start):
    with redis_server() as (main, _), redis_server() as (other, process):
        service = start(
            main, REDIS_PERSECOND="true",
            REDIS_PERSECOND_URL=other.removeprefix("redis+unix://"))
        assert ask(service, "second", "day") == [OK, OK]
        assert "second" in cli(other, "KEYS", "*")
        assert "day" in cli(main, "KEYS", "*")
        assert cli(main, "DBSIZE") == cli(other, "DBSIZE") == "1"
        assert ask(service, "day") == [OK]
        # Without its server, only requests with a limit of a second fail.
        process.kill()
        process.wait()
        assert ask(service, "day") == [OK]
        assert ask(service, "day") == [OVER]
        code, _ = error_of(lambda: ask(service, "second", "day"))
        assert code in (grpc.StatusCode.UNAVAILABLE,
                        grpc.StatusCode.DEADLINE_EXCEEDED)
        assert ask(service, "day") == [OVER]


@pytest.fixture(name="authority", scope="module")
def make_authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("redis") / "one")


@contextlib.contextmanager
def redis_with_tls(cert, key):
    """The port of a server with this certificate."""
    port, = free_ports(1)
    with subprocess.Popen(
            ["redis-server", "--port", "0", "--tls-port", str(port), "--save",
             "", "--tls-cert-file", cert, "--tls-key-file", key,
             "--tls-ca-cert-file", cert, "--tls-auth-clients", "no"],
            stdout=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            eventually(lambda: accepts(port))
            yield port
        finally:
            process.kill()


def accepts(port):
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_another_name_may_be_passed_over_but_not_another_authority(
        start, authority, tmp_path_factory):
    cert, key = authority.sign("redis", "DNS:elsewhere.example")
    other = Authority(tmp_path_factory.mktemp("redis") / "other")
    with redis_with_tls(cert, key) as port:
        def trusting(ca, **env):
            return start(f"127.0.0.1:{port}", REDIS_TLS="true",
                         REDIS_SOCKET_TYPE="tcp",
                         REDIS_TLS_CACERT=str(ca.cert), **env)

        skip = {"REDIS_TLS_SKIP_HOSTNAME_VERIFICATION": "true"}
        service = trusting(authority)
        assert outcome(service) != [OK]
        service.wait_for("TLS: IP address mismatch")
        service = trusting(authority, **skip)
        eventually(lambda: outcome(service) == [OK])
        service = trusting(other, **skip)
        assert outcome(service) != [OK]
        service.wait_for("TLS: ")
