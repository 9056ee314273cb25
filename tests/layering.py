"""Checks the floors of core/: a file may include only floors below its own.

    core/base < core/text < core/tree, core/descriptors < core/limiter < capi
    core/base < core/store < core/limiter

    core/base < io < core/store/remote, core/store/redis, core/store/memcached,
    server

core/tree, core/descriptors and core/store are siblings: none may include
another.  Nor may core/store include core/text.
bindings/, server/ and examples/ may include only what a user can: limitree.h
and files beside them; server/ has io/ and two files of core/base, too, and
bindings/cli/serve.cpp may start the server.  The command and the server share
bindings/pages.  The modules of python/limitree must not import each other in a
circle, and neither must the files of node/src and the units of C++, which are a
.cpp and its .hpp.

The rooms of core/store have an order too:

    common < wire < route < drivers, of core/store/remote
    common < wire < script, route < drivers < the rest of core/store/redis

remote is below redis and memcached, which are two protocols on one ground.
buckets is below memory and shared, which are two homes of the same tables.
Stores may not include each other, nor may script and route.  decorators may use
memory, because it keeps denials as memory keeps buckets.

So do the rooms of server/:

    net < h2, stats < trace < grpc < services
    net < decisions < services, web, config
    h2, trace < http; http, json < web; grpc, json < config
    config, web < the rest of server

Usage: layering.py [root of the sources]
"""

import pathlib
import re
import sys

import import_circles

# The floors of core, and which other floors each of them may include.
FLOORS = {
    "base": [],
    "text": ["base"],
    "tree": ["base", "text"],
    "descriptors": ["base", "text"],
    "store": ["base"],
    "limiter": ["base", "text", "tree", "descriptors", "store"],
}
PUBLIC = {"limitree.h", "limitree.hpp"}
GENERATED = ".inc"  # what cmake/embed.cmake makes
PAGES = "pages/pages.hpp"
SKETCH = "heavy_hitters.hpp"  # of the command and the server
OF_SEVERAL_BINDINGS = {"log_queue.hpp", PAGES, SKETCH}
OF_CORE_IN_SERVER = {"base/digits.hpp", "base/utf8.hpp"}
STARTS_SERVER = ("bindings/cli/serve.cpp", "serve.hpp")

# Libraries that io/ may not include: it serves stores and the service alike.
NOT_IN_IO = {"hiredis", *(set(FLOORS) - {"base"}), *PUBLIC}

# The ground of the stores on other machines.
REMOTE = ("store/remote/common", "store/remote/wire", "store/remote/route",
          "store/remote/drivers")

# The rooms of core/store, and which other rooms each of them may include.
ROOMS = {
    "store": [],
    "store/buckets": ["store"],
    "store/memory": ["store", "store/buckets"],
    "store/shared": ["store", "store/buckets"],
    "store/decorators": ["store", "store/buckets", "store/memory"],
    "store/remote/common": ["store"],
    "store/remote/wire": ["store", "store/remote/common"],
    "store/remote/route": ["store", "store/remote/common",
                           "store/remote/wire"],
    "store/remote/drivers": ["store", "store/remote/common",
                             "store/remote/wire", "store/remote/route"],
    "store/memcached": ["store", "store/buckets", *REMOTE],
    "store/redis/common": ["store", *REMOTE],
    "store/redis/wire": ["store", "store/redis/common", *REMOTE],
    "store/redis/script": ["store", "store/redis/common", "store/redis/wire",
                           *REMOTE],
    "store/redis/route": ["store", "store/redis/common", "store/redis/wire",
                          *REMOTE],
    "store/redis/drivers": ["store", "store/redis/common", "store/redis/wire",
                            "store/redis/script", "store/redis/route",
                            *REMOTE],
    "store/redis": ["store", "store/redis/common", "store/redis/wire",
                    "store/redis/script", "store/redis/route",
                    "store/redis/drivers", *REMOTE],
}
USES_IO = {"redis", "memcached", "remote"}

# The rooms of server/, and which other rooms each of them may include.  Only
# these rooms know each of the libraries.
SERVER_ROOMS = {
    "net": [],
    "h2": ["net"],
    "stats": ["net"],
    "trace": ["net", "stats"],
    "grpc": ["net", "h2", "trace"],
    "decisions": ["net"],
    "services": ["net", "h2", "grpc", "decisions"],
    "http": ["net", "h2", "stats", "trace"],
    "json": ["net"],
    "web": ["net", "h2", "http", "json", "decisions", "stats"],
    "config": ["net", "h2", "grpc", "decisions", "stats", "trace", "json"],
    "": ["net", "h2", "stats", "trace", "grpc", "decisions", "services",
         "http", "json", "web", "config"],
}
SERVER_LIBRARIES = {
    "curl": ["trace"],
    "llhttp.h": ["http"],
    "nghttp2": ["h2"],
    "nlohmann": ["services", "json"],
    "openssl": [],
    "protozero": ["grpc", "services", "config", "trace"],
    "re2": ["stats"],
    "zlib.h": ["grpc"],
}

# The ground is values and arithmetic: no I/O, no locks, no threads.
NOT_ON_GROUND = set(
    "atomic condition_variable cstdio filesystem fstream future iostream"
    " istream mutex ostream shared_mutex stdio.h stop_token thread".split())

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">]+)[">]', re.M)


def sources(root, folder):
    for path in sorted((root / folder).rglob("*")):
        if path.suffix in {".c", ".h", ".cpp", ".hpp"}:
            text = path.read_text(encoding="utf-8", errors="replace")
            yield path, INCLUDE.findall(text)


def is_above(name, floor):
    """Whether floor `name` is out of reach for a file on `floor`."""
    return name != floor and name not in FLOORS[floor]


def wrong_in_room(room, name):
    """What is wrong if a file in `room` of core/store includes `name`."""
    other = name.rpartition("/")[0]
    if room not in ROOMS:
        return f"{room} is no room of core/store"
    if other == room or other in ROOMS[room]:
        return None
    return f"may not include {other}/"


def wrong_in_core(root, path, mark, name):
    inside = path.relative_to(root / "core")
    floor = inside.parts[0]
    if floor not in FLOORS:
        return "is on no floor of core/"
    first = name.split("/")[0]
    if (first == "io" and floor == "store" and len(inside.parts) > 2
            and inside.parts[1] in USES_IO):
        return None
    if first in FLOORS and "/" in name:
        if is_above(first, floor):
            return f"may not include {first}/"
        if first == floor == "store":
            return wrong_in_room(inside.parent.as_posix(), name)
        return None
    if name.split("/")[-1] in PUBLIC:
        return f"may not include {name}: core/ knows no C interface"
    if mark == '"':
        return f'"{name}" must be written from core/, as "{floor}/..."'
    counts_owners = name == "atomic" and path.stem == "shared_text"
    if floor == "base" and name in NOT_ON_GROUND and not counts_owners:
        return f"may not include <{name}>: base/ is values and arithmetic"
    if name.startswith("openssl/") and path.stem != "tls":
        return f"may not include <{name}>: only core/store/redis/wire/tls may"
    if name == "yaml.h" and path.stem != "yaml":
        return "may not include <yaml.h>: only core/text/yaml.cpp may"
    return None


def wrong_in_io(root, path, mark, name):
    first = name.split("/")[0]
    if first in NOT_IN_IO or (mark == '"' and first not in {"base", "io"}):
        return f"may not include {name}: only core/base and io/"
    return None


def wrong_in_capi(root, path, mark, name):
    if path.name == "limitree.h":
        allowed = {"stddef.h", "stdint.h"}
        return None if name in allowed else f"may not include {name}"
    if mark == "<" or name.split("/")[0] in FLOORS:
        return None
    return None if is_beside(root / "capi", path, name) else (
        f"may not include {name}: neither core/ nor capi/")


def wrong_outside(root, path, mark, name):
    if name.split("/")[0] in FLOORS and "/" in name:
        return f"may not include {name}: only limitree.h"
    own = root.joinpath(*path.relative_to(root).parts[:2])
    if own == path:  # lies in bindings/ or examples/ itself
        own = path.parent
    if (mark == "<" or name in PUBLIC or name in OF_SEVERAL_BINDINGS
            or name.endswith(GENERATED) or is_beside(own, path, name)):
        return None
    if (path.relative_to(root).as_posix(), name) == STARTS_SERVER:
        return None
    return f"may not include {name}: neither limitree.h nor its own"


def wrong_in_server(root, path, mark, name):
    room = path.relative_to(root / "server").parent.as_posix().strip(".")
    if room not in SERVER_ROOMS:
        return f"{room} is no room of server/"
    first = name.split("/")[0]
    if first == "io" or name in OF_CORE_IN_SERVER or name in (PAGES, SKETCH):
        return None
    knows = SERVER_LIBRARIES.get(first, [room])
    if room not in knows:
        only = " and ".join(f"server/{one}" for one in knows) or "io/"
        return f"may not include <{name}>: only {only} may"
    if first in FLOORS and "/" in name:
        return f"may not include {name}: only limitree.h"
    if mark == "<" or name in PUBLIC or name.endswith(GENERATED):
        return None
    other = name.rpartition("/")[0]
    if other != room and other not in SERVER_ROOMS[room]:
        return f"may not include {name}"
    return None


def is_beside(folder, path, name):
    """Whether `name`, seen from `folder` or from `path`, lies in `folder`."""
    found = [(start / name).resolve() for start in (folder, path.parent)]
    return any(one.is_file() and folder.resolve() in one.parents
               for one in found)


RULES = {
    "io": wrong_in_io,
    "core": wrong_in_core,
    "capi": wrong_in_capi,
    "bindings": wrong_outside,
    "server": wrong_in_server,
    "examples": wrong_outside,
}


def check(root):
    """Returns one line for each include and each circle that breaks a rule."""
    bad = []
    for folder, rule in RULES.items():
        for path, includes in sources(root, folder):
            for mark, name in includes:
                wrong = rule(root, path, mark, name)
                if wrong:
                    bad.append(f"{path.relative_to(root)}: {wrong}")
    return (bad + import_circles.check(root / "python")
            + import_circles.check_units(root))


def main():
    here = pathlib.Path(__file__).resolve().parent.parent
    root = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else here
    sys.exit("\n".join(check(root.resolve())) or 0)


if __name__ == "__main__":
    main()
