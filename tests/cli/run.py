#!/usr/bin/env python3
"""Text tests of the commands: tests/cli/*.test hold command lines and what they print.

A file:
    # comment
    cluster: --nodes 2 --gpus h100:8     its own cluster by `twinyard up` with these options

    $ sbatch --wrap true                 a command for sh; "> " goes on with it
    Submitted batch job 1                its stdout
    ! sbatch: error: ...                 its stderr
    ? 1                                  its exit status, where it is not 0
    wait 1                               waits until job 1 has ended

Each file runs in a folder of its own. Dates, the user, the host and that folder stand as DATE,
USER, HOST and DIR. With --update what came out is written into the files: read the diff.
"""

import argparse
import getpass
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
WAIT_SECONDS = 60
POLL_SECONDS = 0.05
COMMAND_SECONDS = 120
LASTING_STATES = {"PENDING", "RUNNING", "COMPLETING", "CONFIGURING", "SUSPENDED"}


class Case:
    """One command and what is expected of it."""

    def __init__(self, command):
        self.command = command
        self.expected = []

    def command_lines(self):
        first, *others = self.command.split("\n")
        return ["$ " + first] + ["> " + line for line in others]


def parse(path):
    """(head lines, cluster options or None, steps); a step is a Case or a plain line."""
    head, steps, cluster = [], [], None
    case = None
    for line in path.read_text().splitlines():
        if line.startswith("$ "):
            case = Case(line[2:])
            steps.append(case)
        elif line.startswith("> ") and case is not None and not case.expected:
            case.command += "\n" + line[2:]
        elif line.startswith("wait ") or line.startswith("#") or not steps:
            if line.startswith("cluster:"):
                cluster = line[len("cluster:"):].split()
            (steps if steps else head).append(line)
            case = None
        elif case is not None and line != "":
            case.expected.append(line)
        else:
            case = None
            steps.append(line)
    return head, cluster, steps


class Yard:
    """The folder, environment and perhaps cluster of one file."""

    def __init__(self, bin_dir, cluster):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="twinyard-cli-"))
        self.work = self.folder / "work"
        self.work.mkdir()
        self.cluster = cluster
        self.env = {
            "PATH": f"{bin_dir}:/usr/local/bin:/usr/bin:/bin",
            "HOME": str(self.work),
            "USER": getpass.getuser(),
            "LC_ALL": "C",
            "TZ": "UTC",
            "SLURM_CONF": str(self.folder / "yard" / "slurm.conf"),
        }

    def __enter__(self):
        if self.cluster is not None:
            up = ["twinyard", "up", "--dir", str(self.folder / "yard"), "--detach", *self.cluster]
            subprocess.run(up, env=self.env, cwd=self.work, check=True, timeout=COMMAND_SECONDS,
                           stdout=subprocess.DEVNULL)
        return self

    def __exit__(self, *_):
        if self.cluster is not None:
            down = ["twinyard", "down", "--dir", str(self.folder / "yard")]
            subprocess.run(down, env=self.env, cwd="/", timeout=COMMAND_SECONDS, check=False,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.folder, ignore_errors=True)

    def mask(self, text):
        text = text.replace(str(self.work), "DIR").replace(str(self.folder), "YARD")
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "DATE", text)
        text = re.sub(rf"\b{re.escape(getpass.getuser())}\b", "USER", text)
        return re.sub(rf"\b{re.escape(socket.gethostname())}\b", "HOST", text)

    def run(self, command):
        done = subprocess.run(["sh", "-c", command], env=self.env, cwd=self.work, text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, check=False,
                              errors="replace", timeout=COMMAND_SECONDS)
        lines = self.mask(done.stdout).splitlines()
        lines += ["! " + line for line in self.mask(done.stderr).splitlines()]
        # Blank lines separate cases.
        lines = [line if line.strip() else "." for line in lines]
        return lines + ([f"? {done.returncode}"] if done.returncode != 0 else [])

    def wait(self, job):
        query = ["squeue", "-h", "-t", "all", "-o", "%T", "-j", job]
        until = time.monotonic() + WAIT_SECONDS
        while time.monotonic() < until:
            done = subprocess.run(query, env=self.env, text=True, capture_output=True, check=False)
            state = done.stdout.strip()
            if state and state not in LASTING_STATES:
                return True
            time.sleep(POLL_SECONDS)
        return False


def run_file(path, bin_dir, update):
    """(passed, failed) cases of a file."""
    head, cluster, steps = parse(path)
    passed = failed = 0
    written = list(head)
    with Yard(bin_dir, cluster) as yard:
        for step in steps:
            if isinstance(step, Case):
                got = yard.run(step.command)
                if got == step.expected:
                    passed += 1
                else:
                    failed += 1
                    report(path, step, got)
                written += step.command_lines() + got
                continue
            written.append(step)
            if step.startswith("wait ") and not yard.wait(step.split()[1]):
                failed += 1
                print(f"{path.name}: {step}: not over after {WAIT_SECONDS} s")
    if update and failed:
        path.write_text("\n".join(written).rstrip("\n") + "\n")
    return passed, failed


def report(path, case, got):
    print(f"--- {path.name}: {case.command}")
    for line in case.expected:
        print(f"-{line}")
    for line in got:
        print(f"+{line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--bin", default=HERE.parents[1] / "build/dev/bin", type=pathlib.Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("files", nargs="*", type=pathlib.Path)
    args = parser.parse_args()
    passed = failed = 0
    for path in args.files or sorted(HERE.glob("*.test")):
        good, bad = run_file(path, args.bin.resolve(), args.update)
        passed += good
        failed += bad
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
