"""Makes the packages of a release, in build/packages/dist.

usage: build.py [platform ...]

Without names, for all platforms.  Needs a Debian machine for the sources of
OpenSSL, hiredis and libyaml, and the headers of each CPython; `./dev release`
installs the rest and calls it.
"""

import sys
import time

import addons
import libraries
import compilation
import sources
import wheels
from platforms import PLATFORMS
from run import fail


def main(names):
    unknown = [name for name in names if name not in PLATFORMS]
    if unknown:
        fail(f"no such platform: {', '.join(unknown)}; there are: "
             f"{', '.join(PLATFORMS)}")
    found = sources.fetch()
    wheels.sdist()
    addons.main_package()
    for name in names or PLATFORMS:
        start = time.monotonic()
        build(PLATFORMS[name], found)
        print(f"{name}: {time.monotonic() - start:.0f} s", flush=True)


def build(platform, found):
    libraries.build(platform, found)
    compilation.configure(platform)
    addons.build(platform, found)
    wheels.build(platform, found)


if __name__ == "__main__":
    main(sys.argv[1:])
