#!/usr/bin/env python3
"""What a command costs before it does anything: people and tools run commands in loops.

Holds the stripped size of `twinyard` to 4 MB and its start to 1.5 times that of /bin/true, by the
medians of 200 runs of each in turn. Meant for the release preset.
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SIZE_MAX = 4_000_000
RATIO_MAX = 1.5
RUNS = 200
ROUNDS = 3  # The best counts: a busy machine disturbs, it never helps.


def seconds(command):
    begin = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - begin


def ratio(program):
    plain, ours = [], []
    for _ in range(RUNS):
        plain.append(seconds(["/bin/true"]))
        ours.append(seconds([program, "--version"]))
    return statistics.median(ours) / statistics.median(plain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", required=True, type=pathlib.Path)
    parser.add_argument("--ratio-max", default=RATIO_MAX, type=float, help="of a build that is not optimized: more")
    args = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="twinyard-start-"))
    try:
        program = folder / "twinyard"
        subprocess.run(["strip", "-o", program, args.bin / "twinyard"], check=True)
        size = program.stat().st_size
        best = min(ratio(program) for _ in range(ROUNDS))
    finally:
        shutil.rmtree(folder)
    print(f"stripped {size} bytes (at most {SIZE_MAX}), start {best:.2f} times that of /bin/true"
          f" (at most {args.ratio_max})")
    return 0 if size <= SIZE_MAX and best <= args.ratio_max else 1


if __name__ == "__main__":
    sys.exit(main())
