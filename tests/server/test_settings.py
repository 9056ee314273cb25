"""Settings from flags, from a file, and from the environment."""

import json
import os
import re
import subprocess
import urllib.error
import urllib.request

import grpc
import pytest
from service import COMMAND, PATIENT, ROOT, fails, pb_grpc, request

DESCRIPTORS = """\
domain: apis
descriptors:
  - {key: user, rate_limit: {unit: minute, requests_per_unit: 3}}
"""


@pytest.fixture(name="settings_file")
def make_settings_file(tmp_path):
    """Writes a settings file and returns its name."""
    def write(text):
        path = tmp_path / "serve.toml"
        path.write_text(text)
        return path
    return write


def test_a_settings_file_says_what_flags_say(serve, limits, settings_file,
                                             tmp_path):
    path = settings_file(f"""\
# Comments are fine.
limits = "{limits}"
listen = ["127.0.0.1:0", "unix:{tmp_path}/s"]
workers = 3
drain-delay = "1ms"
merge-domains = true
""")
    service = serve("--config", path, limits=None, listen=None)
    assert service.target.endswith(f", unix:{tmp_path}/s")
    assert service.lines[0].endswith("with 3 workers")


def test_flags_override_the_settings_file(serve, limits, settings_file):
    path = settings_file("""\
limits = "none.yaml"
listen = ["192.0.2.1:1"]
workers = 3
log-format = "json"
""")
    service = serve("--config", path, "--workers", 2, "--log-format", "text",
                    limits=limits)
    assert service.lines[0].endswith("with 2 workers")


@pytest.mark.parametrize(("text", "message"), [
    ("speed = 1\n", "no setting is called 'speed'; see serve --help"),
    ("[serve]\nworkers = 1\n",
     "no setting is called 'serve.workers'; see serve --help"),
    ("config = \"x\"\n", "no setting is called 'config'; see serve --help"),
    ("workers = \"many\"\n",
     "--workers: must be a number from 1 to 1024, is 'many'"),
    ("http-headers = \"draft-9\"\n",
     "--http-headers: must be ietf, draft-7, draft-6, legacy or none, is "
     "'draft-9'"),
    ("max-message = 0x400000\n",
     "--max-message: must be a number from 1 to 1073741824, is '0x400000'"),
    ("drain-delay = \"soon\"\n", "--drain-delay: "),
])
def test_mistakes_in_a_settings_file(limits, settings_file, text, message):
    path = settings_file(text)
    line, = fails(limits, "--config", path, code=2)
    assert line.startswith(f"limitree: {path}: ")
    assert message in line


@pytest.mark.parametrize("value", ["0", "0x2", "1025", "many"])
def test_a_wrong_number_is_the_same_mistake_everywhere(limits, settings_file,
                                                       value):
    path = settings_file(f"workers = {value}\n")
    for words, place in (
            (["--workers", value], "--workers"),
            (["--config", path], f"{path}: --workers")):
        assert fails(limits, *words, code=2) == [
            f"limitree: {place}: must be a number from 1 to 1024, is "
            f"'{value}'"]
    assert fails(limits, LIMITREE_WORKERS=value, code=2) == [
        "limitree: LIMITREE_WORKERS: must be a number from 1 to 1024, is "
        f"'{value}'"]


def test_a_settings_file_that_is_not_there(limits, tmp_path):
    line, = fails(limits, "--config", tmp_path / "none", code=1)
    assert line == f"limitree: {tmp_path}/none: no such file or directory"


def test_the_environment_counts(serve, limits, tmp_path):
    service = serve(limits=limits, listen=None,
                    env={"GRPC_UDS": f"{tmp_path}/s", "LOG_FORMAT": "json",
                         "PORT": "0", "DEBUG_PORT": "0"})
    line = json.loads(service.lines[-1])
    assert line["@message"].startswith(
        f"listening on unix:{tmp_path}/s, http://")
    assert service.admin[0].startswith("http://127.0.0.1:")
    assert line["level"] == "info"
    assert line["@timestamp"].endswith("Z")


def page_of(url):
    try:
        with urllib.request.urlopen(url, timeout=PATIENT) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, ""


def test_prometheus_has_an_address_with_one_page(serve):
    service = serve(env={"USE_PROMETHEUS": "true",
                         "PROMETHEUS_ADDR": "127.0.0.1:0",
                         "PROMETHEUS_PATH": "/prom"})
    url, = service.metrics
    status, text = page_of(url + "/prom")
    assert status == 200
    assert "\nratelimit_service_config_load_success 1\n" in text
    for path in ("/", "/metrics", "/limits", "/rlconfig", "/stats"):
        assert page_of(url + path)[0] == 404
    url, = serve("--metrics-listen", "127.0.0.1:0").metrics
    assert page_of(url + "/metrics")[0] == 200


def test_flags_override_the_environment(serve, limits):
    env = {"GRPC_HOST": "192.0.2.1", "GRPC_PORT": "1"}
    assert serve(limits=limits, env=env).target.startswith("127.0.0.1:")


def test_the_environment_can_be_ignored(serve, limits):
    serve("--ignore-environment", limits=limits, env={"GRPC_PORT": "x"})


def test_all_mistakes_of_the_environment_are_told(limits):
    assert fails(limits, code=2, GRPC_PORT="x", BACKEND_TYPE="memcache") == [
        "limitree: GRPC_PORT: must be a number from 0 to 65535, is 'x'",
        "limitree: MEMCACHE_HOST_PORT: or MEMCACHE_SRV is needed, because "
        "BACKEND_TYPE is memcache"]


def test_a_variable_that_the_library_refuses_is_named(limits):
    assert fails(limits, code=2, LIMITREE_STORE="nope://") == [
        "limitree: LIMITREE_STORE: store: must be memory://, or a URL such as "
        "shm://myapp, redis://localhost:6379 or memcached://localhost:11211"]
    line, = fails(limits, code=2, REDIS_URL="redis://me:secret@a:99999")
    assert line == ("limitree: REDIS_URL: port must be 1 to 65535, is "
                    '"99999"')


def test_variables_without_effect_are_named(serve, limits):
    service = serve(limits=limits, env={"REDIS_POOL_SIZE": "20",
                                        "EXPIRATION_JITTER_MAX_SECONDS": "1"})
    assert service.lines[0] == (
        "limitree: warning: no effect: EXPIRATION_JITTER_MAX_SECONDS, "
        "REDIS_POOL_SIZE")


def test_the_level_of_the_log(serve, limits, tmp_path):
    service = serve(limits=limits, listen=f"unix:{tmp_path}/s", waits=True,
                    env={"LOG_LEVEL": "error"})
    with grpc.insecure_channel(f"unix:{tmp_path}/s") as channel:
        grpc.channel_ready_future(channel).result(60)
        limiter = pb_grpc.LimiterStub(channel)
        assert not limiter.Authorize(request("huge", "x")).limited
    service.terminate()
    assert service.wait() == 0
    assert service.lines == []


def test_those_who_see_warnings_see_where_it_listens(serve, limits):
    for words in (["--log-level", "warning"], []):
        service = serve(*words, limits=limits, env={"LOG_LEVEL": "warn"})
        assert service.lines[0].startswith(
            "limitree serve: listening on 127.0.0.1:")
        service.terminate()
        assert service.wait() == 0
        assert len(service.lines) == 1


# ---- As `ratelimit` ---------------------------------------------------------

def as_ratelimit(*words, name="/bin/ratelimit", **env):
    return subprocess.Popen([name, *map(str, words)], executable=COMMAND,
                            text=True, stderr=subprocess.PIPE,
                            stdout=subprocess.PIPE,
                            env={"LIMITREE_DRAIN_DELAY": "0s", **os.environ,
                                 **env})


@pytest.mark.parametrize("name", ["/bin/ratelimit", "ratelimit"])
def test_by_the_name_of_the_original_it_is_the_original(tmp_path, name):
    config = tmp_path / "config"
    config.mkdir()
    (config / "apis.yaml").write_text(DESCRIPTORS)
    words = ["-log_dir=/tmp", "--alsologtostderr", "--workers", 1, "verbose",
             "-v", "--log-format=text"]
    with as_ratelimit(*words, name=name, RUNTIME_ROOT=str(tmp_path),
                      GRPC_HOST="127.0.0.1", GRPC_PORT="0", HOST="127.0.0.1",
                      PORT="0", DEBUG_PORT="0") as process:
        lines = [process.stderr.readline().rstrip("\n") for _ in range(5)]
        process.terminate()
    assert process.returncode == 0
    assert lines[:4] == [
        f"limitree: warning: the argument '{word}' has no effect"
        for word in ("-log_dir=/tmp", "--alsologtostderr", "verbose", "-v")]
    assert lines[4].endswith(" with 1 worker")


def test_only_by_that_name_arguments_are_forgiven(limits):
    done, = fails(limits, "--alsologtostderr", code=2)
    assert "--alsologtostderr" in done
    with as_ratelimit("check", "--quiet", name="ratelimits") as process:
        assert "has no effect" not in process.stderr.read()


def test_its_values_are_checked_by_that_name_too():
    with as_ratelimit("--workers", "many") as process:
        assert "--workers: must be a number" in process.stderr.read()
    assert process.returncode == 2
    with as_ratelimit("--help") as process:
        assert "--workers" in process.stdout.read()
    assert process.returncode == 0


def test_help_fits_a_terminal():
    done = subprocess.run([COMMAND, "serve", "--help"], text=True, check=True,
                          capture_output=True, timeout=60)
    assert max(map(len, done.stdout.splitlines())) <= 80
    for default in (":8081", ":8080", "127.0.0.1:6070"):
        assert default in done.stdout


def test_a_service_needs_limits_from_somewhere():
    line, = fails(code=2)
    assert line == ("limitree: serve needs a limits.yaml, --descriptors or "
                    "--xds; see --help")


def test_descriptors_alone(serve, tmp_path):
    config = tmp_path / "config"
    config.mkdir()
    (config / "apis.yaml").write_text(DESCRIPTORS)
    serve(limits=None, env={"RUNTIME_ROOT": str(tmp_path)})
    serve("--descriptors", config, limits=None)
    serve("--descriptors", config / "apis.yaml", limits=None)


def test_descriptors_with_mistakes_end_the_start(limits, tmp_path):
    (tmp_path / "a.yaml").write_text(DESCRIPTORS.replace("minute", "minutes"))
    (tmp_path / "b.yaml").write_text("domain: [\n")
    lines = fails(limits, "--descriptors", tmp_path / "a.yaml",
                  "--descriptors", tmp_path / "b.yaml", code=1)
    assert lines[0] == (f"{tmp_path}/a.yaml:3:36: invalid rate limit unit "
                        "'minutes'")
    assert lines[1].startswith(f"{tmp_path}/b.yaml:")
    line, = fails(limits, "--descriptors", tmp_path / "none", code=1)
    assert line == f"limitree: {tmp_path}/none: no such file or directory"


def test_start_without_descriptors(serve, limits, tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("domain: ''\n")
    service = serve("--descriptors", path, limits=limits,
                    env={"FORCE_START_WITHOUT_INITIAL_CONFIG": "true"})
    assert service.lines[:2] == [
        f"limitree serve: error: {path}:1:9: config file cannot have empty "
        "domain",
        "limitree serve: warning: there are no descriptors yet"]
    assert not service.limiter().Authorize(request("huge", "x")).limited


def test_mistakes_in_limits_always_end_the_start(tmp_path):
    path = tmp_path / "limits.yaml"
    path.write_text("schema: {user: {limits: 0/s}}\n")
    line, = fails(path, "--start-without", code=1)
    assert line.startswith(f"{path}:1:25: ")


def test_sources_that_exclude_each_other(limits, tmp_path):
    line, = fails(limits, "--descriptors", tmp_path, "--xds", "a:1", code=2)
    assert line == ("limitree: descriptors come from --descriptors or --xds, "
                    "not both")


VALUES = {"N": "7", "DURATION": "7s", "SHARE": "0.5", "NAME=VALUE": "a=b",
          "NAME:VALUE": "a:b", "LEVEL": "info", "FORMAT": "text",
          "WHEN": "auto"}


# The mistake that ends it is found when all options have been taken.
def test_every_option_of_the_docs_is_in_the_help_and_in_files(settings_file):
    page = (ROOT / "docs" / "service.md").read_text("utf-8")
    table = page.split("| option | variables ")[1].split("\n\n")[0]
    rows = re.findall(r"^\| `.*?--([a-z-]+)(?: ([A-Z:=]+))?", table, re.M)
    assert len(rows) == table.count("\n| `")
    text = subprocess.run([COMMAND, "serve", "--help"], text=True, check=True,
                          capture_output=True, timeout=60).stdout
    words, lines = [], []
    for name, kind in rows:
        assert re.search(f"--{name}[ \n]", text)
        value = VALUES.get(kind, "x") if kind else "true"
        words.append(f"--{name}={value}")
        lines.append(f'{name} = "{value}"\n')
    path = settings_file("".join(lines))
    for given in (words, ["--config", path]):
        line, = fails(*given, code=2)
        assert line == ("limitree: descriptors come from --descriptors or "
                        "--xds, not both")
