"""Runs the tests of this folder, each in a process of its own; the last line says how many passed."""

import argparse
import importlib
import os
import pathlib
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import harness  # noqa: E402

SKIPPED = 77
TEST_SECONDS = 200


def load_tests():
    for file in sorted(HERE.glob("test_*.py")):
        importlib.import_module(file.stem)
    return harness.TESTS


def run_one(name):
    """In the child: one test; what it skips for is its last line."""
    test = next(t for t in load_tests() if t.name == name)
    try:
        test.run()
    except harness.Skip as reason:
        print(f"skipped: {reason}")
        return SKIPPED
    return 0


class Running:
    """A test under way: its process, which leads a group of its own, and what it prints."""

    def __init__(self, name, folder):
        self.name = name
        self.started = time.monotonic()
        self.folder = tempfile.mkdtemp(prefix="t", dir=folder)
        os.chmod(self.folder, 0o711)
        self.output = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [sys.executable, "-B", str(HERE / "run.py"), "--one", name],
            env=dict(os.environ, TMPDIR=self.folder), stdin=subprocess.DEVNULL,
            stdout=self.output, stderr=subprocess.STDOUT, start_new_session=True)
        self.pidfd = os.pidfd_open(self.process.pid)

    def seconds(self):
        return time.monotonic() - self.started

    def text(self):
        self.output.seek(0)
        return self.output.read().decode(errors="replace")

    def end(self):
        """Its exit code; whatever it left is ended and reported."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        code = self.process.wait()
        os.close(self.pidfd)
        left = harness.clean_up_below(self.folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        return code, left


def report(test, code, left):
    seconds = test.seconds()
    text = test.text().rstrip("\n")
    if code == SKIPPED:
        print(f"skip  {test.name}: {text.splitlines()[-1].removeprefix('skipped: ')}", flush=True)
        return "skipped"
    if code == 0 and not left:
        print(f"ok    {test.name} ({seconds:.1f} s)", flush=True)
        for line in text.splitlines():
            print(f"      {line}", flush=True)
        return "passed"
    why = "took too long" if code == -signal.SIGKILL else f"exit {code}"
    print(f"FAIL  {test.name} ({seconds:.1f} s, {why})", flush=True)
    for line in text.splitlines() + left:
        print(f"      {line}", flush=True)
    return "failed"


def run_all(names, at_once):
    results = {"passed": 0, "failed": 0, "skipped": 0}
    folder = tempfile.mkdtemp(prefix="tysys.")
    os.chmod(folder, 0o711)
    waiting, running = list(names), []
    try:
        while waiting or running:
            while waiting and len(running) < at_once:
                running.append(Running(waiting.pop(0), folder))
            select.select([r.pidfd for r in running], [], [], 1)
            for test in list(running):
                if test.process.poll() is None and test.seconds() < TEST_SECONDS:
                    continue
                running.remove(test)
                results[report(test, *test.end())] += 1
    finally:
        for test in running:
            test.end()
        shutil.rmtree(folder, ignore_errors=True)
    return results


def is_open_to_all(folder):
    """Others may enter it and every folder above."""
    return all(path.stat().st_mode & 1 for path in [folder, *folder.parents])


def programs_for_all(folder):
    """Jobs run as other users: where the build lies below a closed folder they get a copy of the programs."""
    copy = folder / "programs"
    for part in ("bin", "libexec"):
        shutil.copytree(harness.BIN.parent / part, copy / part, symlinks=True)
    for path in [folder, copy, copy / "bin", copy / "libexec"]:
        path.chmod(0o755)
    os.environ["TWINYARD_BIN"] = str(copy / "bin")


def run_as_everybody(names, at_once):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="tybin."))
    try:
        if harness.IS_ROOT and not is_open_to_all(harness.BIN):
            programs_for_all(folder)
        return run_all(names, at_once)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-j", dest="at_once", type=int, default=4, help="tests at a time")
    parser.add_argument("-k", dest="word", default="", help="only tests with this in their name")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--update", action="store_true", help="nothing here has expected output")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return run_one(options.one)
    # Long ones first, so that none is left alone at the end.
    tests = sorted(load_tests(), key=lambda t: -t.seconds)
    names = [t.name for t in tests if options.word in t.name]
    if options.list:
        print(*names, sep="\n")
        return 0
    started = time.monotonic()
    results = run_as_everybody(names, options.at_once)
    print(f"tests/system took {time.monotonic() - started:.0f} s as uid {os.getuid()}")
    skipped = f", {results['skipped']} skipped" if results["skipped"] else ""
    print(f"{results['passed']} passed, {results['failed']} failed{skipped}")
    return 1 if results["failed"] or not results["passed"] else 0


if __name__ == "__main__":
    sys.exit(main())
