"""Addresses of clients; the tests of the core cover the walk past proxies."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import limitree
import no_deadline  # noqa: F401
from limitree import canonical_ip, client_ip
from limitree.errors import ClientGone


def scope(peer, *headers):
    return {"type": "http", "client": peer and (peer, 1234),
            "headers": [(b"host", b"a.example"), *headers]}


@pytest.mark.parametrize("text, expected", [
    ("192.0.2.1", "192.0.2.1"),
    (b"192.0.2.1:80", "192.0.2.1"),
    ("[2001:DB8::1]:443", "2001:db8::1"),
    ("::ffff:10.0.0.1", "10.0.0.1"),
    ("64:ff9b::10.0.0.1", "10.0.0.1"),
    ("fe80::1%eth0", "fe80::1"),
])
def test_canonical_ip_has_one_text(text, expected):
    assert canonical_ip(text) == expected


def test_canonical_ip_keeps_a_prefix_of_ipv6():
    assert canonical_ip("2001:db8:1:2:3::4", 64) == "2001:db8:1:2::"
    assert canonical_ip("192.0.2.1", ipv6_prefix=64) == "192.0.2.1"


@pytest.mark.parametrize("wrong, error", [
    ("localhost", ValueError), ("", ValueError), (b"\xff\xfe", ValueError),
    ("\ud800", ValueError), (None, TypeError), (1, TypeError),
])
def test_canonical_ip_refuses_what_is_none(wrong, error):
    with pytest.raises(error):
        canonical_ip(wrong)


def test_nobody_is_trusted_unless_told():
    client = client_ip()
    assert client("198.51.100.9", "203.0.113.5") == "198.51.100.9"
    assert client.of_environ({"REMOTE_ADDR": "198.51.100.9",
                              "HTTP_X_FORWARDED_FOR": "203.0.113.5"}
                             ) == "198.51.100.9"
    assert client.of_scope(scope("198.51.100.9",
                                 (b"x-forwarded-for", b"203.0.113.5"))
                           ) == "198.51.100.9"


def test_proxies_are_networks_or_counted():
    by_network = client_ip(trusted_proxies=["10.0.0.0/8"])
    by_count = client_ip(trusted_hops=1)
    for client in by_network, by_count:
        assert client("10.0.0.1", "1.1.1.1, 203.0.113.5:8080") == "203.0.113.5"
        assert client("10.0.0.1", [b"1.1.1.1", "203.0.113.5"]) == "203.0.113.5"
        assert client("10.0.0.1", ("unknown",)) == "10.0.0.1"
        assert client("10.0.0.1", None) == "10.0.0.1"
        assert client("10.0.0.1", []) == "10.0.0.1"
    assert by_network("192.0.2.1", "203.0.113.5") == "192.0.2.1"
    assert by_count("192.0.2.1", "203.0.113.5") == "203.0.113.5"


def test_many_lines_are_one_list():
    client = client_ip(trusted_proxies=["10.0.0.0/8"])
    lines = ["203.0.113.5"] + [f"10.0.0.{i}" for i in range(50)]
    assert client("10.0.0.99", lines) == "203.0.113.5"


def test_a_unix_socket_has_no_address():
    client = client_ip(trusted_proxies=["unix"])
    for peer in None, "", b"":
        assert client(peer, "203.0.113.5") == "203.0.113.5"
    assert client.of_scope(scope(None, (b"x-forwarded-for", b"203.0.113.5"))
                           ) == "203.0.113.5"
    for nobody in client, client_ip(), client_ip(trusted_hops=1):
        for peer in None, "", b"":
            with pytest.raises(ValueError, match="the peer has no address"):
                nobody(peer)
    with pytest.raises(ValueError, match="the peer has no address"):
        client_ip().of_environ({"REMOTE_ADDR": ""})


def test_a_client_that_is_gone_has_no_address():
    """The server listens on a port, but could not ask who has connected."""
    on_port = {**scope(None), "server": ("192.0.2.9", 80)}
    on_socket = {**scope(None), "server": ("/run/app.sock", None)}
    for client in client_ip(), client_ip(trusted_proxies=["10.0.0.0/8"]):
        with pytest.raises(ClientGone):
            client.of_scope(on_port)
        for unknown in on_socket, scope(None):
            with pytest.raises(ValueError) as error:
                client.of_scope(unknown)
            assert not isinstance(error.value, ClientGone)
    named = {**on_port, "headers": [(b"x-forwarded-for", b"203.0.113.5")]}
    assert client_ip(trusted_hops=1).of_scope(named) == "203.0.113.5"


@pytest.mark.parametrize("name", [
    b"x-forwarded-for-foo", b"x-forwarded-fo", b"-x-forwarded-for",
    b"x-forwarded-for ", b"x_forwarded_for"])
def test_a_header_of_a_like_name_is_not_believed(name):
    """Any client can send such a header, and proxies pass it on."""
    client = client_ip(trusted_hops=1)
    assert client.of_scope(scope("10.0.0.1", (name, b"203.0.113.5"))
                           ) == "10.0.0.1"
    assert client.of_scope(
        scope("10.0.0.1", (name, b"203.0.113.5"),
              (b"x-forwarded-for", b"192.0.2.1"), (name, b"203.0.113.6"))
    ) == "192.0.2.1"
    environ = "HTTP_" + name.decode().upper().replace("-", "_")
    if environ != "HTTP_X_FORWARDED_FOR":
        assert client.of_environ({"REMOTE_ADDR": "10.0.0.1",
                                  environ: "203.0.113.5"}) == "10.0.0.1"


def test_the_header_may_be_another():
    client = client_ip(trusted_hops=1, header="Forwarded")
    assert client.header == "forwarded"
    value = 'for="[2001:db8:1:2::9]:80";proto=https'
    assert client("10.0.0.1", value) == "2001:db8:1:2::"
    assert client.of_environ({"REMOTE_ADDR": "10.0.0.1",
                              "HTTP_FORWARDED": value}) == "2001:db8:1:2::"
    client = client_ip(trusted_hops=1, header="CF-Connecting-IP")
    assert client.of_scope(
        scope("10.0.0.1", (b"x-forwarded-for", b"1.1.1.1"),
              (b"cf-connecting-ip", b"203.0.113.5"))) == "203.0.113.5"
    assert client.of_environ({"REMOTE_ADDR": "10.0.0.1",
                              "HTTP_CF_CONNECTING_IP": "203.0.113.5"}
                             ) == "203.0.113.5"


def test_ipv6_is_grouped():
    lines = ["2001:db8:1:2:3:4:5:6"]
    whole = client_ip(trusted_hops=1, ipv6_prefix=128)
    assert whole("::1", lines) == "2001:db8:1:2:3:4:5:6"
    assert client_ip(trusted_hops=1)("::1", lines) == "2001:db8:1:2::"
    assert client_ip(trusted_hops=1, ipv6_prefix=48)("::1", lines) == (
        "2001:db8:1::")


def test_starlettes_test_client_is_this_machine():
    assert client_ip().of_scope(scope("testclient")) == "127.0.0.1"


@pytest.mark.parametrize("wrong, message", [
    ({"trusted_hops": -1}, "trusted_hops must be 0 to 100, is -1"),
    ({"trusted_proxies": ["proxy"]}, "neither an IP address nor a network"),
    ({"trusted_proxies": ["10.0.0.1/8"]}, 'did you mean "10.0.0.0/8"'),
    ({"trusted_hops": 1, "trusted_proxies": ["10.0.0.0/8"]}, "exclude"),
    ({"ipv6_prefix": 0}, "ipv6_prefix must be 1 to 128"),
])
def test_what_cannot_be_is_refused(wrong, message):
    with pytest.raises(limitree.ConfigError, match=message):
        client_ip(**wrong)


@pytest.mark.parametrize("wrong", [
    {"trusted_hops": "1"}, {"trusted_hops": None}, {"trusted_hops": 2**31},
    {"trusted_proxies": "10.0.0.0/8"}, {"trusted_proxies": [None]},
    {"trusted_proxies": [1]}, {"ipv6_prefix": math.inf},
])
def test_wrong_types_are_refused(wrong):
    with pytest.raises(TypeError):
        client_ip(**wrong)


@pytest.mark.parametrize("peer, lines", [
    (1, None), ("10.0.0.1", 1), ("10.0.0.1", [None]), ("10.0.0.1", [1]),
    (["10.0.0.1"], None),
])
def test_wrong_types_of_a_request_are_refused(peer, lines):
    with pytest.raises(TypeError):
        client_ip(trusted_hops=1)(peer, lines)


@given(st.lists(st.one_of(st.binary(max_size=40), st.text(max_size=40).filter(
    lambda text: text.isascii())), max_size=4))
@example([b"\xff"])
def test_a_header_never_raises_and_never_hides_the_proxy(lines):
    for header, entry in [("forwarded", "for=203.0.113.5"),
                          ("x-forwarded-for", "203.0.113.5")]:
        client = client_ip(trusted_proxies=["10.0.0.0/8"], header=header)
        assert canonical_ip(client("10.0.0.1", lines))
        assert client("10.0.0.1", [*lines, entry]) == "203.0.113.5"

