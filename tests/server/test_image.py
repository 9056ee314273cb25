"""The image: what scripts/image_root.sh makes, as a container runs it."""

import os
import pathlib
import re
import ssl
import stat
import subprocess

import pytest
from authority import Authority
from container import USER, is_possible, words_of
from service import ROOT, Service, limit_of

IMAGE = (ROOT / "server" / "package" / "Dockerfile").read_text("ascii")
DESCRIPTORS = """\
domain: apis
descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 3}}
"""
ANYWHERE = {"GRPC_HOST": "127.0.0.1", "GRPC_PORT": "0", "HOST": "127.0.0.1",
            "PORT": "0", "DEBUG_PORT": "0", "LIMITREE_DRAIN_DELAY": "0s"}


def make(folder):
    return subprocess.run(
        [ROOT / "scripts" / "image_root.sh", os.environ["LIMITREE_BUILD"],
         folder], text=True, capture_output=True, check=False)


@pytest.fixture(name="root", scope="module")
def make_root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("image") / "root"
    done = make(folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(name="contain")
def make_contain(root):
    """Runs services in the image."""
    if not is_possible():
        pytest.skip("only root can make a container")
    services = []

    def contain(*words, **options):
        command = words_of(root, list(words), **options)
        services.append(Service(None, listen=None, command=command))
        return services[-1]

    yield contain
    for service in services:
        service.kill()


@pytest.fixture(name="config")
def make_config(tmp_path):
    folder = tmp_path / "config"
    folder.mkdir()
    folder.chmod(0o755)
    (folder / "apis.yaml").write_text(DESCRIPTORS)
    return folder


def test_the_dockerfile_runs_the_same_steps():
    assert "/source/scripts/image_root.sh /build /image" in IMAGE
    assert "COPY --from=build /image /\n" in IMAGE
    assert f"USER {USER}:{USER}\n" in IMAGE
    assert (ROOT / "scripts" / "image_root.sh").stat().st_mode & 0o111


def test_the_image_has_nothing_else(root):
    assert os.readlink(root / "bin" / "ratelimit") == "/usr/bin/limitree"
    assert os.access(root / "usr" / "bin" / "limitree", os.X_OK)
    programs = set()
    for path in root.rglob("*"):
        mode = path.lstat().st_mode
        assert not mode & (stat.S_ISUID | stat.S_ISGID), path
        if stat.S_ISREG(mode):
            assert mode & 0o004, path  # everyone may read it
            if mode & 0o111 and ".so" not in path.name:
                programs.add(path.relative_to(root).as_posix())
    assert programs == {"usr/bin/limitree"}
    assert not list(root.rglob("*.a"))
    if os.geteuid() == 0:
        assert (root / "run" / "limitree").stat().st_uid == USER


def test_an_image_is_never_made_over_something(tmp_path):
    done = make(tmp_path)
    assert done.returncode == 1
    assert done.stderr == f"image_root.sh: {tmp_path} exists already\n"


def test_it_is_the_original_without_any_right(contain, config):
    """As user 65534, without a capability, where nothing can be written."""
    service = contain("/bin/ratelimit", "--quotaRateLimitServiceAddr=a.b",
                      env={**ANYWHERE, "RUNTIME_ROOT": "/data",
                           "RUNTIME_SUBDIRECTORY": "ratelimit"},
                      mounts=[(config, "/data/ratelimit/config")])
    assert service.lines[0] == (
        "limitree: warning: the argument '--quotaRateLimitServiceAddr=a.b' has "
        "no effect")
    process = pathlib.Path("/proc", str(service.process.pid))
    status = (process / "status").read_text("ascii")
    fields = dict(re.findall(r"^(\w+):[ \t]*(.*)$", status, re.M))
    assert fields["Uid"].split() == fields["Gid"].split() == [str(USER)] * 4
    assert fields["Groups"] == ""
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(fields[name], 16) == 0, name
    assert fields["NoNewPrivs"] == "1"
    assert os.statvfs(process / "root").f_flag & os.ST_RDONLY
    assert limit_of(service).requests_per_unit == 3
    service.terminate()
    assert service.wait() == 0


def test_without_a_command_it_serves_a_folder(contain, config):
    words = [word for line in ("ENTRYPOINT", "CMD") for word in
             re.findall(r'"([^"]+)"', re.search(f"^{line} .*$", IMAGE,
                                                re.M)[0])]
    service = contain(*words, env=ANYWHERE,
                      mounts=[(config, "/etc/limitree/descriptors")])
    assert limit_of(service).requests_per_unit == 3
    # As Kubernetes does with a ConfigMap.
    (config / "apis.yaml").write_text(DESCRIPTORS.replace("3", "4"))
    service.wait_for("reloaded")
    assert limit_of(service).requests_per_unit == 4


def test_it_trusts_the_authorities_of_its_system(contain, config, collect,
                                                 tmp_path):
    authority = Authority(tmp_path / "authority")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*authority.sign("collector", "IP:127.0.0.1"))
    collector = collect()
    collector.socket = context.wrap_socket(collector.socket, server_side=True)
    options = {
        "env": {**ANYWHERE, "RUNTIME_ROOT": "/data", "TRACING_ENABLED": "true",
                "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url.replace(
                    "http", "https"),
                **dict(re.findall(r"^ENV (\w+)=(.*)$", IMAGE, re.M))},
        "mounts": [(config, "/data/config")]}
    service = contain("/bin/ratelimit", **options)
    limit_of(service)
    assert "SSL certificate problem" in service.wait_for("cannot send spans")
    options["mounts"].append((authority.cert,
                              "/etc/ssl/certs/ca-certificates.crt"))
    limit_of(contain("/bin/ratelimit", **options))
    assert len(collector.spans(1)) == 1
