"""A cluster of real processes in a folder of its own, and the few words that tests need."""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time

BIN = pathlib.Path(os.environ.get("TWINYARD_BIN") or
                   pathlib.Path(__file__).resolve().parents[2] / "build/dev/bin").resolve()
IS_ROOT = os.geteuid() == 0
# Two users that no account has: what root's clusters run jobs for.
USER, OTHER_USER = 65001, 65002
ENDED = {"COMPLETED", "FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"}
POLL, POLL_MAX = 0.05, 0.5


class Skip(Exception):
    """The machine or the user does not allow this test; the text says what is missing."""


@dataclasses.dataclass
class Test:
    name: str
    run: object
    seconds: int


TESTS = []


def test(root=False, seconds=5):
    """Registers a test. `seconds`: about how long it takes; longer ones are started earlier."""
    def register(function):
        def run():
            if root and not IS_ROOT:
                raise Skip("needs root")
            function()
        module = function.__module__.removeprefix("test_")
        TESTS.append(Test(f"{module}.{function.__name__}", run, seconds))
        return function
    return register


def equal(got, want, what=""):
    assert got == want, f"{what + ': ' if what else ''}got {got!r}, want {want!r}"


def contains(text, part, what=""):
    assert part in text, f"{what + ': ' if what else ''}{part!r} is not in:\n{text}"


def wait_until(condition, what, seconds=30):
    """Polls until the condition is true, and returns what it returned."""
    deadline = time.monotonic() + seconds
    pause = POLL
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {seconds} s for: {what() if callable(what) else what}")
        time.sleep(pause)
        pause = min(pause * 1.2, POLL_MAX)  # Asking is not free: each time is a process or more.


@dataclasses.dataclass
class Ran:
    code: int
    out: str
    err: str

    def lines(self):
        return self.out.splitlines()


def as_user(uid):
    return ["setpriv", f"--reuid={uid}", f"--regid={uid}", "--clear-groups", "--"]


def pids_below(folder):
    """Processes, not yet reaped ones left out, that name a path below the folder anywhere."""
    mark = os.fsencode(f"{folder}/")
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        with contextlib.suppress(OSError):
            words = pathlib.Path(f"/proc/{entry}/cmdline").read_bytes()
            with contextlib.suppress(OSError):
                words += pathlib.Path(f"/proc/{entry}/environ").read_bytes()
            is_client = b"TWINYARD_TEST_CLIENT=" in words and b"SLURM_JOB_ID=" not in words
            if mark in words and not is_client:
                found[int(entry)] = words.split(b"\0\0")[0].replace(b"\0", b" ").decode(
                    errors="replace")[:150]
    return found


def mounts_below(folder):
    mounts = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return [m.split()[4] for m in mounts if m.split()[4].startswith(f"{folder}/")]


def cgroups_named(names):
    found = []
    for top, folders, _ in os.walk("/sys/fs/cgroup"):
        found += [f"{top}/{f}" for f in folders if f in names]
    return found


def sockets_below(folder):
    found = []
    for top, _, files in os.walk(folder):
        found += [f"{top}/{f}" for f in files
                  if pathlib.Path(top, f).is_socket()]
    return found


def clean_up_below(folder):
    """After a test that could not clean up itself: ends its processes and mounts, says which."""
    left = []
    for _ in range(20):
        pids = pids_below(folder)
        for pid, words in pids.items():
            left.append(f"left: process {pid} {words}")
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        if not pids:
            break
        time.sleep(POLL)
    for mount in reversed(mounts_below(folder)):
        left.append(f"left: mount {mount}")
        subprocess.run(["umount", "-l", mount], check=False)
    return left


class Cluster:
    """`twinyard up` on entry, `twinyard down` and the look for leftovers on exit."""

    def __init__(self, nodes=1, gpus=None, cpus=8, memory="16G", conf=None, emulate=None):
        self.top = pathlib.Path(tempfile.mkdtemp(prefix="c"))
        os.chmod(self.top, 0o711)
        self.dir = self.top / "y"
        # Where jobs are submitted from and write to; everybody's.
        self.work = self.top / "w"
        self.work.mkdir()
        os.chmod(self.work, 0o1777)
        self.options = ["--nodes", str(nodes)] if nodes else []
        if emulate is not None:
            self.options = ["--emulate", emulate]
        else:
            self.options += ["--cpus", str(cpus), "--memory", memory]
        if gpus:
            self.options += ["--gpus", gpus]
        if conf is not None:
            (self.top / "slurm.conf").write_text(conf)
            self.options += ["--config", str(self.top / "slurm.conf")]
        self.env = {
            "PATH": f"{BIN}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LANG": "C.UTF-8",
            "HOME": str(self.work), "TMPDIR": str(self.top), "SHELL": "/bin/sh",
            "SLURM_CONF": str(self.dir / "slurm.conf"), "TWINYARD_TEST_CLIENT": "1",
        }

    def __enter__(self):
        try:
            self.up(*self.options)
        except BaseException:
            self.show_logs()
            raise
        return self

    def __exit__(self, kind, error, trace):
        if kind is not None and not issubclass(kind, Skip):
            self.show_state()
        try:
            if (self.dir / "run").exists():
                self.down()
                self.after_down()
                self.assert_nothing_left()
        except AssertionError:
            if kind is None:
                self.show_logs()
                raise
        finally:
            if kind is None:
                shutil.rmtree(self.top, ignore_errors=True)

    def after_down(self):
        """For clusters that have more to take away."""

    # --- the cluster ---

    def up(self, *options):
        """Without the mark of clients: whatever inherits it counts as the cluster's own."""
        env = {k: v for k, v in self.env.items() if k != "TWINYARD_TEST_CLIENT"}
        got = self.run("twinyard", "up", "--dir", str(self.dir), "--detach", *options,
                       all_env=env, code=None, seconds=90)
        assert got.code == 0, f"twinyard up: {got.err}"
        return got

    def down(self, *options):
        got = self.run("twinyard", "down", "--dir", str(self.dir), *options, code=None, seconds=90)
        assert got.code == 0, f"twinyard down: {got.err}"

    def status(self):
        got = self.run("twinyard", "status", "--dir", str(self.dir), "--json", code=None)
        return json.loads(got.out)

    def controller_pid(self):
        return self.status()["controller"]["pid"]

    def agent_pid(self, node):
        return next(a["pid"] for a in self.status()["agents"] if a["node"] == node)

    def processes(self):
        return pids_below(self.dir)

    def assert_jobs_gone(self):
        """No process of any job is left; the daemons go on."""
        def left():
            daemons = ("twinyard-up", "twinyard-controller", "twinyard-agent")
            return {p: w for p, w in self.processes().items() if not any(d in w for d in daemons)}
        wait_until(lambda: not left(), lambda: f"no process of a job: {left()}", 10)

    def assert_nothing_left(self):
        nodes = [p.name for p in (self.dir / "nodes").iterdir()] if self.dir.exists() else []
        groups = [self.cgroup_of(node) for node in nodes]
        wait_until(lambda: not self.processes(), lambda: f"no process left: {self.processes()}", 5)
        equal(sockets_below(self.dir), [], "sockets left")
        equal(mounts_below(self.dir), [], "mounts left")
        equal(cgroups_named(groups), [], "cgroups left")

    def cgroup_of(self, node):
        """Named by the agent after its folder."""
        import hashlib
        folder = os.fsencode(self.dir / "nodes" / node)
        return f"twinyard_{hashlib.sha256(folder).hexdigest()[:8]}_{node}"

    def show_state(self):
        for command in (["squeue"], ["sinfo", "-N", "-l"], ["sacct", "-X"]):
            with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
                print("$", *command, "\n", self.run(*command, code=None).out, sep=" ")
        self.show_logs()

    def show_logs(self):
        for log in sorted((self.dir / "log").glob("*.log")):
            print(f"-- {log.name}")
            print(*log.read_text(errors="replace").splitlines()[-15:], sep="\n")

    # --- commands ---

    def run(self, *command, user=None, code=0, input=None, env=None, all_env=None, cwd=None,
            seconds=60):
        prefix = as_user(user) if user else []
        got = subprocess.run(
            [*prefix, *map(str, command)], env=all_env or {**self.env, **(env or {})},
            cwd=cwd or self.work, input=input, capture_output=True, text=True, timeout=seconds,
            errors="surrogateescape", stdin=subprocess.DEVNULL if input is None else None)
        ran = Ran(got.returncode, got.stdout, got.stderr)
        if code is not None:
            words = " ".join(map(str, command))[:300]
            assert ran.code == code, f"{words}: exit {ran.code}, want {code}\n{ran.out}{ran.err}"
        return ran

    def sbatch(self, *options, **more):
        """The id that sbatch printed."""
        return int(self.run("sbatch", "--parsable", *options, **more).out)

    def script(self, text, *options, **more):
        """Submits a text as a script on stdin."""
        return self.sbatch(*options, input="#!/bin/bash\n" + text, **more)

    def state(self, job):
        got = self.run("squeue", "-h", "-o", "%T", "-t", "all", "-j", job, code=None)
        return got.out.strip()

    def reason(self, job):
        return self.run("squeue", "-h", "-o", "%r", "-t", "all", "-j", job).out.strip()

    def states(self):
        rows = self.run("squeue", "-h", "-o", "%i %T", "-t", "all").lines()
        return {int(i): state for i, state in (row.split() for row in rows)}

    def wait_state(self, job, *states, seconds=30):
        return wait_until(lambda: self.state(job) in states and self.state(job),
                          lambda: f"job {job} to be {states}, is {self.state(job)} "
                                  f"({self.reason(job)})", seconds)

    def wait_ended(self, *jobs, seconds=60):
        def unfinished():
            states = self.states()
            return {j: states.get(j) for j in jobs if states.get(j) not in ENDED}
        wait_until(lambda: not unfinished(),
                   lambda: f"jobs to end: {dict(list(unfinished().items())[:10])}", seconds)

    def show(self, kind, name):
        """`scontrol show` as a dictionary."""
        text = self.run("scontrol", "-o", "show", kind, name).out
        return dict(word.split("=", 1) for word in text.split() if "=" in word)

    def history(self, job, fields="State,ExitCode"):
        """One allocation's line of sacct, its fields joined by |."""
        return wait_until(lambda: self.run("sacct", "-X", "-n", "-P", "-j", job, "-o", fields)
                          .out.strip(), f"job {job} in the history", 10)

    def output(self, job, name="slurm-{}.out"):
        return (self.work / name.format(job)).read_text(errors="replace")

    def wait_output(self, job, part, seconds=30, name="slurm-{}.out"):
        path = self.work / name.format(job)
        wait_until(lambda: path.exists() and part in path.read_text(errors="replace"),
                   lambda: f"{part!r} in {path.name}: "
                           f"{path.read_text() if path.exists() else 'no such file'}", seconds)
