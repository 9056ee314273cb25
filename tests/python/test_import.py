"""`import limitree` loads little; names that need more load it when used."""

import ast
import os
import pathlib
import subprocess
import sys
import types

import pytest

import limitree

SOURCES = pathlib.Path(__file__).parents[2] / "python/limitree"

# What `import limitree` may load, besides what every Python has loaded when a
# program begins.
OWN = {"limitree", *(f"limitree.{name}" for name in (
    "_native", "clients", "decision", "default", "descriptor_limiter", "errors",
    "holds", "limiter", "limits", "locks", "wait"))}
OTHERS = {"__future__", "_thread", "_weakref", "time"}

# The names that are not there at once, and their modules.
LATER = {"AsyncLimiter": "aio", "AsyncReservation": "reservation",
         "CurrentLimit": "envoy",
         "Descriptor": "envoy", "DescriptorStats": "envoy",
         "DescriptorStatus": "envoy", "LimitStats": "stats",
         "EnvoyResponse": "envoy", "EnvoyStats": "envoy",
         "Reservation": "reservation", "Stats": "stats"}


def run(program):
    """Runs a program in a new process, and returns what it prints."""
    folder = pathlib.Path(limitree.__file__).parents[1]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run([sys.executable, "-c", program], check=True,
                          text=True, stdout=subprocess.PIPE,
                          env=environment).stdout


def loaded_by(program):
    """Returns the modules that a program loads."""
    return set(run("import sys; before = set(sys.modules)\n" + program +
                   "\nprint(*sys.modules.keys() - before)").split())


def test_import_loads_only_what_it_must():
    loaded = loaded_by("import limitree")
    own = {name for name in loaded if name.split(".")[0] == "limitree"}
    assert own == OWN
    assert loaded - own <= OTHERS


def test_a_decision_loads_no_more():
    loaded = loaded_by(
        "import limitree\n"
        "limiter = limitree.Limiter('schema: {job: {limits: [0, 1, 60]}}')\n"
        "assert limiter.authorize('job').allowed\n"
        "assert limiter.authorize('job').limited\n"
        "assert limiter.acquire('job', cost=0, timeout='1s').limit == 1\n"
        "limiter.reload()\n"
        "limiter.close()")
    assert loaded <= OWN | OTHERS | {"limitree.lines"}


@pytest.mark.parametrize("name", LATER)
def test_a_name_brings_its_module(name):
    module = f"limitree.{LATER[name]}"
    assert module in loaded_by(f"from limitree import {name}")
    assert getattr(limitree, name) is getattr(sys.modules[module], name)
    assert vars(limitree)[name] is getattr(limitree, name)


def test_only_the_limiter_of_asyncio_loads_asyncio():
    others = [name for name in LATER if name != "AsyncLimiter"]
    assert "asyncio" not in loaded_by(
        f"from limitree import {', '.join(others)}")
    assert "asyncio" in loaded_by("import limitree; limitree.AsyncLimiter")


def test_modules_are_attributes_as_if_they_were_there():
    for name in {*LATER.values(), "delivery", "demand", "headers"}:
        shown = run(f"import limitree; print(limitree.{name}.__name__)")
        assert shown == f"limitree.{name}\n"


def test_type_checkers_know_what_is_loaded_later():
    """What they read is what happens: no name is missing on one side."""
    tree = ast.parse((SOURCES / "__init__.py").read_text())
    block = next(node for node in tree.body if isinstance(node, ast.If))
    assert ast.unparse(block.test) == "TYPE_CHECKING"
    told = {one.name: node.module.split(".")[1] for node in block.body
            for one in node.names}
    assert told == LATER == limitree._LATER
    assert told.keys() <= set(limitree.__all__)


def test_dir_lists_every_name():
    assert set(limitree.__all__) <= set(dir(limitree))
    shown = run("import limitree\n"
                "assert 'AsyncLimiter' not in vars(limitree)\n"
                "print(*dir(limitree))").split()
    assert set(limitree.__all__) <= set(shown)
    assert shown == sorted(shown)


def test_star_imports_every_name():
    found = {}
    exec("from limitree import *", found)
    assert set(limitree.__all__) <= found.keys()
    assert found["AsyncLimiter"] is limitree.AsyncLimiter


def test_other_names_are_errors():
    for name in ("AsyncLimiterr", "asyncio", "later2", "_LATE", "django"):
        if isinstance(vars(limitree).get(name), types.ModuleType):
            continue  # another test has imported limitree.django
        with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
            getattr(limitree, name)
    with pytest.raises(ImportError, match="cannot import name 'Asynclimiter'"):
        exec("from limitree import Asynclimiter")


# Eight threads begin in the same moment, in a process that has loaded nothing.
AT_ONCE = """
import sys, threading
sys.setswitchinterval(1e-6)
import limitree
start = threading.Barrier(8)
found = []

def look(name):
    start.wait()
    found.append((name, getattr(limitree, name)))

names = ["AsyncLimiter", "Descriptor", "Stats", "AsyncLimiter"] * 2
threads = [threading.Thread(target=look, args=(name,)) for name in names]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert len(found) == 8, found
assert len({id(one) for _, one in found}) == 3, found
assert all(one is getattr(limitree, name) for name, one in found)
print("ok")
"""

# The same with a module that the limiter imports with its first use.
FIRST_REQUEST = """
import sys, threading
sys.setswitchinterval(1e-6)
import limitree
limiter = limitree.Limiter("schema: {job: {limits: [9, 1, 60]}}")
start = threading.Barrier(8)
kinds = []

def look():
    start.wait()
    kinds.append(type(limiter.envoy_stats()))

threads = [threading.Thread(target=look) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
assert kinds == [limitree.EnvoyStats] * 8, kinds
print("ok")
"""


@pytest.mark.parametrize("program", [AT_ONCE, FIRST_REQUEST])
def test_threads_get_one_object(program):
    assert run(program) == "ok\n"


def test_a_limiter_of_descriptors_does_not_import_while_a_request_waits():
    assert "limitree.envoy" in loaded_by(
        "import limitree\n"
        "limitree.Limiter(descriptors='domain: a\\ndescriptors: []')")
