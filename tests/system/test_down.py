"""Down and up again, two clusters, and what is left: nothing."""

import os
import signal

from harness import (IS_ROOT, Cluster, cgroups_named, contains, equal, sockets_below, test,
                     wait_until)

# Says what it was told before it goes.
SAYS_TERM = "trap 'echo got TERM; exit 0' TERM\necho ready\nwhile :; do sleep 0.1; done\n"


@test()
def ends_jobs_and_leaves_nothing():
    with Cluster(nodes=2) as c:
        kept = c.script(SAYS_TERM, "--requeue", "--mem=16M")
        gone = c.script(SAYS_TERM, "--no-requeue", "--mem=16M")
        waits = c.sbatch("-w", "n1", "--exclusive", "-c8", "--wrap", "true")
        for job in (kept, gone):
            c.wait_output(job, "ready")
        c.down()
        c.assert_nothing_left()
        for job in (kept, gone):
            contains(c.output(job), "got TERM")
        c.up()
        equal(c.history(gone).split("|")[0].split()[0], "CANCELLED")
        wait_until(lambda: c.show("job", kept)["Restarts"] == "1", "the requeued job's Restarts")
        c.wait_state(kept, "RUNNING")
        c.wait_output(kept, "ready")
        c.run("scancel", kept)
        c.wait_ended(kept, waits)
        equal(c.history(waits), "COMPLETED|0:0")


@test()
def keep_jobs_lets_them_run_and_the_next_up_adopts_them():
    with Cluster(nodes=2) as c:
        job = c.script("echo pid $$\nwhile [ ! -e finish ]; do sleep 0.05; done\necho done\nexit 4\n",
                       "-N1", "--mem=16M")
        c.wait_output(job, "pid")
        pid = int(c.output(job).split()[1])
        c.down("--keep-jobs")
        names = " ".join(c.processes().values())
        for daemon in ("twinyard-controller", "twinyard-agent", "twinyard-up"):
            assert daemon not in names, f"{daemon} is still there: {names}"
        contains(names, "twinyard-stepd")
        os.kill(pid, 0)
        if IS_ROOT:
            assert cgroups_named([c.cgroup_of("n1"), c.cgroup_of("n2")]), "no cgroup of the job"
        c.up()
        equal(c.state(job), "RUNNING")
        os.kill(pid, 0)
        (c.work / "finish").touch()
        c.wait_ended(job)
        equal(c.history(job), "FAILED|4:0")
        equal(c.output(job), f"pid {pid}\ndone\n")
        equal(c.show("job", job)["Restarts"], "0")


@test()
def a_job_that_ends_while_all_is_down_is_recorded_at_the_next_up():
    with Cluster(nodes=1) as c:
        job = c.script("echo ready\nwhile [ ! -e finish ]; do sleep 0.05; done\nexit 6\n")
        c.wait_output(job, "ready")
        c.down("--keep-jobs")
        (c.work / "finish").touch()
        wait_until(lambda: "slurm_script" not in str(c.processes()), c.processes)
        c.up()
        c.wait_ended(job)
        equal(c.history(job), "FAILED|6:0")


@test()
def a_second_up_on_the_folder_is_refused():
    with Cluster(nodes=1) as c:
        pid = c.controller_pid()
        got = c.run("twinyard", "up", "--dir", c.dir, "--detach", code=1)
        contains(got.err, "is in use by process")
        equal(got.err.count("\n"), 1, "lines of the refusal")
        equal(c.controller_pid(), pid)


@test()
def two_clusters_side_by_side():
    with Cluster(nodes=2) as a, Cluster(nodes=2) as b:
        jobs = [(c, c.sbatch("-N2", "-J", name, "--wrap", "srun hostname"))
                for c, name in ((a, "first"), (b, "second"))]
        for c, job in jobs:
            c.wait_ended(job)
            equal(job, 1)
            equal(sorted(c.output(job).split()), ["n1", "n2"])
        equal(a.run("squeue", "-h", "-t", "all", "-o", "%j").out, "first\n")
        a.down()
        a.assert_nothing_left()
        after = b.sbatch("--wrap", "true")
        b.wait_ended(after)
        equal(b.history(after), "COMPLETED|0:0")


@test()
def the_supervisor_starts_again_what_died():
    with Cluster(nodes=1) as c:
        for find in (c.controller_pid, lambda: c.agent_pid("n1")):
            old = find()
            os.kill(old, signal.SIGKILL)
            wait_until(lambda: find() not in (0, old), "a new process")
        job = c.sbatch("--wrap", "true")
        c.wait_ended(job)


@test()
def down_after_the_supervisor_was_killed():
    with Cluster(nodes=2) as c:
        job = c.sbatch("--wrap", "sleep 100")
        c.wait_state(job, "RUNNING")
        os.kill(c.status()["supervisor"]["pid"], signal.SIGKILL)
        c.down()
        c.assert_nothing_left()


@test()
def sockets_are_there_while_it_runs():
    """So that the look for leftovers can fail."""
    with Cluster(nodes=1) as c:
        assert sockets_below(c.dir) and c.processes()


@test()
def bad_options_are_refused_in_one_line():
    with Cluster(nodes=1) as c:
        cases = [
            (["--nodes", "0"], "--nodes"),
            (["--nodes", "many"], "--nodes"),
            (["--gpus", "h100:x"], "--gpus"),
            (["--memory", "lots"], "--memory"),
            (["--emulate", "nodes=5,colour=red"], "'colour' is none of"),
            (["--config", "/nonexistent/slurm.conf"], "/nonexistent/slurm.conf"),
            (["--wrong"], "--wrong"),
        ]
        for options, want in cases:
            got = c.run("twinyard", "up", "--dir", c.top / "other", "--detach", *options, code=1)
            contains(got.err, want)
            equal(got.err.count("\n"), 1, f"lines for {options}: {got.err}")


@test()
def a_broken_slurm_conf_is_refused_with_its_line():
    with Cluster(nodes=1) as c:
        conf = c.top / "bad.conf"
        conf.write_text("ClusterName=x\nNodeName=n[1-\nPartitionName=main Nodes=ALL\n")
        got = c.run("twinyard", "up", "--dir", c.top / "other", "--detach", "--config", conf, code=1)
        contains(got.err, "bad.conf:2")
        got = c.run("twinyard", "check-config", conf, code=None)
        assert got.code != 0
        contains(got.out + got.err, "bad.conf:2")
