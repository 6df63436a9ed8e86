"""What the whole-cluster benchmarks share: a cluster in a folder of its own, timed commands, figures."""

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

BIN = Path(os.environ.get("TWINYARD_BIN", Path(__file__).resolve().parent.parent / "build/release/bin"))
LOAD_BENCH = BIN.parent / "libexec/load_bench"
DEV_NULL = [(os.POSIX_SPAWN_OPEN, fd, "/dev/null", os.O_RDWR, 0) for fd in (0, 1, 2)]
LARGE = 10_000


class Cluster:
    """`twinyard up --emulate …` in a folder of its own; down and removed at the end of the `with`."""

    def __init__(self, nodes, gpus="h100:8", cpus=96, memory="1000G"):
        self.emulate = f"nodes={nodes},gpus={gpus},cpus={cpus},memory={memory}"
        self.root = Path(tempfile.mkdtemp(prefix="twinyard-bench."))
        self.dir = self.root / "yard"
        self.socket = self.dir / "run/controller.sock"

    def __enter__(self):
        # Ended from outside, the cluster goes down all the same.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        subprocess.run([BIN / "twinyard", "up", "--dir", self.dir, "--detach", "--emulate", self.emulate],
                       check=True, stdout=subprocess.DEVNULL)
        self.environment = os.environ | {"SLURM_CONF": str(self.dir / "slurm.conf")}
        return self

    def __exit__(self, *_):
        controller = self.controller_pid()
        down = subprocess.Popen([BIN / "twinyard", "down", "--dir", self.dir], stdout=subprocess.DEVNULL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            down.wait(180)
        if down.poll() is None:
            print(f"the cluster (controller {controller}) does not go down; its folder stays: {self.dir}")
            return
        shutil.rmtree(self.root, ignore_errors=True)

    def controller_pid(self):
        status = subprocess.run([BIN / "twinyard", "status", "--dir", self.dir, "--json"],
                                capture_output=True, text=True).stdout
        try:
            return json.loads(status)["controller"]["pid"]
        except (ValueError, KeyError):
            return None

    def controller_memory_mb(self):
        for line in Path(f"/proc/{self.controller_pid()}/status").read_text().splitlines():
            if line.startswith("VmRSS"):
                return int(line.split()[1]) / 1024
        return 0

    def load(self, **options):
        """Runs load_bench; its key=value line as floats."""
        arguments = [LOAD_BENCH, "--socket", self.socket]
        for name, value in options.items():
            arguments.append("--" + name.replace("_", "-"))
            if value is not True:
                arguments.append(str(value))
        done = subprocess.run(arguments, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(done.stderr.strip())
        return {key: float(value) for key, value in (word.split("=") for word in done.stdout.split())}

    def spawn_ms(self, *command):
        """One command from spawn to exit, its output thrown away."""
        path = command[0] if command[0].startswith("/") else str(BIN / command[0])
        begun = time.perf_counter()
        pid = os.posix_spawn(path, command, self.environment, file_actions=DEV_NULL)
        _, status = os.waitpid(pid, 0)
        took = (time.perf_counter() - begun) * 1000
        if status != 0:
            raise SystemExit(f"{' '.join(command)} failed with status {status}")
        return took

    def interleaved_ms(self, commands, rounds):
        """Each command once a round, so that a busy moment hits them alike. Times by command."""
        times = {name: [] for name in commands}
        for _ in range(rounds):
            for name, command in commands.items():
                times[name].append(self.spawn_ms(*command))
        return times

    def sync_ms(self, rounds=100):
        """What the disk under the cluster takes for 4 KiB appended and synced: the floor of 'durable'."""
        times = []
        with open(self.root / "sync", "wb", buffering=0) as file:
            for _ in range(rounds):
                file.write(b"x" * 4096)
                begun = time.perf_counter()
                os.fdatasync(file.fileno())
                times.append((time.perf_counter() - begun) * 1000)
        return times

    def wait_for(self, condition, seconds=120):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise SystemExit("the cluster did not come to rest")
            time.sleep(0.1)


def percentile(times, share):
    ordered = sorted(times)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def median(times):
    return percentile(times, 0.5)


def line(what, *figures):
    print(f"{what:<58} " + "   ".join(figures), flush=True)


def times_line(what, times, goal=""):
    line(what, f"p50 {median(times):8.3f} ms", f"p95 {percentile(times, 0.95):8.3f} ms", goal)


def print_conditions(cluster, what):
    print(f"{what}; emulated nodes, durable (SQLite, synced); load {os.getloadavg()[0]:.1f}"
          f" on {os.cpu_count()} cores")
    times_line("disk: 4 KiB appended and synced", cluster.sync_ms())
