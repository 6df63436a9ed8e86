"""Full and read-only disks: under the store, and under the output of a job."""

import contextlib
import os
import pathlib
import subprocess

from harness import Cluster, Skip, contains, equal, test, wait_until

@contextlib.contextmanager
def small_disk(path, size):
    path.mkdir(parents=True, exist_ok=True)
    got = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=1777", "tmpfs", path],
                         capture_output=True, text=True)
    if got.returncode != 0:
        raise Skip(f"no tmpfs can be mounted: {got.stderr.strip()}")
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


def fill(path):
    filler = pathlib.Path(path) / "filler"
    with contextlib.suppress(OSError), open(filler, "wb", buffering=0) as file:
        while file.write(b"\0" * 4096):
            pass
    return filler


class ClusterOnSmallDisk(Cluster):
    """Its state lies on a tmpfs; the agents' folders and the jobs' output do not."""

    def __init__(self, **options):
        super().__init__(**options)
        self.disk = contextlib.ExitStack()
        self.first = None

    def __enter__(self):
        self.disk.enter_context(small_disk(self.dir / "state", "8m"))
        os.chmod(self.dir / "state", 0o700)
        return super().__enter__()

    def __exit__(self, *error):
        if self.first:
            self.first.kill()
            self.first.communicate()
        (self.dir / "state" / "filler").unlink(missing_ok=True)
        super().__exit__(*error)

    def after_down(self):
        self.disk.close()

    def assert_new_work_is_refused(self):
        # The first one meets the full disk in its own batch and learns of its fate when that is
        # known; whoever comes after it is refused at once.
        self.first = subprocess.Popen(["sbatch", "-H", "--parsable", "--wrap", "true"],
                                      env=self.env, cwd=self.work, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, text=True)
        log = self.dir / "log" / "controller.log"
        wait_until(lambda: "will be tried again" in log.read_text(), "the store to refuse")
        got = self.run("sbatch", "-H", "--wrap", "true", code=1, seconds=20)
        contains(got.err, "sbatch: error: Batch job submission failed: the controller cannot "
                          "store new work: ")
        equal(got.err.count("\n"), 1, f"lines of {got.err!r}")

    def assert_works_again(self):
        wait_until(lambda: self.run("sbatch", "--mem=1M", "-o", "after.out", "--wrap",
                                    "echo after", code=None).code == 0, "work to be taken again")
        if self.first:
            first, said = self.first.communicate(timeout=60)
            assert self.state(first.strip()) == "PENDING", f"the first one: {first}{said}"
        wait_until(lambda: (self.work / "after.out").exists()
                   and (self.work / "after.out").read_text() == "after\n", "the job after it")


RUNNING = "echo ready\nwhile [ ! -e finish ]; do sleep 0.1; done\necho done\nexit 3\n"


@test(root=True, seconds=20)
def a_full_disk_under_the_store():
    with ClusterOnSmallDisk(nodes=1) as c:
        job = c.script(RUNNING, "--mem=16M")
        c.wait_output(job, "ready")
        pid = c.controller_pid()
        filler = fill(c.dir / "state")
        c.assert_new_work_is_refused()
        equal(c.state(job), "RUNNING")
        # It ends while its end cannot be stored; that is not lost.
        (c.work / "finish").touch()
        c.wait_output(job, "done")
        equal(c.controller_pid(), pid, "the controller")
        filler.unlink()
        c.assert_works_again()
        c.wait_ended(job)
        equal(c.history(job), "FAILED|3:0")


@test(root=True, seconds=70)
def a_read_only_disk_under_the_store():
    # A disk with files open for writing cannot be made read-only from outside, so it is between two lives.
    with ClusterOnSmallDisk(nodes=1) as c:
        state = c.dir / "state"
        job = c.script(RUNNING, "--mem=16M")
        c.wait_output(job, "ready")
        c.down("--keep-jobs")
        subprocess.run(["mount", "-o", "remount,ro", state], check=True)
        got = c.run("twinyard", "up", "--dir", c.dir, "--detach", code=1, seconds=90)
        contains(got.err, "twinyard up: ")
        subprocess.run(["mount", "-o", "remount,rw", state], check=True)
        (c.work / "finish").touch()
        c.wait_output(job, "done")
        c.run("twinyard", "down", "--keep-jobs", "--dir", c.dir, code=None)
        c.up()
        c.assert_works_again()
        c.wait_ended(job)
        equal(c.history(job), "FAILED|3:0")


@test(root=True)
def a_full_disk_under_the_output_of_a_job():
    with Cluster(nodes=1) as c, small_disk(c.work / "small", "64k") as disk:
        job = c.script("set -e\nfor i in $(seq 10000); do echo line $i; done\n",
                       "-o", disk / "%j.out")
        other = c.sbatch("--wrap", "echo fine")
        c.wait_ended(job, other)
        equal(c.history(job, "State"), "FAILED")
        equal(c.history(other), "COMPLETED|0:0")
        equal(c.output(other), "fine\n")
        assert c.controller_pid()
