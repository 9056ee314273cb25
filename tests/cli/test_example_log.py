"""The committed log is the output of its script, without real addresses."""

import gzip
import ipaddress
import subprocess
import sys

from command import EXAMPLE_LOG, ROOT

SCRIPT = ROOT / "scripts" / "make_example_log.py"
RESERVED = [ipaddress.ip_network(network) for network in (
    "192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24", "2001:db8::/32")]


def test_script_makes_the_committed_log():
    made = subprocess.run([sys.executable, SCRIPT], capture_output=True,
                          check=True, timeout=120).stdout
    # Compares the text, because versions of zlib compress it differently.
    assert made == gzip.decompress(EXAMPLE_LOG.read_bytes())


def test_packed_file(tmp_path):
    file = tmp_path / "access.log.gz"
    subprocess.run([sys.executable, SCRIPT, file], check=True, timeout=120)
    assert (gzip.decompress(file.read_bytes())
            == gzip.decompress(EXAMPLE_LOG.read_bytes()))


def test_addresses_are_reserved_for_documentation():
    lines = gzip.decompress(EXAMPLE_LOG.read_bytes()).decode().splitlines()
    clients = {line.split(" ")[0] for line in lines if " " in line}
    clients -= {"host-7.example.net", "--"}
    for client in clients:
        address = ipaddress.ip_address(client)
        assert any(address in network for network in RESERVED
                   if address.version == network.version), client
