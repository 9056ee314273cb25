"""Runs a program as a runtime of containers would.

The program is user 65534 without any capability, in a root of its own that is
only read, with the environment and the mounts that it is given.  It sees the
network and the processes of its caller.

Usage: container.py '{"root": FOLDER, "mounts": [[OUTSIDE, INSIDE], ...],
                      "env": {}, "words": [PROGRAM, ...]}'
"""

import ctypes
import json
import os
import pathlib
import subprocess
import sys

USER = 65534
LIBC = ctypes.CDLL(None, use_errno=True)

# Of <linux/mount.h>, <linux/sched.h> and <linux/prctl.h>.
RDONLY, REMOUNT, BIND, REC, PRIVATE = 1, 32, 4096, 16384, 1 << 18
NEWNS, NEWNET = 0x20000, 0x40000000
CAPBSET_DROP, SET_NO_NEW_PRIVS, SET_PDEATHSIG = 24, 38, 1


def call(name, *words):
    words = [os.fsencode(word) if isinstance(word, (str, pathlib.Path))
             else word for word in words]
    if getattr(LIBC, name)(*words) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")


def mount(outside, inside, flags=BIND | REC):
    call("mount", outside, inside, None, ctypes.c_ulong(flags), None)


def read_only(inside):
    mount(None, inside, BIND | REMOUNT | RDONLY)


def add(root, outside, inside):
    """Mounts a file or a folder, and makes what it is mounted on."""
    target = root / inside.lstrip("/")
    if os.path.isdir(outside):
        target.mkdir(parents=True, exist_ok=True)
    else:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.touch()
    mount(outside, target)
    return target


def enter(root, mounts):
    call("unshare", NEWNS)
    mount(None, "/", REC | PRIVATE)
    mount(root, root)
    for outside, inside in mounts:
        read_only(add(root, outside, inside))
    for system in ("/dev", "/proc", "/sys"):
        add(root, system, system)
    read_only(root)
    os.chroot(root)
    os.chdir("/")
    for capability in range(64):
        LIBC.prctl(CAPBSET_DROP, capability, 0, 0, 0)
    os.setgroups([])
    os.setgid(USER)
    os.setuid(USER)
    call("prctl", SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    call("prctl", SET_PDEATHSIG, 9, 0, 0, 0)


def words_of(root, words, env=None, mounts=()):
    """The command that runs `words` so."""
    return [sys.executable, __file__, json.dumps({
        "root": str(root), "mounts": [[str(a), b] for a, b in mounts],
        "env": env or {}, "words": words})]


def is_possible():
    """Whether this user may make containers."""
    return os.geteuid() == 0 and subprocess.run(
        ["unshare", "--mount", "--net", "true"], check=False,
        stderr=subprocess.DEVNULL).returncode == 0


def own_network():
    """Gives this process, and those that it starts, a network with nothing but
    a loopback device, so that all ports are free.  Call it before the first
    thread: others would stay where they are."""
    assert len(os.listdir("/proc/self/task")) == 1
    call("unshare", NEWNET)
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def main():
    told = json.loads(sys.argv[1])
    enter(pathlib.Path(told["root"]), told["mounts"])
    os.execve(told["words"][0], told["words"], told["env"])


if __name__ == "__main__":
    main()
