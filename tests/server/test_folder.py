"""Descriptors in a folder that changes while the service runs."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time
import urllib.request

import pytest
from config_map import ConfigMap
from grpc_health.v1 import health_pb2, health_pb2_grpc
from service import COMMAND, PATIENT, eventually, limit_of, request, rls

RELOADED = "the descriptors are reloaded: "
AS_BEFORE = "the descriptors are as before"


def text(domain="apis", unit="minute"):
    return (f"domain: {domain}\ndescriptors:\n"
            f"  - {{key: user, rate_limit: {{unit: {unit}, "
            "requests_per_unit: 3}}\n")


def put(path, content):
    """Replaces a file as careful programs do."""
    fresh = path.with_name("." + path.name + ".new")
    fresh.write_text(content)
    fresh.rename(path)


def health(service):
    stub = health_pb2_grpc.HealthStub(service.channel())
    request_ = health_pb2.HealthCheckRequest(service="ratelimit")
    return health_pb2.HealthCheckResponse.ServingStatus.Name(
        stub.Check(request_).status)


@pytest.fixture(name="folder")
def make_folder(tmp_path):
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "a.yaml").write_text(text())
    return folder


@pytest.fixture(name="watching")
def make_watching(serve, folder):
    return serve("--descriptors", folder)


def test_a_file_is_replaced_added_and_removed(watching, folder):
    put(folder / "a.yaml", text(unit="hour"))
    assert watching.wait_for(RELOADED).endswith(": 1 file")
    (folder / "b.yaml").write_text(text("other"))
    assert watching.wait_for(RELOADED).endswith(": 2 files")
    (folder / "a.yaml").unlink()
    assert watching.wait_for(RELOADED).endswith(": 1 file")
    (folder / "b.yaml").unlink()
    assert watching.wait_for(RELOADED).endswith(": 0 files")


def test_what_was_loaded_last_decides(watching, folder):
    units = rls.RateLimitResponse.RateLimit
    assert limit_of(watching).unit == units.MINUTE
    put(folder / "a.yaml", text(unit="hour"))
    watching.wait_for(RELOADED)
    assert limit_of(watching).unit == units.HOUR
    put(folder / "a.yaml", text(unit="hours"))
    watching.wait_for(AS_BEFORE)
    assert limit_of(watching).unit == units.HOUR
    assert limit_of(watching, domain="other") == units()


def test_files_of_one_domain_are_merged_if_asked(serve, folder):
    more = text().replace("user", "plan")
    service = serve("--descriptors", folder)
    (folder / "b.yaml").write_text(more)
    assert service.wait_for("error").endswith(
        f"{folder}/b.yaml:1:9: duplicate domain 'apis' in config file")
    service = serve("--descriptors", folder, env={"MERGE_DOMAIN_CONFIG": "1"})
    assert limit_of(service, key="user").requests_per_unit == 3
    assert limit_of(service, key="plan").requests_per_unit == 3
    put(folder / "b.yaml", more.replace("3", "5"))
    service.wait_for(RELOADED)
    assert limit_of(service, key="plan").requests_per_unit == 5
    put(folder / "b.yaml", text())
    assert "duplicate descriptor composite key 'apis.user'" in (
        service.wait_for("error"))


def test_dot_files_and_folders_do_not_count(serve, folder):
    (folder / ".a.yaml.swp").write_text("\0")
    (folder / ".more").mkdir()
    (folder / ".more" / "b.yaml").write_text("\0")
    service = serve("--descriptors", folder)
    (folder / "b.yaml").write_text(text("other"))
    assert service.wait_for(RELOADED).endswith(": 2 files")


def test_folders_in_the_folder_count(watching, folder):
    deep = folder / "team" / "deep"
    deep.mkdir(parents=True)
    (deep / "b.yaml").write_text(text("other"))
    assert watching.wait_for(RELOADED).endswith(": 2 files")
    put(deep / "b.yaml", text("third"))
    watching.wait_for(RELOADED)
    (folder / "team" / "back").symlink_to("..")
    (folder / ".old").mkdir()
    (folder / ".old" / "c.yaml").write_text(text())
    (folder / "c.yaml").write_text(text("fourth"))
    assert watching.wait_for(RELOADED).endswith(": 3 files")
    shutil.rmtree(folder / "team")
    assert watching.wait_for(RELOADED).endswith(": 2 files")


def test_dot_files_count_on_demand(serve, folder):
    (folder / ".b.yaml").write_text(text("other"))
    service = serve("--dot-files", "--descriptors", folder)
    put(folder / "a.yaml", text(unit="hour"))
    service.wait_for(RELOADED)
    # The temporary file of put() may have been seen, too.
    eventually(lambda: service.lines[-1].endswith(": 2 files"))


def test_a_config_map(serve, tmp_path):
    config = ConfigMap(tmp_path / "mounted")
    config.publish({"a.yaml": text()})
    service = serve("--descriptors", config.folder)
    for number in range(5):
        config.publish({"a.yaml": text(), "b.yaml": text(f"other{number}")})
        eventually(lambda: service.lines[-1].endswith(": 2 files"))
        config.publish({"a.yaml": text()})
        eventually(lambda: service.lines[-1].endswith(": 1 file"))
    assert not [line for line in service.lines if "error" in line]


def test_the_root_is_a_link_that_is_swapped(serve, tmp_path):
    for version, domain in (("v1", "one"), ("v2", "two")):
        (tmp_path / version / "config").mkdir(parents=True)
        (tmp_path / version / "config" / "a.yaml").write_text(text(domain))
    (tmp_path / "v2" / "config" / "b.yaml").write_text(text("more"))
    current = tmp_path / "current"
    current.symlink_to("v1")
    service = serve(env={"RUNTIME_ROOT": str(current)})
    for version, files in (("v2", "2 files"), ("v1", "1 file")):
        (tmp_path / "fresh").symlink_to(version)
        (tmp_path / "fresh").rename(current)
        assert service.wait_for(RELOADED).endswith(": " + files)


def test_a_mistake_changes_nothing(watching, folder):
    put(folder / "a.yaml", text(unit="minutes"))
    assert watching.wait_for("error").endswith(
        f"{folder}/a.yaml:3:36: invalid rate limit unit 'minutes'")
    watching.wait_for(AS_BEFORE)
    put(folder / "b.yaml", text())
    watching.wait_for(AS_BEFORE)
    put(folder / "a.yaml", text("other"))
    watching.wait_for(RELOADED)


@pytest.mark.parametrize("content", [
    b"\x00\x01\x02\xff" * 1000, b"domain: [", b"\xff\xfe" + b"a" * 100,
    b"domain: a\n" + b"#" * (64 << 20)])
def test_files_that_are_no_configuration(watching, folder, content):
    (folder / "b.yaml").write_bytes(content)
    watching.wait_for(AS_BEFORE)
    assert not watching.limiter().Authorize(request("huge", "x")).limited
    (folder / "b.yaml").unlink()
    watching.wait_for(RELOADED)


def test_files_that_are_too_large_together(watching, folder):
    for number in range(5):
        path = folder / f".{number}"
        path.touch()
        os.truncate(path, 60 << 20)
        path.rename(folder / f"z{number}.yaml")
    # Before the last one comes, it is the text that is wrong.
    watching.wait_for(
        f"{folder}/z4.yaml: all files together have more than 256 MiB")
    watching.wait_for(AS_BEFORE)
    assert limit_of(watching).requests_per_unit == 3


def test_a_pipe_in_the_folder_is_left_out(watching, folder):
    os.mkfifo(folder / "pipe")
    (folder / "b.yaml").write_text(text("other"))
    assert watching.wait_for(RELOADED).endswith(": 2 files")


def test_what_is_neither_a_file_nor_a_folder(limits, folder):
    os.mkfifo(folder / "pipe")
    done = subprocess.run(
        [COMMAND, "serve", limits, "--descriptors", folder / "pipe"],
        text=True, capture_output=True, check=False, timeout=PATIENT)
    assert done.returncode == 1
    assert done.stderr == (
        f"limitree: {folder}/pipe: neither a file nor a folder\n")


def test_links_that_lead_nowhere_or_in_circles(watching, folder):
    (folder / "b.yaml").symlink_to("b.yaml")
    assert watching.wait_for("error").endswith(
        f"{folder}/b.yaml: too many levels of symbolic links")
    watching.wait_for(AS_BEFORE)
    (folder / "b.yaml").unlink()
    watching.wait_for(RELOADED)
    (folder / "b.yaml").symlink_to("nowhere")
    assert watching.wait_for("error").endswith(
        f"{folder}/b.yaml: no such file or directory")
    watching.wait_for(AS_BEFORE)
    (folder / "nowhere").write_text(text("other"))
    put(folder / "a.yaml", text("third"))
    # Both names of one file: a domain that is there twice.
    watching.wait_for("duplicate domain 'other' in config file")
    (folder / "b.yaml").unlink()
    assert watching.wait_for(RELOADED).endswith(": 2 files")


def test_a_file_that_nobody_may_read(serve, folder):
    # Root may read all files, unless it gives that up.
    prefix = [] if os.geteuid() != 0 else [
        "setpriv", "--bounding-set=-dac_override,-dac_read_search"]
    service = serve("--descriptors", folder, prefix=prefix)
    (folder / "a.yaml").chmod(0)
    assert service.wait_for("error").endswith(
        f"{folder}/a.yaml: permission denied")
    service.wait_for(AS_BEFORE)
    assert limit_of(service).requests_per_unit == 3
    (folder / "a.yaml").chmod(0o644)
    service.wait_for(RELOADED)


def test_the_folder_vanishes_and_comes_back(watching, folder):
    hidden = folder.with_name("hidden")
    folder.rename(hidden)
    assert watching.wait_for("error").endswith(
        f"{folder}: no such file or directory")
    watching.wait_for(AS_BEFORE)
    hidden.rename(folder)
    watching.wait_for(RELOADED)
    shutil.rmtree(folder)
    watching.wait_for(AS_BEFORE)
    folder.mkdir()
    put(folder / "a.yaml", text("back"))
    assert watching.wait_for(": 1 file")


def test_a_file_that_is_written_slowly(watching, folder):
    longest, before = 0, time.monotonic()
    with open(folder / "b.yaml", "wb", buffering=0) as file:
        for byte in text("slow").encode():
            file.write(bytes([byte]))
            time.sleep(0.01)
            now = time.monotonic()
            longest, before = max(longest, now - before), now
    said = watching.wait_for("descriptors are")
    # On a busy machine it may have looked finished in between.
    if said.endswith(AS_BEFORE) and longest > 0.04:
        said = watching.wait_for("descriptors are")
    assert said.endswith(": 2 files")


def test_a_relative_name(serve, folder, monkeypatch):
    monkeypatch.chdir(folder.parent)
    service = serve("--descriptors", pathlib.Path(folder.name))
    (folder / "b.yaml").write_text(text("other"))
    service.wait_for(RELOADED)


def test_sighup_reads_limits_and_descriptors(watching, folder, limits):
    limits.write_text("schema: {user: {limits: 0/s}}\n")
    watching.signal(signal.SIGHUP)
    assert f"{limits}:1:25: " in watching.wait_for("error")
    watching.wait_for("the limits are as before")
    # A change of descriptors does not need limits that can be read.
    put(folder / "a.yaml", text("other"))
    watching.wait_for(RELOADED)
    limits.write_text("schema: {user: {limits: 1/s}}\n")
    put(folder / "a.yaml", text())
    watching.wait_for(RELOADED)
    watching.signal(signal.SIGHUP)
    watching.wait_for("the limits are reloaded")


def test_health_needs_a_domain(serve, folder):
    (folder / "a.yaml").unlink()
    service = serve("--descriptors", folder, env={
        "HEALTHY_WITH_AT_LEAST_ONE_CONFIG_LOADED": "true"})
    assert health(service) == "NOT_SERVING"
    put(folder / "a.yaml", text())
    service.wait_for(RELOADED)
    eventually(lambda: health(service) == "SERVING")
    put(folder / "a.yaml", "")
    service.wait_for(AS_BEFORE)
    assert health(service) == "SERVING"
    (folder / "a.yaml").unlink()
    service.wait_for(RELOADED)
    eventually(lambda: health(service) == "NOT_SERVING")


def test_a_start_without_descriptors_is_made_up_for(serve, folder):
    (folder / "a.yaml").write_text("domain: ''\n")
    service = serve("--descriptors", folder, "--start-without",
                    "--healthy-with")
    assert health(service) == "NOT_SERVING"
    put(folder / "a.yaml", text())
    service.wait_for(RELOADED)
    eventually(lambda: health(service) == "SERVING")


def test_the_page_keeps_mistakes_until_they_are_made_up_for(serve, folder,
                                                            limits):
    (folder / "a.yaml").write_text("domain: ''\n")
    service = serve("--descriptors", folder, "--start-without",
                    "--admin-listen", "127.0.0.1:0")

    def load():
        with urllib.request.urlopen(service.admin[0] + "/ui/data.json",
                                    timeout=PATIENT) as answer:
            found = json.load(answer)["load"]
        return (found["loaded"], found["refused"],
                [one.partition(":")[0].rpartition("/")[2]
                 for one in found["mistakes"]])

    assert load() == (0, 1, ["a.yaml"])
    put(folder / "a.yaml", text())
    service.wait_for(RELOADED)
    assert load() == (1, 1, [])
    right = limits.read_text(encoding="utf-8")
    limits.write_text("schema: 1\n", encoding="ascii")
    service.signal(signal.SIGHUP)
    service.wait_for("the limits are as before")
    assert load() == (1, 2, ["limits.yaml"])
    put(folder / "a.yaml", text(unit="hour"))
    service.wait_for(RELOADED)
    assert load() == (2, 2, ["limits.yaml"])  # which are as before still
    limits.write_text(right, encoding="utf-8")
    service.signal(signal.SIGHUP)
    service.wait_for("the limits are reloaded")
    assert load() == (3, 2, [])


def rules(count):
    return "".join(
        f"  - {{key: user, value: u{i}, rate_limit: {{unit: hour, "
        f"requests_per_unit: {i + 1}}}}}\n" for i in range(count))


def test_a_million_descriptors(serve, folder, tmp_path):
    most = 1_000_000 if not os.environ.get("LIMITREE_SANITIZED") else 100_000
    service = serve("--descriptors", folder)
    limiter = service.limiter()
    slow = tmp_path / "b.yaml"
    for domain in ("half", "more"):  # no file may have more than 64 MiB
        slow.write_text(f"domain: {domain}\ndescriptors:\n{rules(most // 2)}")
        slow.rename(folder / f"{domain}.yaml")
    (folder / "a.yaml").unlink()
    begun = time.monotonic()
    while not any("files" in line for line in service.lines):
        assert not limiter.Authorize(request("huge", "x"),
                                     timeout=PATIENT).limited
        assert time.monotonic() < begun + 300, service.lines
        time.sleep(0.1)
    assert service.wait_for(RELOADED).endswith(": 2 files")
    assert service.memory() < 1 << 30


def test_requests_are_answered_while_many_descriptors_load(watching, folder):
    limiter = watching.limiter()
    limiter.Authorize(request("huge", "x"))  # connected
    done = threading.Event()
    slowest = []

    def ask():
        while not done.is_set():
            before = time.monotonic()
            assert not limiter.Authorize(request("huge", "x")).limited
            slowest.append(time.monotonic() - before)

    thread = threading.Thread(target=ask)
    thread.start()
    for domain in ("many", "more"):
        put(folder / "a.yaml",
            f"domain: {domain}\ndescriptors:\n" + rules(10_000))
        watching.wait_for(RELOADED)
    done.set()
    thread.join()
    # Loading takes longer than any request does.
    assert len(slowest) > 20
