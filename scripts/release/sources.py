"""The sources of AWS-LC, hiredis and libyaml, as Debian keeps them.

apt checks their signatures, and Debian's patches are applied.
"""

import dataclasses
import functools
import pathlib
import re
import shutil
import subprocess

from platforms import BUILD
from run import ask, fail, run

KEYS = "/usr/share/keyrings/debian-archive-keyring.gpg"
# The releases that have them.  AWS-LC has no branch that lives for years:
# faults are mended in its next version, which Debian unstable has first, in the
# package of its binding for Rust.
SUITES = {"rust-aws-lc-sys": "sid", "hiredis": "trixie", "libyaml": "trixie"}
FOLDER = BUILD / "sources"


@dataclasses.dataclass(frozen=True)
class Source:
    """One source package, unpacked and with Debian's patches."""

    name: str
    version: str
    """Debian's: "3.5.7-1~deb13u2"."""
    folder: pathlib.Path

    @property
    def upstream(self):
        return self.version.partition("-")[0]


def mirror():
    """The mirror of Debian that this machine uses."""
    listed = pathlib.Path("/etc/apt/sources.list.d/debian.sources")
    old = pathlib.Path("/etc/apt/sources.list")
    for file, pattern in ((listed, r"^URIs: *(\S+?)/? *$"),
                          (old, r"^deb +(?:\[.*\] +)?(\S+?)/? ")):
        if file.exists():
            found = re.search(pattern, file.read_text(), re.M)
            if found:
                return found[1]
    fail("needs a Debian machine: there is no mirror in /etc/apt")


def apt(lines):
    """Settings with which apt knows just the repositories of `lines`, whatever
    the machine has; and its package lists are its own."""
    folder = BUILD / "apt"
    for part in ("lists/partial", "cache/archives/partial"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("\n".join(lines) + "\n")
    settings = folder / "apt.conf"
    settings.write_text("".join(f'{key} "{value}";\n' for key, value in (
        ("Dir::Etc::SourceList", folder / "sources.list"),
        ("Dir::Etc::SourceParts", "-"),
        ("Dir::State::Lists", folder / "lists"),
        ("Dir::Cache", folder / "cache"),
        ("APT::Sandbox::User", "root"),
    )))
    return {"APT_CONFIG": str(settings)}


def lines(kind, suite, architecture="amd64"):
    """Lines of sources.list: `kind` is deb or deb-src."""
    start = f"{kind} [signed-by={KEYS} arch={architecture}]"
    made = [f"{start} {mirror()} {suite} main"]
    if suite not in ("testing", "sid"):
        made.append(f"{start} {mirror()}-security {suite}-security main")
    return made


def _versions(name, env):
    """From the newest: a mirror may not have all that it lists."""
    words = [f"{key}={value}" for key, value in env.items()]
    listed = ask("env", *words, "apt-cache", "showsrc", "--only-source", name)
    found = set(re.findall(r"^Version: (\S+)$", listed, re.M))
    return sorted(found, key=functools.cmp_to_key(_compare), reverse=True)


def _compare(one, other):
    if one == other:
        return 0
    is_newer = subprocess.run(
        ["dpkg", "--compare-versions", one, "gt", other], check=False)
    return 1 if is_newer.returncode == 0 else -1


def fetch():
    """The sources by their names; downloads what is not there."""
    return {name: get(name, suite) for name, suite in SUITES.items()}


def get(name, suite):
    """The newest that the suite has of this source package."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    return _unpacked(name) or _download(name, suite)


def _unpacked(name):
    done = FOLDER / f"{name}.version"
    if not done.exists():
        return None
    return Source(name, done.read_text().strip(), FOLDER / name)


def _download(name, suite):
    env = apt(lines("deb-src", suite))
    run("apt-update", ["apt-get", "--quiet", "update"], env=env)
    for version in _versions(name, env):
        place = FOLDER / "download"
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            run(f"source-{name}",
                ["apt-get", "--quiet", "source", "--download-only",
                 f"{name}={version}"], cwd=place, env=env)
        except SystemExit:
            continue
        shutil.rmtree(FOLDER / name, ignore_errors=True)
        [description] = place.glob("*.dsc")
        # apt has checked it by the signature of the repository.
        run(f"unpack-{name}", ["dpkg-source", "--extract", "--no-check",
                               description, FOLDER / name])
        (FOLDER / f"{name}.version").write_text(version + "\n")
        return _unpacked(name)
    fail(f"the mirror has no source of {name} in {suite}")
