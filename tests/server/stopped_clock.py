"""A clock that a test sets."""

import os
import sys


class StoppedClock:
    """A clock for programs that are started with its variables."""

    def __init__(self, path, second):
        self.path = path
        self.variables = {"STOPPED_CLOCK": str(path),
                          "LD_PRELOAD": os.environ["LIMITREE_TEST_CLOCK"]}
        self.set(second)

    def set(self, second):
        # In place, because the programs have mapped the file.
        with open(self.path, "r+b" if self.path.exists() else "xb") as file:
            file.write(second.to_bytes(8, sys.byteorder))
