"""Builds the peers that are programs or modules, in build/peers.

Each function returns what it has built; or None, after one line that says which
tool is missing or what did not build.
"""

import functools
import os
import pathlib
import shutil
import subprocess

HERE = pathlib.Path(__file__).resolve().parent
BUILD = HERE.parents[1] / "build"
PEERS = BUILD / "peers"

# Cargo builds the library of a crate only for a crate that needs it.
CELL = """[package]
name = "redis_cell_module"
version = "0.0.0"
edition = "2018"
[lib]
path = "lib.rs"
[dependencies]
redis-cell = "=0.2.2"
"""
RATELIMIT = ("github.com/envoyproxy/ratelimit/src/service_cmd"
             "@v1.4.1-0.20260122083618-3fb702589d36")


def built(name, tools, *words, folder=None, environment=None):
    """Whether a peer could be built."""
    for tool in tools:
        if shutil.which(tool) is None:
            print(f"{name} is left out: there is no {tool}", flush=True)
            return False
    PEERS.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(
        [str(word) for word in words], cwd=folder or HERE,
        env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        said = done.stdout.strip().splitlines()
        why = [line for line in said if "error" in line.lower()] + said[-1:]
        print(f"{name} is left out: {why[0] if why else words[0]}", flush=True)
    return done.returncode == 0


def cargo(name, folder):
    target = PEERS / "target"
    return built(name, ["cargo"], "cargo", "build", "--release", "--quiet",
                 "--target-dir", target, folder=folder) and target / "release"


@functools.cache
def go_peers():
    """The program with redis_rate, and redis-cell by go-redis."""
    program = PEERS / "go_peers"
    return program if built("redis_rate", ["go"], "go", "build", "-o", program,
                            ".", folder=HERE / "go_peers") else None


@functools.cache
def redis_cell():
    """The words by which redis-server loads it, and variables that it needs."""
    folder = PEERS / "redis_cell"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "Cargo.toml").write_text(CELL)
    (folder / "lib.rs").write_text("")
    release = cargo("redis-cell", folder)
    if not release:
        return None
    libraries = subprocess.run(
        ["rustc", "--print", "target-libdir"], check=True,
        stdout=subprocess.PIPE, text=True).stdout.strip()
    return (["--loadmodule", str(release / "libredis_cell.so")],
            {"LD_LIBRARY_PATH": libraries})


@functools.cache
def governor():
    """The command of the program."""
    release = cargo("governor", HERE / "governor_peer")
    return [release / "governor_peer"] if release else None


@functools.cache
def bucket4j():
    """The command of the program."""
    target = PEERS / "bucket4j"
    if not built("bucket4j", ["java", "javac", "mvn"], "mvn", "--quiet",
                 "--batch-mode", f"-DbuildFolder={target}", "package",
                 folder=HERE / "bucket4j_peer"):
        return None
    return ["java", "-cp", f"{target}/classes:{target}/libraries/*", "Peer"]


@functools.cache
def ratelimit():
    """The program of envoyproxy/ratelimit."""
    return PEERS / "service_cmd" if built(
        "envoyproxy/ratelimit", ["go"], "go", "install", RATELIMIT,
        environment={"GOBIN": str(PEERS)}) else None


@functools.cache
def python_peers():
    """A folder with the peers of redis_server_cpu.py."""
    folder = PEERS / "python"
    if not (folder / "bin/pip").exists() and not built(
            "limits", ["python3"], "python3", "-m", "venv", folder):
        return None
    return folder if built(
        "limits", [], folder / "bin/pip", "install", "--quiet", "limits",
        "throttled-py", "redis") else None


@functools.cache
def node_peers():
    """The folder with the peers of Node.js."""
    PEERS.mkdir(parents=True, exist_ok=True)
    shutil.copy(HERE / "peers.json", PEERS / "package.json")
    return PEERS if built(
        "the peers of Node.js", ["npm"], "npm", "install", "--prefix", PEERS,
        "--ignore-scripts", "--no-audit", "--no-fund") else None
