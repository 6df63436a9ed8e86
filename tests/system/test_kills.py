"""kill -9 of controller and agents: nothing acknowledged is lost, nothing runs twice."""

import contextlib
import os
import random
import signal
import threading
import time

from harness import Cluster, equal, test, wait_until

SEED = 20260801


def kill_controller(c):
    with contextlib.suppress(ProcessLookupError):
        if pid := c.controller_pid():
            os.kill(pid, signal.SIGKILL)


def kill_agent(c, node):
    with contextlib.suppress(ProcessLookupError):
        if pid := c.agent_pid(node):
            os.kill(pid, signal.SIGKILL)


class Storm:
    """Submits jobs from several processes at a time; keeps the ids that sbatch printed."""

    def __init__(self, c, count, workers, *options):
        self.c, self.options = c, options
        self.ids, self.names, self.failed = {}, list(range(count)), []
        self.lock = threading.Lock()
        (c.work / "runs").mkdir(exist_ok=True)
        os.chmod(c.work / "runs", 0o777)
        self.threads = [threading.Thread(target=self.work) for _ in range(workers)]
        for thread in self.threads:
            thread.start()

    def work(self):
        while True:
            with self.lock:
                if not self.names:
                    return
                name = self.names.pop()
            # One line a run, appended: a second run of the same job would show.
            got = self.c.run("sbatch", "--parsable", "--mem=1M", "-o", "/dev/null", *self.options,
                             "--wrap", f"echo $SLURM_JOB_ID >>runs/{name}", code=None)
            with self.lock:
                if got.code == 0:
                    self.ids[name] = int(got.out)
                else:
                    self.failed.append(got.err)

    def done(self):
        return not any(t.is_alive() for t in self.threads)

    def join(self):
        for thread in self.threads:
            thread.join()

    def assert_each_ran_once(self):
        equal(self.failed, [], "submissions that failed")
        ids = list(self.ids.values())
        equal(len(set(ids)), len(ids), "different ids")
        self.c.wait_ended(*ids, seconds=90)
        rows = self.c.run("sacct", "-X", "-n", "-P", "-j", ",".join(map(str, ids)),
                          "-o", "JobID,State,ExitCode").lines()
        equal(len(rows), len(ids), "lines of sacct")
        wrong = [row for row in rows if not row.endswith("|COMPLETED|0:0")]
        equal(wrong, [], "jobs with another end")
        runs = {name: (self.c.work / "runs" / str(name)).read_text() for name in self.ids}
        wrong = {n: r for n, r in runs.items() if r != f"{self.ids[n]}\n"}
        equal(wrong, {}, "jobs that ran not once")
        known = [int(i) for i in self.c.run("squeue", "-h", "-t", "all", "-o", "%i").lines()]
        extra = set(known) - set(ids)
        return extra


RUNNING = "echo $$ >>started.$SLURM_JOB_ID\nwhile [ ! -e finish ]; do sleep 0.1; done\nexit 5\n"


def start_four(c):
    jobs = [c.script(RUNNING, "-w", f"n{i}", "--mem=16M") for i in range(1, 5)]
    for job in jobs:
        wait_until(lambda j=job: (c.work / f"started.{j}").exists(), f"start of job {job}")
    return jobs


def assert_undisturbed(c, jobs):
    pids = [int((c.work / f"started.{j}").read_text()) for j in jobs]  # One line: started once.
    for job, pid in zip(jobs, pids):
        os.kill(pid, 0)
        c.wait_state(job, "RUNNING")
    (c.work / "finish").touch()
    c.wait_ended(*jobs)
    for job in jobs:
        equal(c.history(job), "FAILED|5:0", f"end of job {job}")
        equal(c.history(job, "JobID"), str(job), "one line of history")


@test(seconds=40)
def with_500_queued_and_4_running():
    """The controller, then all agents, then both at a time."""
    with Cluster(nodes=4, cpus=32) as c:
        running = start_four(c)
        storm = Storm(c, 500, 4, "--begin=now+1hour")
        storm.join()
        equal(len(storm.ids), 500, f"submitted (failed: {storm.failed[:3]})")
        for what in ("controller", "agents", "both"):
            if what != "controller":
                for i in range(1, 5):
                    kill_agent(c, f"n{i}")
            if what != "agents":
                kill_controller(c)
            wait_until(lambda: c.controller_pid() and all(a["pid"] for a in c.status()["agents"]),
                       "all processes back")
            equal(set(storm.ids.values()) - set(c.states()), set(), f"jobs lost: {what}")
            wait_until(lambda: c.run("sinfo", "-h", "-o", "%D %t", code=None).out in
                       ("4 mix\n", "4 alloc\n"), "all nodes back")
        assert_undisturbed(c, running)
        # A fifth of them is enough to see that each runs, and once.
        names = sorted(storm.ids)[:100]
        ids = ",".join(str(storm.ids[n]) for n in names)
        others = [storm.ids[n] for n in storm.ids if n not in names]
        c.run("scancel", *others)
        c.run("scontrol", "update", f"JobId={ids}", "StartTime=now")
        storm.ids = {n: storm.ids[n] for n in names}
        extra = storm.assert_each_ran_once()
        equal(extra - set(running) - set(others), set(), "jobs that nobody submitted")


@test(seconds=90)
def twenty_kills_at_seeded_moments_during_a_storm():
    dice = random.Random(SEED)
    print(f"seed {SEED}")
    with Cluster(nodes=4, cpus=32) as c:
        running = start_four(c)
        storm = Storm(c, 300, 2)
        kills = 0
        for _ in range(20):
            before = len(storm.ids)
            goal = before + dice.randint(1, 15)
            # The moment is a count of acknowledged jobs and a few ms: seeded, yet under load.
            wait_until(lambda: len(storm.ids) >= goal or storm.done(), "submissions", 60)
            time.sleep(dice.random() * 0.02)
            what = dice.choice(["controller", "agent", "both"])
            if what != "controller":
                kill_agent(c, f"n{dice.randint(1, 4)}")
            if what != "agent":
                kill_controller(c)
            kills += 1
            wait_until(lambda: c.run("squeue", "-h", code=None, seconds=30).code == 0,
                       "the controller", 60)
        storm.join()
        equal(kills, 20)
        extra = storm.assert_each_ran_once()
        equal(extra - set(running), set(), "jobs that nobody was told of")
        assert_undisturbed(c, running)
        print(f"{len(storm.ids)} jobs, {kills} kills")
