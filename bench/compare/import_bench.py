"""How long `import limitree` takes in a new process, in milliseconds.

The programs take turns, so that a slow moment of the machine meets them all;
the result is the median of what each takes longer than an empty one.
"""

import statistics
import subprocess
import sys
import time

ROUNDS = 40
EMPTY = "pass"
PROGRAMS = [EMPTY, "import limitree", "import limitree; limitree.Descriptor",
            "import typing", "import limitree; limitree.AsyncLimiter",
            "import asyncio"]


def run(program):
    """Returns the milliseconds from the start of a process to its end."""
    start = time.perf_counter()
    subprocess.run([sys.executable, "-c", program], check=True)
    return (time.perf_counter() - start) * 1e3


def main():
    for program in PROGRAMS:
        run(program)  # compiles what is not compiled yet
    times = {program: [] for program in PROGRAMS}
    for _ in range(ROUNDS):
        for program in PROGRAMS:
            times[program].append(run(program))
    bare = statistics.median(times[EMPTY])
    print(f"{'python -c pass':45} {bare:6.1f} ms")
    for program in PROGRAMS[1:]:
        more = statistics.median(times[program]) - bare
        print(f"{program:45} {more:+6.1f} ms")


if __name__ == "__main__":
    main()
