"""Runs commands; shows what they printed only if they fail."""

import os
import shutil
import subprocess
import sys

from platforms import BUILD


def fail(message):
    sys.exit(f"release: {message}")


def epoch():
    """The time that is written into files: that of the last commit."""
    if "SOURCE_DATE_EPOCH" in os.environ:
        return int(os.environ["SOURCE_DATE_EPOCH"])
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], check=True,
                          capture_output=True, text=True)
    return int(done.stdout)


def run(name, command, *, cwd=None, env=None):
    """Runs `command`; its output goes to log/<name>.log."""
    log = BUILD / "log" / f"{name}.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as out:
        done = subprocess.run(
            [str(word) for word in command], cwd=cwd, stdout=out,
            stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})}, check=False)
    if done.returncode != 0:
        lines = log.read_text(errors="replace").splitlines()
        print("\n".join(line[:200] for line in lines[-30:]), file=sys.stderr)
        fail(f"{name}: {command[0]} failed with {done.returncode}; all of "
             f"its output is in {log}")


def made(folder, make):
    """The folder, which `make(folder)` fills, unless it has done so before."""
    if not (folder / ".made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        make(folder)
        (folder / ".made").touch()
    return folder


def ask(*command, cwd=None):
    """What `command` prints."""
    return subprocess.run(
        [str(word) for word in command], cwd=cwd, check=True,
        capture_output=True, text=True).stdout.strip()


def attempt(command, *, cwd=None, env=None):
    """Whether `command` succeeds, and what it printed."""
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, check=False,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace",
        env={**os.environ, **(env or {})})
    return done.returncode == 0, done.stdout


def last_line(text):
    return (text.strip().splitlines() or ["nothing was printed"])[-1]
