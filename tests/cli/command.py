"""Runs the limitree command as a separate process, as its users do."""

import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import termios
import threading

COMMAND = os.environ["LIMITREE_COMMAND"]
ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "limits.yaml"
WEB = ROOT / "examples" / "web" / "limits.yaml"
EXAMPLE_LOG = ROOT / "examples" / "access.log.gz"
BOTH_PATHS = ("--path", "ip,{remote_addr}", "--path", "route,{method},{path}")


class Done:
    """How a run ended."""

    def __init__(self, code, out, err):
        self.code = code
        self.out = out
        self.err = err


def environment(**changes):
    """Returns our environment with `changes`; None removes a variable."""
    plain = {**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm"}
    plain.pop("NO_COLOR", None)
    for name, value in changes.items():
        if value is None:
            plain.pop(name, None)
        else:
            plain[name] = value
    return plain


def run(*words, text=b"", env=None, cwd=None):
    """Runs `limitree <words>` with `text` as its standard input."""
    if isinstance(text, str):
        text = text.encode()
    done = subprocess.run([COMMAND, *map(str, words)], input=text,
                          capture_output=True, check=False, timeout=120,
                          env=env or environment(), cwd=cwd)
    return Done(done.returncode, done.stdout.decode("utf-8", "replace"),
                done.stderr.decode("utf-8", "replace"))


def good(*words, **options):
    """Like run(), but must succeed silently; returns standard output."""
    done = run(*words, **options)
    assert (done.code, done.err) == (0, ""), done.err
    return done.out


def bad(code, *words, **options):
    """Like run(), but must fail with `code`; returns standard error."""
    done = run(*words, **options)
    assert done.code == code, done.out + done.err
    assert done.err.endswith("\n")
    return done.err


def read_all(descriptor):
    """Returns the output of a terminal until its other end is closed."""
    read = b""
    while True:
        try:
            block = os.read(descriptor, 65536)
        except OSError:  # Linux: EIO when the other end is closed
            return read
        if not block:
            return read
        read += block


def on_terminal(*words, env=None, stdin=subprocess.DEVNULL, columns=100):
    """Runs `limitree <words>` with output and errors on a terminal each."""
    descriptors = {"out": pty.openpty(), "err": pty.openpty()}
    for _, theirs in descriptors.values():
        resize(theirs, columns)
    child = subprocess.Popen([COMMAND, *map(str, words)], stdin=stdin,
                             stdout=descriptors["out"][1],
                             stderr=descriptors["err"][1],
                             env=env or environment())
    shown = {}
    readers = []
    for name, (ours, theirs) in descriptors.items():
        os.close(theirs)
        readers.append(threading.Thread(
            target=lambda n=name, d=ours: shown.update({n: read_all(d)})))
        readers[-1].start()
    code = child.wait(timeout=120)
    for reader in readers:
        reader.join()
    for ours, _ in descriptors.values():
        os.close(ours)
    return Done(code, shown["out"].decode(), shown["err"].decode())


def resize(terminal, columns):
    fcntl.ioctl(terminal, termios.TIOCSWINSZ,
                struct.pack("HHHH", 50, columns, 0, 0))


def peak_memory(words, write_input):
    """Runs `limitree <words>`, feeds it by write_input(file), and returns its
    standard output and the most memory it held at a time, in bytes."""
    with subprocess.Popen([COMMAND, *map(str, words)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE,
                          env=environment()) as child:
        write_input(child.stdin)
        child.stdin.flush()
        # The child now waits for more input.  wait4() would later report too
        # much: it counts the memory that this process had when it forked.
        status = pathlib.Path(f"/proc/{child.pid}/status").read_text("ascii")
        out = child.communicate(timeout=120)[0].decode()
    assert child.returncode == 0
    kibibytes = re.search(r"VmHWM:\s+(\d+) kB", status).group(1)
    return out, int(kibibytes) * 1024


def log_line(second, address="192.0.2.7", request="GET / HTTP/1.1",
             minute=0, user="-"):
    """A line of the common format at 2026-03-02 10:<minute>:<second> UTC."""
    return (f"{address} - {user} [02/Mar/2026:10:{minute:02}:{second:02} +0000]"
            f' "{request}" 200 512\n')
